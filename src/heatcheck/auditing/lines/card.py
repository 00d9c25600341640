"""Makes the card of an audit: an answer to every question about a heatmap, whichever checks were run.

A ratio is judged by its interval: above the threshold is yes, below is no; one that includes it is unclear, because
more data would decide. Where there is nothing to point at, the question cannot be asked, and that is unclear too, for
another reason. Whether another model gives the same answers with another heatmap stands apart, and so does whether
people mark the same words: that is no part of being an explanation.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from heatcheck.auditing.lines import across, hard, necessary, out_of_context, plausible, points
from heatcheck.auditing.lines.rule import NOT_TESTED, CardSettings, LineRule
from heatcheck.checks import CHECKS
from heatcheck.checks.heatmap import LAST_LAYER, Heatmap
from heatcheck.engine import Plugged
from heatcheck.results import NO_WEIGHTS, TOO_FEW, Card, CheckResult, Line

# In the order of the card; those that stand apart come last.
LINES: dict[str, LineRule] = {
    rule.name: rule
    for rule in (
        necessary.RULE,
        points.RULE,
        hard.RULE,
        out_of_context.RULE,
        across.RULE,
        plausible.RULE,
    )
}
LINES = Plugged("heatcheck.lines", LineRule, LINES)


class Judged(NamedTuple):
    """A line as far as the checks that have ended tell, and whether it can still change."""

    line: Line
    final: bool


def make_card(
    results: Mapping[str, CheckResult],
    logit_scale: float,
    settings: CardSettings,
    refused: Mapping[str, str] = MappingProxyType({}),
    *,
    cannot_refit: str | None = None,
    available: int | None = None,
    missing: Collection[str] = (),
    refit: bool = False,
    heatmap: Heatmap = LAST_LAYER,
) -> Card:
    """All lines, whatever was run.

    Args:
        refused: checks that could not be run on this model, and why.
        cannot_refit: why the model cannot be retrained, where it cannot.
        available: examples that the data has.
        missing: checks that an interruption kept from running. A line that they could change is not run.
        refit: whether they were to compare with retrained models.
        heatmap: what the card is about; a line that its checks cannot ask of it says so.
    """
    judged = judge_lines(
        results,
        settings,
        refused,
        cannot_refit=cannot_refit,
        available=available,
        missing=missing,
        refit=refit,
        heatmap=heatmap,
    )
    return Card(tuple(line for line, _ in judged), logit_scale)


def judge_lines(
    results: Mapping[str, CheckResult],
    settings: CardSettings,
    refused: Mapping[str, str] = MappingProxyType({}),
    *,
    cannot_refit: str | None = None,
    available: int | None = None,
    missing: Collection[str] = (),
    refit: bool = False,
    heatmap: Heatmap = LAST_LAYER,
) -> Iterator[Judged]:
    """Yield each line of the card, and whether it is final: no check in `missing` can change it any more."""
    rules = sorted(LINES.values(), key=lambda rule: rule.group == "apart")  # one that a package adds may not be
    for rule in rules:
        read = _Read(results)
        line = rule.judge(read, settings)
        if line.state == "not run" and (why := _not_about(rule, heatmap)):
            route = "" if heatmap.of_weights else NO_WEIGHTS
            yield Judged(
                line._replace(reason=why, sentence=NOT_TESTED, undecided="cannot be run", route=route), final=True
            )
            continue
        waits = [check for check in (missing if read.all else {*rule.checks, *read.names}) if check in missing]
        if waits:
            needed = ",".join(dict.fromkeys((*rule.checks, *sorted(waits))))
            command = f"heatcheck audit MODEL --checks {needed}{' --refit' if refit else ''}"
            yield Judged(rule.not_run(line.holds, command), final=False)
        else:
            yield Judged(_how_many(_why_not_run(rule, line, refused, cannot_refit), available), final=True)


class _Read(Mapping[str, CheckResult]):
    """Results that remember which checks a rule has asked for: nothing else can change what it says."""

    def __init__(self, results: Mapping[str, CheckResult]) -> None:
        self._results = results
        self.names: set[str] = set()
        self.all = False

    def __getitem__(self, check: str) -> CheckResult:
        self.names.add(check)
        return self._results[check]

    def __iter__(self) -> Iterator[str]:
        self.all = True
        return iter(self._results)

    def __len__(self) -> int:
        self.all = True
        return len(self._results)


def _not_about(rule: LineRule, heatmap: Heatmap) -> str:
    """Why none of its checks says anything about this heatmap; empty if one does."""
    reasons = [CHECKS[check].is_not_about(heatmap) for check in rule.checks if check in CHECKS]
    return reasons[0] if reasons and all(reasons) else ""


def _how_many(line: Line, available: int | None) -> Line:
    """The same line, whose reason also says how many examples would decide it, or are needed at least."""
    told = line.how_many(available)
    if not told:
        return line
    said = f"{line.sentence} {told}" if line.route == TOO_FEW else line.sentence
    return line._replace(reason=f"{line.reason}. {told}", sentence=said)


def lines_decided_by(check: str) -> list[str]:
    """The short names of the lines that a check decides.

    >>> lines_decided_by("counterfactual"), lines_decided_by("gauge")
    (['hard'], [])
    """
    return [rule.short for rule in LINES.values() if check in rule.checks]


def lines_decided_by_fits(check: str) -> list[str]:
    """The short names of the lines that the models which a check retrains can decide.

    >>> lines_decided_by_fits("necessity"), lines_decided_by_fits("guide")
    (['necessary'], [])
    """
    return [rule.short for rule in LINES.values() if check in rule.checks and rule.fits_decide]


def _why_not_run(rule: LineRule, line: Line, refused: Mapping[str, str], cannot_refit: str | None) -> Line:
    """A command that would be refused is no advice: then the refusal itself is the reason."""
    if line.state != "not run":
        return line
    reasons = [rule.refusal.format(check=check, reason=refused[check]) for check in rule.checks if check in refused]
    if reasons:
        return line._replace(reason="; ".join(reasons), undecided="cannot be run")
    if cannot_refit is not None and line.needs_refit:
        return line._replace(reason=cannot_refit, undecided="cannot be run")
    return line
