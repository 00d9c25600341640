"""Panels with one distribution each: a histogram, or violins by largest weight, with lines for the baselines."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.figure import ATTENTION, BAR, WIDTH, altair
from heatcheck.report.figures.shapes import Span, bars, lines_at, violins_of


class Style(NamedTuple):
    """The look of a line; dashes distinguish it where colour does not."""

    colour: str
    dash: tuple[int, ...] = (1, 0)


MEAN = Style(ATTENTION)


def histogram(
    values: Float[np.ndarray, " example"],
    lines: Mapping[str, float],
    styles: Mapping[str, Style],
    *,
    span: Span,
    bins: int,
    title: str = "",
    axis: str | None = None,
    height: int = 130,
    width: int = WIDTH,
) -> Any:
    """Counts of texts over a span, with a line at each baseline.

    Args:
        lines: the place of each line; those without a finite place are left out.
        styles: of all lines in any panel of the figure, so that panels share one legend.
        axis: the title under the panel.
    """
    counted = alt_data(bars(values, span=span, bins=bins))
    rules = alt_data(lines_at(lines))
    layers = histogram_layers(styles, span=span, axis=axis, ticks=width // 78)
    drawn = [layer.properties(data=rows) for layer, rows in zip(layers, (counted, rules), strict=True)]
    return altair().layer(*drawn).properties(width=width, height=height, title=title)


def violins(
    values: Float[np.ndarray, " example"],
    largest: Float[np.ndarray, " example"],
    beside: Mapping[str, Float[np.ndarray, " example"]],
    styles: Mapping[str, Style],
    *,
    span: Span,
    title: str = "",
    axis: str | None = None,
    first: bool = True,
    height: int = 260,
    width: int = WIDTH,
) -> Any:
    """The values of the texts in each quarter of the largest weight: outline, quartiles, and means of other values.

    Args:
        largest: each text's largest attention weight.
        first: whether it is the first of its row and has a titled axis at the left.
        beside: other values of the same texts; their mean in each quarter is drawn as a line.
        styles: of those lines.
    """
    found = violins_of(values, largest, beside, span=span)
    left = "largest weight in the text" if first else None
    layers = violin_layers(styles, span=span, axis=axis, left=left, width=width, height=height)
    drawn = [layers[name].properties(data=alt_data(rows)) for name, rows in found._asdict().items() if name in layers]
    return altair().layer(*drawn).properties(width=width, height=height, title=title)


def alt_data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as the data of a figure."""
    return altair().Data(values=list(rows))


def histogram_layers(
    styles: Mapping[str, Style],
    *,
    span: Span,
    axis: str | None,
    ticks: int,
    count: str = "texts",
    title: str | None = "texts",
) -> tuple[Any, Any]:
    """The look of bars and lines for any rows; `count` is the field of the bars' heights."""
    alt = altair()
    drawn = (
        alt.Chart()
        .mark_bar(color=BAR, binSpacing=1)
        .encode(
            x=alt.X("left:Q", bin="binned", title=axis).scale(domain=list(span)).axis(tickCount=ticks),
            x2=alt.X2("right:Q"),
            y=alt.Y(f"{count}:Q", title=title).axis(
                **({"tickCount": 4, "tickMinStep": 1} if count == "texts" else {"tickCount": 2})
            ),
            tooltip=[alt.Tooltip("left:Q"), alt.Tooltip("right:Q"), alt.Tooltip(f"{count}:Q")],
        )
    )
    return drawn, alt.Chart().mark_rule(size=2.5).encode(x=alt.X("at:Q"), **_line_look(alt, styles))


def violin_layers(
    styles: Mapping[str, Style], *, span: Span, axis: str | None, left: str | None, width: int, height: int
) -> dict[str, Any]:
    """The look of each part of `Violins`, in the order of drawing."""
    alt = altair()
    x = alt.X("x:Q", title=axis).scale(domain=list(span)).axis(tickCount=max(3, width // 78))
    y = alt.Y("low:Q", title=left).scale(domain=[0, 1]).axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f")
    middle = alt.Y("y:Q", title=left)
    size = alt.when("datum.quartile == '50% are below'").then(alt.value(3)).otherwise(alt.value(1))
    chart = alt.Chart()
    layers = {
        "outlines": chart.mark_area(color=BAR, opacity=0.5, orient="vertical").encode(
            x=x, y=y, y2=alt.Y2("high:Q"), detail=alt.Detail("band:N")
        ),
        "quartiles": chart.mark_rule().encode(
            x=x,
            y=y,
            y2=alt.Y2("high:Q"),
            size=size,
            tooltip=[alt.Tooltip("quartile:N"), alt.Tooltip("x:Q", title="at")],
        ),
        "singles": chart.mark_tick(thickness=2, size=height * 0.12, color=BAR, orient="vertical").encode(x=x, y=middle),
        "lines": chart.mark_rule(size=2.5).encode(x=alt.X("at:Q"), y=y, y2=alt.Y2("high:Q"), **_line_look(alt, styles)),
        "counts": chart.mark_text(align="left", fontSize=11).encode(
            x=alt.XValue(width + 6), y=middle, text=alt.Text("n:N")
        ),
    }
    if not styles:
        del layers["lines"]
    return layers


def side_by_side(panels: Sequence[Any]) -> Any:
    """Panels of violins in rows, with room for the counts at their right."""
    return altair().concat(*panels, columns=columns_for(len(panels)), spacing={"row": 18, "column": 60})


def columns_for(panels: int) -> int:
    """The number of panels side by side.

    >>> [columns_for(panels) for panels in (1, 2, 4, 5)]
    [1, 2, 2, 3]
    """
    return {1: 1, 2: 2, 4: 2}.get(panels, 3)


def width_of(panels: int) -> int:
    """The width of each panel of violins."""
    return {1: 660, 2: 300, 3: 170}[columns_for(panels)]


def _line_look(alt: Any, styles: Mapping[str, Style]) -> dict[str, Any]:
    """Colour, dashes and tooltip of a line, with one legend above."""
    names = list(styles)
    columns = 0 if sum(len(name) + 7 for name in names) < 125 else 2  # 0 is all in one line
    colours, dashes = [style.colour for style in styles.values()], [list(style.dash) for style in styles.values()]
    return {
        "color": alt.Color("line:N", title=None)
        .scale(domain=names, range=colours)
        .legend(orient="top", labelLimit=0, columns=columns),
        "strokeDash": alt.StrokeDash("line:N", title=None).scale(domain=names, range=dashes),
        "tooltip": [alt.Tooltip("line:N"), alt.Tooltip("at:Q", format=".3f")],
    }
