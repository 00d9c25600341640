"""What shuffling the weights does to the output, by how peaked they were."""

from collections.abc import Mapping

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.results import CheckResult
from heatcheck.results.written import number


def delta_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Median change of the output against the largest weight, a panel a predicted class."""
    drawn = by_largest_weight(result, "delta", predicted, span=(0.0, 1.0), axis="median change of the output")
    if drawn is None:
        return None
    caption = (
        "How far the output moves when the weights are dealt out anew among the words of a text (median of its "
        "shuffles), from texts with flat weights (bottom) to texts with one heavy word (top); lines are quartiles. "
        "Violins near 0 say that it hardly matters which word has which weight, most tellingly at the top. "
        f"Mean {number(drawn.mean)}."
    )
    return declare("permutation-by-largest-weight", result.check, caption, drawn.chart)
