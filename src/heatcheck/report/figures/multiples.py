"""Small multiples: the same distribution for every row (a task) and column (a model), on the same axes.

One declaration with a grid, not one per panel: a study has hundreds, and each would be validated separately.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import Style, alt_data, histogram_layers, violin_layers
from heatcheck.report.figures.figure import altair
from heatcheck.report.figures.shapes import Rows, Span, bars, lines_at, violins_of

Place = tuple[str, str]  # its row and its column
_POINTS = 24  # of an outline a thumb high; hundreds of finer ones would be megabytes


class Panel(NamedTuple):
    """One distribution, its place in the grid, and the lines of its baselines."""

    row: str
    column: str
    values: Float[np.ndarray, " example"]
    lines: Mapping[str, float]


class ViolinPanel(NamedTuple):
    """One distribution by largest weight, and other values of the same texts whose means are drawn as lines."""

    row: str
    column: str
    values: Float[np.ndarray, " example"]
    largest: Float[np.ndarray, " example"]
    beside: Mapping[str, Float[np.ndarray, " example"]]


def histograms(
    panels: Sequence[Panel],
    styles: Mapping[str, Style],
    *,
    span: Span,
    bins: int,
    axis: str,
    width: int = 118,
    height: int = 64,
) -> Any:
    """A grid of histograms; bars are shares, because panels have different numbers of texts."""
    rows: Rows = []
    for panel in panels:
        known = panel.values[np.isfinite(panel.values)]
        counted = [{**bar, "share": round(bar["texts"] / len(known), 4)} for bar in bars(known, span=span, bins=bins)]
        rows += _placed(panel.row, panel.column, "bars", counted)
        rows += _placed(panel.row, panel.column, "lines", lines_at(panel.lines))
    layers = histogram_layers(styles, span=span, axis=axis, ticks=3, count="share", title=None)
    parts = _own_parts(dict(zip(("bars", "lines"), layers, strict=True)))
    return grid(parts, rows, [panel[:2] for panel in panels], {}, width=width, height=height)


def violins(
    panels: Sequence[ViolinPanel],
    styles: Mapping[str, Style],
    *,
    span: Span,
    axis: str,
    width: int = 118,
    height: int = 130,
) -> Any:
    """A grid of violins by largest weight; the counts are in the table."""
    rows: Rows = []
    for panel in panels:
        known = np.isfinite(panel.values) & np.isfinite(panel.largest)
        beside = {name: other[known] for name, other in panel.beside.items()}
        found = violins_of(panel.values[known], panel.largest[known], beside, span=span, points=_POINTS)
        for part, drawn in found._replace(counts=[])._asdict().items():
            rows += _placed(panel.row, panel.column, part, drawn)
    layers = violin_layers(styles, span=span, axis=axis, left="largest weight", width=width, height=height)
    del layers["counts"]
    return grid(_own_parts(layers), rows, [panel[:2] for panel in panels], {}, width=width, height=height)


def _placed(row: str, column: str, part: str, drawn: Iterable[Mapping[str, Any]]) -> Rows:
    return [{**one, "row": row, "column": column, "part": part} for one in drawn]


def _own_parts(layers: Mapping[str, Any]) -> list[Any]:
    """Every layer draws its own part of the rows."""
    return [layer.transform_filter(f"datum.part == '{part}'") for part, layer in layers.items()]


def grid(
    layers: Sequence[Any], rows: Rows, places: Sequence[Place], blank: Mapping[str, Any], *, width: int, height: int
) -> Any:
    """The same layers in every panel, in the given order; a place without a panel stays empty.

    Args:
        places: of the existing panels.
        blank: a row that only marks a place; no layer draws it.
    """
    alt = altair()
    down, across = (list(dict.fromkeys(names)) for names in zip(*places, strict=True))
    # A panel that has no row at all would let those after it slip into its place.
    drawn = {(one["row"], one["column"]) for one in rows}
    empty = [{**blank, "row": row, "column": column} for row, column in product(down, across)]
    empty = [one for one in empty if (one["row"], one["column"]) not in drawn]
    return (
        alt.layer(*layers, data=alt_data([*rows, *empty]))
        .properties(width=width, height=height)
        .facet(
            row=alt.Row("row:N", title=None, sort=down).header(labelAngle=0, labelAlign="left"),
            column=alt.Column("column:N", title=None, sort=across),
            spacing=10,
        )
    )
