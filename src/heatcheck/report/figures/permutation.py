"""What shuffling the weights does to the output, by how peaked they were."""

from collections.abc import Mapping

import numpy as np

from heatcheck.checks import CheckResult
from heatcheck.report.figures.distribution import columns_for, side_by_side, violins, width_of
from heatcheck.report.figures.figure import Figure, by_class, declare, heading
from heatcheck.report.wording import number


def delta_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Median change of the output against the largest weight, a panel a predicted class."""
    values, largest = (result.per_example.get(name) for name in ("delta", "max_attention"))
    if values is None or largest is None:
        return None
    known = np.where(np.isfinite(largest), values, np.nan)
    parts = list(by_class(result, "delta", known, predicted))
    if not parts:
        return None
    panels = [
        violins(
            values[here],
            largest[here],
            {},
            {},
            span=(0.0, 1.0),
            title=heading(label, int(here.sum())),
            axis="median change of the output",
            first=at % columns_for(len(parts)) == 0,
            width=width_of(len(parts)),
        )
        for at, (label, here) in enumerate(parts)
    ]
    caption = (
        "How far the output moves when the weights are dealt out anew among the words of a text (median of its "
        "shuffles), from texts with flat weights (bottom) to texts with one heavy word (top); lines are quartiles. "
        "Violins near 0 say that it hardly matters which word has which weight, most tellingly at the top. "
        f"Mean {number(float(np.nanmean(known)))}."
    )
    return declare("permutation-by-largest-weight", result.check, caption, side_by_side(panels))
