"""Figure of texts by the JSD of their weights and the change of their answer; a larger dot stands for more texts."""

from typing import Any

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import BAR, altair
from heatcheck.report.figures.shapes import dots

SPAN = (0.0, 0.7)  # ln 2 is the most that two distributions can differ


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
