"""The effect of shuffling the weights, by the largest weight of each text."""

from collections.abc import Mapping

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.results import CheckResult
from heatcheck.results.written import number


def delta_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The median change of the output by the largest weight, with one panel per predicted class."""
    drawn = by_largest_weight(result, "delta", predicted, span=(0.0, 1.0), axis="median change of the output")
    if drawn is None:
        return None
    caption = (
        "How far the output moves when heatcheck shuffles the weights of a text (median over shuffles). Texts with "
        "flat weights are at the bottom, texts with one heavy word at the top; lines are quartiles. Violins near 0 "
        "mean that it hardly matters which word has which weight; this says most at the top. "
        f"Mean {number(drawn.mean)}."
    )
    return declare("permutation-by-largest-weight", result.check, caption, drawn.chart)
