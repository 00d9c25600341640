"""Small multiples: the same distribution for every row (a task) and column (a model), on the same axes.

One declaration with a grid, not one a panel: a study has hundreds, and each would be checked on its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import Style, alt_data, histogram_layers, violin_layers
from heatcheck.report.figures.figure import altair
from heatcheck.report.figures.shapes import Rows, Span, bars, lines_at, violins_of

_POINTS = 24  # of an outline a thumb high; hundreds of finer ones would be megabytes


class Panel(NamedTuple):
    """One distribution, where it stands in the grid, and the lines it is read against."""

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
    """A grid of histograms; bars are shares of the texts, for panels have different numbers of them."""
    rows: Rows = []
    for panel in panels:
        known = panel.values[np.isfinite(panel.values)]
        counted = [{**bar, "share": round(bar["texts"] / len(known), 4)} for bar in bars(known, span=span, bins=bins)]
        rows += _placed(panel.row, panel.column, "bars", counted)
        rows += _placed(panel.row, panel.column, "lines", lines_at(panel.lines))
    layers = histogram_layers(styles, span=span, axis=axis, ticks=3, count="share", title=None)
    return _grid(dict(zip(("bars", "lines"), layers, strict=True)), rows, panels, width, height)


def violins(
    panels: Sequence[ViolinPanel],
    styles: Mapping[str, Style],
    *,
    span: Span,
    axis: str,
    width: int = 118,
    height: int = 130,
) -> Any:
    """A grid of violins by largest weight. Counts would be a wall of numbers: they are in the table."""
    rows: Rows = []
    for panel in panels:
        known = np.isfinite(panel.values) & np.isfinite(panel.largest)
        beside = {name: other[known] for name, other in panel.beside.items()}
        found = violins_of(panel.values[known], panel.largest[known], beside, span=span, points=_POINTS)
        for part, drawn in found._replace(counts=[])._asdict().items():
            rows += _placed(panel.row, panel.column, part, drawn)
    layers = violin_layers(styles, span=span, axis=axis, left="largest weight", width=width, height=height)
    del layers["counts"]
    return _grid(layers, rows, panels, width, height)


def _placed(row: str, column: str, part: str, drawn: Iterable[Mapping[str, Any]]) -> Rows:
    return [{**one, "row": row, "column": column, "part": part} for one in drawn]


def _grid(
    layers: Mapping[str, Any], rows: Rows, panels: Sequence[Panel] | Sequence[ViolinPanel], width: int, height: int
) -> Any:
    """Every layer draws its own part of the rows, in the panel they belong to; panels stand in the order given."""
    alt = altair()
    drawn = [layer.transform_filter(f"datum.part == '{part}'") for part, layer in layers.items()]
    order = {key: list(dict.fromkeys(getattr(panel, key) for panel in panels)) for key in ("row", "column")}
    return (
        alt.layer(*drawn, data=alt_data(rows))
        .properties(width=width, height=height)
        .facet(
            row=alt.Row("row:N", title=None, sort=order["row"]).header(labelAngle=0, labelAlign="left"),
            column=alt.Column("column:N", title=None, sort=order["column"]),
            spacing=10,
        )
    )
