"""Labels at the ends of lines, moved apart where the lines end close together."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import altair
from heatcheck.report.figures.shapes import Rows, Span

LETTERS = 11  # pixels that a label is high, with a little air
ROOM = 190  # pixels at the right of a panel, for its labels


def labels_of(
    ends: Mapping[str, float], *, span: Span, height: int, colours: Mapping[str, str], order: Sequence[str] = ()
) -> Rows:
    """One row per line: its name, its colour, and the place of its label from the top, in pixels.

    >>> rows = labels_of({"a": 1.0, "b": 0.99}, span=(0.0, 1.0), height=100, colours={"a": "#000000", "b": "#111111"})
    >>> [(row["label"], row["at"]) for row in rows]
    [('a', 0.0), ('b', 11.0)]
    """
    low, high = span
    wanted = sorted(
        ((name, (high - value) / ((high - low) or 1.0) * height) for name, value in ends.items()),
        key=lambda one: (one[1], list(order).index(one[0]) if one[0] in order else 0),
    )
    places: list[float] = []
    for _, place in wanted:
        places.append(max(place, places[-1] + LETTERS) if places else max(place, 0.0))
    spill = places[-1] - height if places else 0.0
    for at in range(len(places) - 1, -1, -1):  # those at the foot push the others up
        limit = height if at == len(places) - 1 else places[at + 1] - LETTERS
        places[at] = min(places[at], limit) if spill > 0 else places[at]
    return [
        {"label": name, "at": round(place, 1), "colour": colours[name]}
        for (name, _), place in zip(wanted, places, strict=True)
    ]


def label_layer(rows: Rows, *, width: int) -> Any:
    """The labels at the right of a panel, each in the colour of its line."""
    alt = altair()
    return (
        alt.Chart(alt_data(rows))
        .mark_text(align="left", baseline="middle", fontSize=11, fontWeight="bold")
        .encode(
            x=alt.XValue(width + 6),
            y=alt.Y("at:Q", scale=None, axis=None),
            text=alt.Text("label:N"),
            color=alt.Color("colour:N", scale=None),
        )
    )
