"""Differences between the weights of honest seeds by largest weight, and whether the answers differ too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import alt_data, columns_for, side_by_side
from heatcheck.report.figures.figure import BAR, Figure, altair, by_class, declare, heading
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.report.figures.shapes import dots
from heatcheck.results import CheckResult
from heatcheck.results.written import number

SPAN = (0.0, 0.7)  # ln 2 is the most that two distributions can differ


def jsd_of_seeds(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The median JSD over seeds by the largest weight, with one panel per predicted class."""
    drawn = by_largest_weight(result, "jsd", predicted, span=SPAN, axis="median JSD from the other seeds (nats)")
    if drawn is None:
        return None
    caption = (
        "How far the weights of each text are from those of the same recipe with other seeds (median over seeds, as "
        "published). Texts with flat weights are at the bottom, texts with one heavy word at the top; lines are "
        "quartiles. Violins far from 0 at the top are texts in which another seed highlights another word. "
        f"Mean {number(drawn.mean)} over {drawn.texts:,} texts."
    )
    return declare("seed-variance-by-largest-weight", result.check, caption, drawn.chart)


def jsd_and_change(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Whether weights and answers differ in the same texts."""
    jsd, change = (result.per_example.get(name) for name in ("jsd", "tvd"))
    if jsd is None or change is None:
        return None
    known = np.where(np.isfinite(change), jsd, np.nan)
    parts = list(by_class(result, "jsd", known, predicted))
    if not parts:
        return None
    wide = {1: 620, 2: 320, 3: 200}[columns_for(len(parts))]
    panels = [
        scatter(jsd[here], change[here], heading(label, int(here.sum())), wide, first=at % columns_for(len(parts)) == 0)
        for at, (label, here) in enumerate(parts)
    ]
    caption = (
        "Do the heatmaps differ in the same texts as the answers? A larger dot stands for more texts. At the lower "
        "right are texts on which honest seeds agree on the answer but not on the heatmap."
    )
    return declare("seed-variance-jsd-and-change", result.check, caption, side_by_side(panels))


def scatter(
    x: Float[np.ndarray, " example"],
    y: Float[np.ndarray, " example"],
    title: str,
    width: int,
    *,
    first: bool = True,
) -> Any:
    """One panel with JSD to the right and change of the answer upwards; the first of a row titles its left axis."""
    alt = altair()
    return (
        alt.Chart(alt_data(dots(x, y, spans=(SPAN, (0.0, 1.0)))))
        .mark_circle(color=BAR, opacity=0.75)
        .encode(
            x=alt.X("x:Q", title="median JSD from the other seeds (nats)").scale(domain=list(SPAN)),
            y=alt.Y("y:Q", title="mean change of the probabilities, |Δp|" if first else None).scale(domain=[0, 1]),
            size=alt.Size("texts:Q", title="texts")
            .scale(range=[12, 260], zero=False)
            .legend(orient="top", tickCount=3),
            tooltip=[alt.Tooltip("x:Q"), alt.Tooltip("y:Q"), alt.Tooltip("texts:Q")],
        )
        .properties(width=width, height=220, title=title)
    )
