"""Lines over the layers of a transformer, one per method, labelled at their ends; floors are dashed."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import WIDTH, altair
from heatcheck.report.figures.labels import ROOM, label_layer, labels_of
from heatcheck.report.figures.shapes import in_use
from heatcheck.results import Measurement

NARROW = 120  # pixels for the labels of one of several panels


class LayerPanel(NamedTuple):
    """One panel: lines by name, each a measurement per layer, and measurements without a layer, drawn across."""

    title: str
    lines: Mapping[str, Sequence[Measurement]]
    across: Mapping[str, Measurement]


def by_layer(
    panels: Sequence[LayerPanel],
    styles: Mapping[str, Style],
    *,
    axis: str,
    full: tuple[float, float],
    height: int = 230,
) -> Any:
    """The panels side by side, on one axis that has no empty half.

    Args:
        styles: of every line by its name; its shape tells it apart without colour.
        full: the whole range of the values.
    """
    every = [m for one in panels for ms in (*one.lines.values(), one.across.values()) for m in ms]
    ends = [end for m in every for end in (m.low, m.high, m.value) if math.isfinite(end)]
    span = in_use(np.array(ends), [0.0], full=full)
    room = ROOM if len(panels) == 1 else NARROW
    width = (WIDTH - 60) // len(panels) - room
    shown = {name for one in panels for name in (*one.lines, *one.across)}
    styles = {name: style for name, style in styles.items() if name in shown}  # the same in all panels
    drawn = [_panel(one, styles, axis if at == 0 else None, span, width, height) for at, one in enumerate(panels)]
    return altair().concat(*drawn, columns=len(drawn), spacing=20)


def _panel(
    panel: LayerPanel,
    styles: Mapping[str, Style],
    axis: str | None,
    span: tuple[float, float],
    width: int,
    height: int,
) -> Any:
    alt = altair()
    layers_of = sorted({int(m.by["layer"]) for ms in panel.lines.values() for m in ms})
    rows = [_row(name, int(m.by["layer"]), m) for name, ms in panel.lines.items() for m in ms]
    edge = (layers_of[0], layers_of[-1]) if layers_of else (1, 1)
    rows += [_row(name, at, m) for name, m in panel.across.items() for at in dict.fromkeys(edge)]
    rows = [row for row in rows if math.isfinite(row["value"])]
    names = list(styles)
    colour = alt.Color("line:N").scale(domain=names, range=[styles[name].colour for name in names]).legend(None)
    dash = alt.StrokeDash("line:N").scale(domain=names, range=[list(styles[name].dash) for name in names]).legend(None)
    x = alt.X("layer:Q", title="layer").scale(domain=list(edge), nice=False)
    x = x.axis(values=layers_of if len(layers_of) <= 16 else layers_of[::4], format="d", grid=False)
    y = alt.Y("value:Q", title=axis).scale(domain=list(span), nice=False, zero=False).axis(tickCount=5)
    base = alt.Chart(alt_data(rows))
    ends = base.mark_area(opacity=0.14).encode(x=x, y=alt.Y("low:Q", title=axis), y2=alt.Y2("high:Q"), color=colour)
    lines = base.mark_line(size=2.2).encode(x=x, y=y, color=colour, strokeDash=dash)
    marks = base.mark_point(filled=True, size=38, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[alt.Tooltip("line:N"), alt.Tooltip("layer:Q"), alt.Tooltip("value:Q", format=".3f")],
    )
    last = {row["line"]: float(row["value"]) for row in rows if row["layer"] == edge[1]}
    colours = {name: styles[name].colour for name in names}
    labels = label_layer(labels_of(last, span=span, height=height, colours=colours), width=width)
    return alt.layer(ends, lines, marks, labels).properties(width=width, height=height, title=panel.title)


def _row(name: str, layer: int, m: Measurement) -> dict[str, Any]:
    low, high = (end if math.isfinite(end) else m.value for end in (m.low, m.high))
    return {"line": name, "layer": layer, "value": round(m.value, 5), "low": round(low, 5), "high": round(high, 5)}
