"""The card: four things a heatmap must be to be read as an explanation, each with its evidence. No overall score.

A ratio is judged by its interval: above the threshold is yes, below is no, across it is unclear because more data
would decide. Where there is nothing to point at, the question is moot, and that is unclear too, for another reason.
Whether another model would answer alike with another heatmap stands apart, and so does whether people would mark the
same words: that is no part of being an explanation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from heatcheck.auditing.across import judge_across
from heatcheck.auditing.hard import judge_hard
from heatcheck.auditing.line import (
    ACROSS,
    HARD,
    NECESSARY,
    OUT_OF_CONTEXT,
    PLAUSIBLE,
    POINTS,
    REFIT,
    CardSettings,
    Line,
    State,
)
from heatcheck.auditing.necessary import judge_necessary
from heatcheck.auditing.out_of_context import judge_out_of_context
from heatcheck.auditing.plausible import judge_plausible
from heatcheck.auditing.points import judge_points
from heatcheck.card_lines import DECIDED_BY
from heatcheck.checks import CheckResult
from heatcheck.errors import UnknownName

__all__ = ["SHORT", "STATES", "Card", "CardSettings", "Line", "make_card"]

# What a line may be called on the command line.
SHORT = {
    "necessary": NECESSARY,
    "points": POINTS,
    "hard": HARD,
    "across": ACROSS,
    "context": OUT_OF_CONTEXT,
    "plausible": PLAUSIBLE,
}

# What each line can say.
STATES: dict[str, tuple[State, ...]] = {
    **dict.fromkeys((NECESSARY, POINTS, HARD, OUT_OF_CONTEXT, PLAUSIBLE), ("yes", "no", "unclear", "not run")),
    ACROSS: ("no", "not found", "unclear", "not run"),
}

# Without which a line is not run.
_CHECKS = {SHORT[line]: checks for line, checks in DECIDED_BY.items()}


@dataclass(frozen=True, repr=False)
class Card:
    """The four lines; *across models* and *plausible to people* apart; and the factor by which logits were scaled."""

    lines: tuple[Line, ...]
    across: Line
    plausibility: Line
    logit_scale: float

    @property
    def every_line(self) -> tuple[Line, ...]:
        """The four, and then those that stand apart."""
        return (*self.lines, self.across, self.plausibility)

    def __getitem__(self, name: str) -> Line:
        """A line by its name, or in short as `--fail-if` takes it: `card["points"]`."""
        lines = {line.name: line for line in self.every_line}
        wanted = SHORT.get(name, name)
        if wanted not in lines:
            raise UnknownName("line of the card", str(name), {*SHORT, *lines})
        return lines[wanted]

    def __repr__(self) -> str:
        """Each line's state: the evidence is in the lines."""
        return "\n".join(f"{line.state:<8} {line.name}" for line in self.every_line)


def make_card(
    results: Mapping[str, CheckResult],
    logit_scale: float,
    settings: CardSettings,
    refused: Mapping[str, str] = MappingProxyType({}),
    *,
    cannot_refit: str | None = None,
) -> Card:
    """All lines, whatever was run.

    Args:
        refused: checks that could not be run on this subject, and why.
        cannot_refit: why the subject cannot be fitted again, where it cannot.
    """
    gauge = results.get("gauge")
    lines = (
        judge_necessary(results.get("necessity"), gauge, settings),
        judge_points(results.get("erasure"), settings),
        judge_hard(results.get("permutation"), results.get("counterfactual"), settings),
        judge_out_of_context(results.get("guide"), settings),
        judge_across(results.get("adversarial_model"), gauge, settings),
    )
    *four, across = (_why_not_run(line, refused, cannot_refit) for line in lines)
    plausibility = judge_plausible(results.get("plausibility"), settings, refused.get("plausibility"))
    return Card(tuple(four), across, plausibility, logit_scale)


def _why_not_run(line: Line, refused: Mapping[str, str], cannot_refit: str | None) -> Line:
    """A command that would be refused is no advice: then the refusal itself is the reason."""
    reasons = [f"{check} could not be run: {refused[check]}" for check in _CHECKS[line.name] if check in refused]
    if line.state != "not run":
        return line
    if reasons:
        return line._replace(reason="; ".join(reasons))
    if cannot_refit is not None and line.reason.startswith(REFIT):
        return line._replace(reason=cannot_refit)
    return line
