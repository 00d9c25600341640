"""Accuracy by the weight on marked words, one mark per model: honest, deceptive, closed-form twins, published."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heatcheck.engine import Facts
from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import BAR, FLOOR, HONEST, MECHANICAL, MOST, RIVAL, altair
from heatcheck.results.written import number

TWIN = "gauge twin"
UNIFORM, COMMONEST = "weight under uniform weights", "majority class"
PAPER, REPRODUCTION = "paper", "reproduction"
_LOOKS = {
    "honest": (HONEST, "triangle-up"),
    TWIN: (MOST, "cross"),
    PAPER: ("#c2417c", "M0,-1.4L.41,-.56L1.33,-.43L.67,.21L.82,1.13L0,.7L-.82,1.13L-.67,.21L-1.33,-.43L-.41,-.56Z"),
    REPRODUCTION: ("#c2417c", "square"),
}
_OF_STRENGTHS = ((RIVAL, "circle"), (MECHANICAL, "diamond"), (BAR, "triangle-down"), (FLOOR, "triangle-right"))
_DASHES = {COMMONEST: [2, 2], UNIFORM: [6, 4]}


def kinds_in(points: Iterable[Facts]) -> list[str]:
    """Kinds in the order of a legend: honest, by λ, twins, and published models."""
    present = list(dict.fromkeys(str(point["kind"]) for point in points))
    trained = [kind for kind in present if kind not in _LOOKS]
    first, last = ["honest"], [TWIN, PAPER, REPRODUCTION]
    return [kind for kind in (*first, *trained, *last) if kind in present]


def span_of(points: Sequence[Facts], lines: Mapping[str, float]) -> tuple[float, float]:
    """The span of the accuracy axis: every model and the majority class, with a little room."""
    values = [float(point["accuracy"]) for point in points]
    values += [lines[COMMONEST]] if COMMONEST in lines else []
    return max(0.0, math.floor(20 * min(values) - 0.5) / 20), min(1.0, math.ceil(20 * max(values) + 0.5) / 20)


def panel(
    points: Sequence[Facts],
    kinds: Sequence[str],
    lines: Mapping[str, float],
    *,
    span: tuple[float, float],
    title: str = "",
    weight: str = "weight on the marked words",
    width: int,
    height: int,
) -> Any:
    """One scatter.

    Args:
        kinds: of all panels of the figure, so that they share one legend.
        span: of the axis of accuracy.
    """
    alt = altair()
    trained = [kind for kind in kinds if kind not in _LOOKS]
    looks = {kind: _LOOKS.get(kind) or _OF_STRENGTHS[trained.index(kind) % len(_OF_STRENGTHS)] for kind in kinds}
    rows = [
        {
            "kind": point["kind"],
            "seed": str(point.get("seed", "")),
            "mass": round(float(point["mass"]), 6),
            "accuracy": round(float(point["accuracy"]), 5),
        }
        for point in points
    ]
    x = alt.X("mass:Q", title=weight).scale(domain=[0, 1]).axis(tickCount=5)
    y = alt.Y("accuracy:Q", title="accuracy").scale(domain=list(span), zero=False)
    colours, shapes = ([looks[kind][at] for kind in kinds] for at in (0, 1))
    chart = alt.Chart()
    layers = []
    for name, at in lines.items():
        channel = {"y": y} if name == COMMONEST else {"x": x}
        column = "accuracy" if name == COMMONEST else "mass"
        rule = chart.mark_rule(strokeDash=_DASHES[name], opacity=0.8).encode(**channel, tooltip=[alt.Tooltip("line:N")])
        layers.append(rule.properties(data=alt_data([{column: round(at, 5), "line": f"{name}: {number(at)}"}])))
    marks = chart.mark_point(filled=True, opacity=0.85, size=80).encode(
        x=x,
        y=y,
        color=alt.Color("kind:N", title=None)
        .scale(domain=list(kinds), range=colours)
        .legend(orient="top", labelLimit=0, columns=0),
        shape=alt.Shape("kind:N", title=None).scale(domain=list(kinds), range=shapes),
        tooltip=[
            alt.Tooltip("kind:N"),
            alt.Tooltip("seed:N"),
            alt.Tooltip("mass:Q", format=".4f"),
            alt.Tooltip("accuracy:Q", format=".3f"),
        ],
    )
    layers.append(marks.properties(data=alt_data(rows)))
    return alt.layer(*layers).properties(width=width, height=height, title=title)
