"""Figure of models by their distance from one model: how far their answers (TVD) and their weights (JSD) are."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from heatcheck.engine import Facts
from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import BAR, FLOOR, HONEST, MECHANICAL, MOST, RIVAL, altair
from heatcheck.report.frontier import mean_of_seeds
from heatcheck.report.model_names import STARTS, kind_of, name_of, short_name, start_of
from heatcheck.report.shared_words import MODELS

PUBLISHED = "published adversary"
_MOST_JSD = 0.7  # ln 2 is the most that two distributions can differ
_STAR = "M0,-1.4L.41,-.56L1.33,-.43L.67,.21L.82,1.13L0,.7L-.82,1.13L-.67,.21L-1.33,-.43L-.41,-.56Z"


class Look(NamedTuple):
    """Colour and shape; each of the two distinguishes the kinds alone."""

    colour: str
    shape: str


LOOKS = {
    MODELS["adversary"]: Look(RIVAL, "circle"),
    MODELS["seed"]: Look(HONEST, "triangle-up"),
    MODELS["imitator"]: Look("#8a6d3b", "triangle-right"),
    MODELS["uniform"]: Look(FLOOR, "square"),
    MODELS["instance"]: Look(MECHANICAL, "diamond"),
    MODELS["gauge"]: Look(MOST, "cross"),
    "another known model": Look(BAR, "triangle-down"),
    PUBLISHED: Look("#c2417c", _STAR),
}
_DASHES = dict(zip(STARTS.values(), ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3]), strict=True))


def kinds_in(points: Iterable[Facts]) -> list[str]:
    """The kinds that have a place on the axes, in the order of a legend."""
    present = {kind_of(point) for point in points if _place(point)}
    return [kind for kind in LOOKS if kind in present]


def starts_in(points: Iterable[Facts]) -> list[str]:
    """The starts of adversaries, in the order of a legend."""
    present = {start_of(point) for point in points if _place(point)}
    return [start for start in STARTS.values() if start in present]


def panel(
    points: Sequence[Facts],
    kinds: Sequence[str],
    starts: Sequence[str],
    *,
    published: Facts | None = None,
    ring: Facts | None = None,
    top: float = math.nan,
    title: str = "",
    width: int,
    height: int,
    crowded: bool = False,
) -> Any:
    """One frontier.

    Args:
        kinds, starts: of all panels of the figure, so that they share one legend.
        published: `jsd` and `tvd` of a published adversary.
        ring: the point to mark.
        top: of the axis of TVD; nan: what the points need.
        crowded: say λ along the first curve only.
    """
    alt = altair()
    rows = [_row(point, kind_of(point)) for point in points if _place(point)]
    if published:
        rows.append(_row({"model": "adversary", **published}, PUBLISHED))
    names = [*kinds, *([PUBLISHED] if published or PUBLISHED in kinds else [])]
    names = list(dict.fromkeys(names))
    x = alt.X("jsd:Q", title="mean JSD of the weights (nats)").scale(domain=[0, _MOST_JSD])
    top = top if math.isfinite(top) else top_of(rows)
    y = alt.Y("tvd:Q", title="mean TVD of the answers").scale(domain=[0, top])
    colour = (
        alt.Color("kind:N", title=None)
        .scale(domain=names, range=[LOOKS[name].colour for name in names])
        .legend(orient="top", labelLimit=0, columns=0 if sum(len(name) + 6 for name in names) < 115 else 3)
    )
    shape = alt.Shape("kind:N", title=None).scale(domain=names, range=[LOOKS[name].shape for name in names])
    chart = alt.Chart()
    adversaries = [row for row in rows if row["start"]]
    layers = []
    across = {name: mean_of_seeds(points, name) for name in ("jsd", "tvd")}
    for name, channel in (("jsd", "x"), ("tvd", "y")):
        if math.isfinite(across[name]):
            rule = alt.Chart(alt_data([{name: round(across[name], 5)}])).mark_rule(strokeDash=[5, 4], opacity=0.7)
            layers.append(rule.encode(**{channel: {"jsd": x, "tvd": y}[name]}))
    if adversaries:
        line = chart.mark_line(color=RIVAL, strokeWidth=1.5).encode(
            x=x,
            y=y,
            order=alt.Order("strength:Q"),
            detail=alt.Detail("curve:N"),
            strokeDash=alt.StrokeDash("start:N", title=None)
            .scale(domain=list(starts), range=[_DASHES[start] for start in starts])
            .legend(alt.Legend(orient="bottom", labelLimit=0) if len(starts) > 1 else None),
        )
        layers.append(line.properties(data=alt_data(adversaries)))
    tooltip = [alt.Tooltip("model:N"), *(alt.Tooltip(f"{name}:Q", format=".3f") for name in ("jsd", "tvd"))]
    marks = chart.mark_point(filled=True, opacity=0.9, size=75).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    layers.append(marks.properties(data=alt_data(rows)))
    layers += [
        chart.mark_text(align=align, dx=dx, dy=dy, fontSize=11)
        .encode(x=x, y=y, text=alt.Text("label:N"))
        .properties(data=alt_data(labelled))
        for (align, dx, dy), labelled in _labels(rows, starts, top, crowded=crowded).items()
    ]
    if ring and _place(ring):
        around = chart.mark_point(size=330, filled=False, strokeWidth=1.8, color=RIVAL).encode(x=x, y=y)
        layers.append(around.properties(data=alt_data([_row(ring, kind_of(ring))])))
    return alt.layer(*layers).properties(width=width, height=height, title=title)


def _labels(
    rows: Iterable[Facts], starts: Sequence[str], top: float, *, crowded: bool
) -> dict[tuple[str, int, int], list[Facts]]:
    """The place of each mark's label, as alignment and shift, away from curves and axis."""
    found: dict[tuple[str, int, int], list[Facts]] = {}
    rows = list(rows)
    several = len({row["start"] for row in rows} - {""}) > 1
    for row in rows:
        if not row["label"] or (crowded and row["start"] not in ("", starts[0])):
            continue
        below = row["start"] and row["tvd"] >= top / 15 and not (crowded and several)  # other curves may run there
        at_left = crowded and several and row["start"] and row["jsd"] > 0.4 * _MOST_JSD
        place = ("right", -7, -7) if at_left else ("left", 7, 11 if below else -9)
        found.setdefault(place, []).append(row)
    return found


def top_of(rows: Iterable[Facts]) -> float:
    """The end of the TVD axis that includes every point."""
    highest = max((float(row["tvd"]) for row in rows), default=0.0)
    return max(0.1, math.ceil(highest * 22) / 20)


def _place(point: Facts) -> bool:
    """Whether a model has both a JSD and a TVD."""
    return all(name in point and math.isfinite(float(point[name])) for name in ("jsd", "tvd"))


def _row(point: Facts, kind: str) -> dict[str, Any]:
    start = start_of(point) if kind != PUBLISHED else ""
    strength = point.get("strength")
    return {
        "model": name_of(point) if kind != PUBLISHED else kind,
        "kind": kind,
        "jsd": round(float(point["jsd"]), 5),
        "tvd": round(float(point["tvd"]), 5),
        "start": start,
        "curve": f"{start}, {point.get('restart', 0)}" if start else "",
        "strength": float(strength) if strength is not None else 0.0,
        "label": "" if kind == PUBLISHED else short_name(point),
    }
