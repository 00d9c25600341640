"""How far the weights of honest seeds differ, by how peaked they are, and whether the answers differ with them."""

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
    """Median JSD over seeds against the largest weight, a panel a predicted class."""
    drawn = by_largest_weight(result, "jsd", predicted, span=SPAN, axis="median JSD from the other seeds (nats)")
    if drawn is None:
        return None
    caption = (
        "How far the weights of each text are from those of the same recipe trained with other seeds (median over "
        "seeds, as published), from texts with flat weights (bottom) to texts with one heavy word (top); lines are "
        "quartiles. Violins far from 0 at the top are texts in which another seed marks another word. "
        f"Mean {number(drawn.mean)} over {drawn.texts:,} texts."
    )
    return declare("seed-variance-by-largest-weight", result.check, caption, drawn.chart)


def jsd_and_change(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Whether the texts whose weights differ are those whose answers differ."""
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
        "Do the heatmaps differ where the answers do? The larger a dot, the more texts are there. At the lower right "
        "are texts on which honest seeds agree in the answer and not in the heatmap."
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
    """One panel: JSD to the right, change of the answer upwards; `first` of its row says what the left axis is."""
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
