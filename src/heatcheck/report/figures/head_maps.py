"""Maps of all heads of a transformer: one square per head, the first layer at the top, as in the tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, MOST, RIVAL, altair
from heatcheck.report.heat import short

WRITTEN = 16  # heads in a row, at most, whose numbers fit into their squares
WIDE = 700  # pixels that all maps of a figure have
FALLS = 0.1  # a change below 0 by more than this share of the largest has a minus, for readers without the colours

Cells = Mapping[tuple[int, int], float]  # by layer and head


class HeadMap(NamedTuple):
    """One map: its title, its values, and which heads are marked with a star."""

    title: str
    cells: Cells
    stars: frozenset[tuple[int, int]] = frozenset()


def shares(maps: Sequence[HeadMap]) -> Any:
    """Maps of shares of the weight, from 0 to 1, all on one scale; the numbers are written into the squares."""
    scale = {"domain": [0, 1], "range": ["#eef4fa", ATTENTION, "#08295c"], "interpolate": "rgb"}
    return _side_by_side(maps, scale, "share of the weight", dark=0.45)


def changes(maps: Sequence[HeadMap], title: str) -> Any:
    """Maps of changes around 0, all on one scale: orange above; green, and a minus, below."""
    known = [abs(value) for one in maps for value in one.cells.values() if math.isfinite(value)]
    most = max(known, default=0.0) or 1.0
    scale = {"domain": [-most, 0, most], "range": [MOST, "#eeeeee", RIVAL]}
    return _side_by_side(maps, scale, title, dark=math.inf, minus=-FALLS * most)


def _side_by_side(
    maps: Sequence[HeadMap], scale: Mapping[str, Any], title: str, *, dark: float, minus: float = -math.inf
) -> Any:
    heads = max((head for one in maps for _, head in one.cells), default=1)
    layers = max((layer for one in maps for layer, _ in one.cells), default=1)
    width = min(WIDE // len(maps) - 30, 44 * heads)
    height = max(layers * min(28, max(12, width // heads)), 60)
    written = math.isfinite(dark) and heads <= WRITTEN and width // heads >= 18
    dark = dark if written else math.nan
    drawn = [_map(one, scale, title, width, height, dark, minus, at) for at, one in enumerate(maps)]
    return altair().concat(*drawn, columns=len(drawn), spacing=24).resolve_scale(color="shared")


def _map(
    one: HeadMap,
    scale: Mapping[str, Any],
    title: str,
    width: int,
    height: int,
    dark: float,
    minus: float,
    place: int,
) -> Any:
    alt = altair()
    rows = [
        {
            "layer": layer,
            "head": head,
            "value": round(value, 5),
            "written": short(value),
            "star": "yes" if (layer, head) in one.stars else "no",
        }
        for (layer, head), value in one.cells.items()
        if math.isfinite(value)
    ]
    base = alt.Chart(alt_data(rows)).encode(
        x=alt.X("head:O", title="head").axis(labelAngle=0, labelOverlap=True),
        y=alt.Y("layer:O", title="layer" if place == 0 else None),
    )
    squares = base.mark_rect(stroke="#ffffff", strokeOpacity=0.35, strokeWidth=0.5).encode(
        color=alt.Color("value:Q", title=title)
        .scale(**scale)
        .legend(orient="top", gradientLength=160, titleLimit=0, format="~g"),
        tooltip=[
            alt.Tooltip("layer:O"),
            alt.Tooltip("head:O"),
            alt.Tooltip("value:Q", format=".4f", title=title),
        ],
    )
    layers = [squares]
    if math.isfinite(dark):
        ink = alt.when(f"datum.value > {dark}").then(alt.value("#ffffff")).otherwise(alt.value("#10141a"))
        layers.append(base.mark_text(fontSize=9).encode(text=alt.Text("written:N"), color=ink))
    if any(value < minus for value in one.cells.values()):
        below = base.mark_text(text="\N{MINUS SIGN}", color="#10141a").transform_filter(f"datum.value < {minus}")
        layers.append(below)
    if one.stars:
        layers.append(base.mark_text(text="★", color="#10141a").transform_filter("datum.star == 'yes'"))
    return alt.layer(*layers).properties(width=width, height=height, title=one.title)
