"""What defines a line of the card (one question about a heatmap), all thresholds, and reasons that lines share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from heatcheck.results import TOO_FEW, CheckResult, Group, Instead, Line, Measurement, State, Strip, Undecided

MANY_TIMES = 100  # the examples there are: more is not worth a number
REFIT = "heatcheck audit MODEL --refit"
NOT_TESTED = "Not tested."


@dataclass(frozen=True)
class CardSettings:
    """The thresholds of the card."""

    texts: int = 30  # fewer decide nothing: a bootstrap over a handful covers far less than it says
    seeds: int = 5  # fewer retrained models decide nothing: two of them differ by chance alone
    needed: float = 0.10  # N above is yes, below is no: the share of the gain over the majority class that is lost
    above_prior: float = 0.05  # accuracy above the majority class, or there is nothing to be needed for
    unchanged: float = 1e-4  # uniform weights that change no probability by more prove that weights are not needed
    points: float = 0.5  # K above is yes, below is no
    room: float = 0.02  # the best other method must beat random removal by so much, or the line cannot be asked
    different: float = 0.5  # U below is a yes: even the best stand-in has less than this share of the possible JSD
    shuffled: float = 0.5  # q above is a no: more than this share of all shuffles keeps the answer
    flat: float = 0.98  # weights whose entropy is this share of uniform ones' have no shape that could be moved
    excess: float = 0.25  # nats by which another model's heatmap must differ beyond what other seeds do
    gain: float = 0.5  # G above is yes, below is no: the share of the guide's headroom that the weights close
    plausible: float = 0.05  # P above is yes, below is no: the share of the way from chance to people's own marks
    plausible_room: float = 0.05  # chance must fall so far short of people's marks, or the line cannot be asked
    guide_room: float = 0.02  # headroom, and what words say by themselves, must be so much, or the line cannot be asked


class Found(NamedTuple):
    """What a rule says: the part of a line that depends on the numbers."""

    state: State
    reason: str
    sentence: str
    undecided: Undecided = ""
    route: str = ""
    certified: bool = False
    needs_refit: bool = False  # not run, and only retrained models would tell
    strip: Strip | None = None
    instead: Instead | None = None
    would_take: int = 0  # examples


class LineRule(NamedTuple):
    """A line of the card: what it asks, of which checks, and how it judges what they found."""

    name: str
    short: str  # as --fail-if names it
    question: str
    cannot_see: str
    checks: tuple[str, ...]  # without which it is not run
    judge: Callable[[Mapping[str, CheckResult], CardSettings], Line]
    advice: Mapping[str | tuple[str, str], str]  # by state, or by state and route
    may_say: Mapping[str | tuple[str, str], str] = MappingProxyType({})  # likewise: what one may tell others
    do_not_say: Mapping[str | tuple[str, str], str] = MappingProxyType({})
    group: Group = "card"
    states: tuple[State, ...] = ("yes", "no", "unclear", "not run")
    refusal: str = "{check} could not be run: {reason}"  # how a check that could not be run is told
    heading: str = ""  # of a line that stands apart: what it is about
    preface: str = ""  # what to know before reading it
    # Whether retrained models could not change a line that was judged without any.
    settled: Callable[[Line], bool] = lambda _: False
    fits_decide: bool = True  # False: models that its checks retrain are shown beside it and decide nothing

    def line(self, found: Found, evidence: tuple[Measurement, ...], holds: str) -> Line:
        """What the rule says, as a line."""
        return Line(
            self.name,
            self.question,
            found.state,
            found.reason,
            evidence,
            holds,
            found.sentence,
            self.cannot_see,
            short=self.short,
            group=self.group,
            undecided=found.undecided,
            route=found.route,
            certified=found.certified,
            needs_refit=found.needs_refit,
            advice=_of(self.advice, found),
            may_say=_of(self.may_say, found),
            do_not_say=_of(self.do_not_say, found),
            check=self.checks[0],
            heading=self.heading,
            preface=self.preface,
            strip=found.strip,
            instead=found.instead,
            would_take=found.would_take,
        )

    def not_run(self, holds: str, what_would: str) -> Line:
        """That nothing is known, and what would change that."""
        return self.line(nothing_known(what_would), (), holds)._replace(cannot_see="")


def _of(words: Mapping[str | tuple[str, str], str], found: Found) -> str:
    """What is said of a state reached by this route, or else by any."""
    return words.get((found.state, found.route), words.get(found.state, ""))


def nothing_known(what_would: str, sentence: str = NOT_TESTED, *, needs_refit: bool = False) -> Found:
    """That a check was not run, and the command that runs it."""
    return Found("not run", what_would, sentence, undecided="not run", needs_refit=needs_refit)


def cannot_be_asked(why: str, sentence: str) -> Found:
    """That there is nothing to ask here, however much data there is."""
    return Found("unclear", f"cannot be asked here: {why}", sentence, undecided="cannot be asked")


def needs_more_data(why: str, sentence: str, examples: int = 0) -> Found:
    """That these examples, or these seeds, do not decide; and how many examples would, where one can say."""
    return Found("unclear", f"more data would decide: {why}", sentence, undecided="more data", would_take=examples)


def proved(state: State, proof: str, sentence: str, *, route: str) -> Found:
    """That a proof decides, and no interval."""
    return Found(state, f"certified: {proof}", sentence, route=route, certified=True)


def lookup(result: CheckResult | None, name: str, **by: object) -> Measurement | None:
    """The measurement of this name whose `by` holds these values; None where the check has none such."""
    if result is None:
        return None
    found = [m for m in result.measurements if m.name == name and all(m.by.get(k) == v for k, v in by.items())]
    return found[0] if len(found) == 1 else None


def present(*measurements: Measurement | None) -> tuple[Measurement, ...]:
    """Those that are there, each once, in this order."""
    return tuple({id(m): m for m in measurements if m is not None}.values())


def too_few_texts(n: int, settings: CardSettings) -> Found:
    """Nothing may be decided by so few."""
    few = f"{n} example{' is' if n == 1 else 's are'} too few"
    return needs_more_data(
        f"at least {settings.texts} examples are needed",
        f"{few}: at least {settings.texts} are needed.",
        settings.texts,
    )._replace(route=TOO_FEW)


def too_few_seeds(n: int, settings: CardSettings, check: CheckResult) -> Found:
    """Nothing retrained may be decided by so few."""
    lost = len(check.not_run)
    failed = f" ({lost} training run{'' if lost == 1 else 's'} failed)" if lost else ""
    return needs_more_data(
        f"at least {settings.seeds} seeds are needed (--set {check.check}.seeds){failed}",
        f"{n} seed{'' if n == 1 else 's'} cannot tell a difference from chance.",
    )


def straddles(m: Measurement, limit: float) -> bool:
    """Whether the interval decides nothing; one without ends decides nothing either."""
    return not (m.low > limit or m.high < limit)


def examples_to_decide(m: Measurement, limit: float) -> int:
    """About how many examples the interval needs to leave the limit, if the value stays: its width falls with √n.

    0 where nobody can say, or where it would take a hundred times as many.

    >>> examples_to_decide(Measurement("K", 0.6, 0.4, 0.8, 100, "random", {}), 0.5)
    410
    """
    reach = m.value - m.low if m.value > limit else m.high - m.value
    gap = abs(m.value - limit)
    if not (math.isfinite(reach) and gap > 0 and reach >= gap):
        return 0
    times = (reach / gap) ** 2
    if times > MANY_TIMES:
        return 0
    digits = int(10 ** max(0, len(str(int(m.n * times))) - 2))  # two digits say all that is known
    return math.floor(m.n * times / digits + 1) * digits
