"""The card: four things a heatmap must be to be read as an explanation, each with its evidence. No overall score.

A ratio is judged by its interval: above the threshold is yes, below is no, across it is unclear because more data
would decide. Where there is nothing to point at, the question is moot, and that is unclear too, for another reason.
Whether another model would answer alike with another heatmap stands apart, and so does whether people would mark the
same words: that is no part of being an explanation.
"""

from collections.abc import Mapping
from types import MappingProxyType

from heatcheck.auditing.across import judge_across
from heatcheck.auditing.hard import judge_hard
from heatcheck.auditing.line import REFIT, CardSettings
from heatcheck.auditing.necessary import judge_necessary
from heatcheck.auditing.out_of_context import judge_out_of_context
from heatcheck.auditing.plausible import judge_plausible
from heatcheck.auditing.points import judge_points
from heatcheck.results import (
    ACROSS,
    HARD,
    NECESSARY,
    OUT_OF_CONTEXT,
    PLAUSIBLE,
    POINTS,
    Card,
    CheckResult,
    Line,
    State,
)

# What each line can say.
STATES: dict[str, tuple[State, ...]] = {
    **dict.fromkeys((NECESSARY, POINTS, HARD, OUT_OF_CONTEXT, PLAUSIBLE), ("yes", "no", "unclear", "not run")),
    ACROSS: ("no", "not found", "unclear", "not run"),
}

# Without which a line is not run.
_CHECKS = {
    NECESSARY: ("necessity",),
    POINTS: ("erasure",),
    HARD: ("permutation", "counterfactual"),
    OUT_OF_CONTEXT: ("guide",),
    ACROSS: ("adversarial_model",),
}


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
    reasons = [f"{check} was refused: {refused[check]}" for check in _CHECKS[line.name] if check in refused]
    if line.state != "not run":
        return line
    if reasons:
        return line._replace(reason="; ".join(reasons))
    if cannot_refit is not None and line.reason.startswith(REFIT):
        return line._replace(reason=cannot_refit)
    return line
