"""The figures of a study of attention scores at several scales λ: how well they separate words, and over training."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_wording import with_interval
from heatcheck.results import Row, StudyResult

_AUC = {
    "auc:polar": ("attention score, polar", ATTENTION, "diamond"),
    "auc:positive": ("positive only", MOST, "triangle-up"),
    "auc:negative": ("negative only", MECHANICAL, "triangle-down"),
    "auc:polarity": ("|polarity|, polar", RIVAL, "circle"),
}
_MASS = {
    "mass:polar": ("on polar words", ATTENTION, "diamond"),
    "mass:chance": ("if uniform", FLOOR, "stroke"),
}
_GROUPS = {"positive": MOST, "negative": MECHANICAL, "neutral": FLOOR}
_PANEL, _HEIGHT = 330, 210
_SMALL, _COLUMNS = 190, 3


def auc_by_scale(found: StudyResult) -> Figure | None:
    """AUC and weight over λ, one row per task."""
    tasks = list(dict.fromkeys(row.task for row in found.rows if row.quantity == "auc:polar"))
    if not tasks:
        return None
    lines = [
        altair()
        .hconcat(
            _over_scales(found, task, _AUC, title=f"{task}: polar or neutral?", axis="AUC", line=0.5),
            _over_scales(found, task, _MASS, title=f"{task}: weight", axis="share of the weight", line=None),
            spacing=30,
        )
        .resolve_scale(color="independent", shape="independent")
        for task in tasks
    ]
    caption = (
        "Left: how well a score separates polar words from neutral ones, by the λ that divides the attention scores. "
        "The dashed line is chance. Right: the share of a test text's weight on its polar words, and the share under "
        "uniform weights. Means over seeds with their 95% intervals. All these models may have the same accuracy: see "
        "the table."
    )
    chart = altair().vconcat(*lines, spacing=18).resolve_scale(color="independent", shape="independent")
    return declare("auc-by-scale", "scale", caption, chart)


def scores_over_training(found: StudyResult) -> Figure | None:
    """Mean attention score of each group of words over training, one panel per λ."""
    curves: dict[tuple[str, str], Rows] = {}
    for row in found.rows:
        if row.name == "mean_a" and "epoch" in row.by:
            point = {"epoch": row.by["epoch"], "words": row.by["words"], **_ends(row)}
            curves.setdefault((row.task, row.encoder), []).append(point)
    if not curves:
        return None
    panels = [_curve(f"{task}, {model}", points) for (task, model), points in curves.items()]
    caption = (
        "Mean attention score of each group of words over training, with its 95% interval over seeds. Each panel has "
        "its own axis. If polar words rise above neutral ones, the weights can be read as a list of words that matter. "
        "If the groups stay where they started, they cannot."
    )
    chart = altair().concat(*panels, columns=_COLUMNS, spacing={"row": 18, "column": 24})
    return declare("scores-over-training", "scale", caption, chart)


def _over_scales(
    found: StudyResult,
    task: str,
    looks: Mapping[str, tuple[str, str, str]],
    *,
    title: str,
    axis: str,
    line: float | None,
) -> Any:
    alt = altair()
    places = {quantity: 10 ** (0.06 * (at - (len(looks) - 1) / 2)) for at, quantity in enumerate(looks)}
    rows = [
        {
            "λ": row.by["scale"],
            "at": row.by["scale"] * places[row.quantity],  # side by side, so that no interval hides another
            "of": looks[row.quantity][0],
            **_ends(row, clip=True),
        }
        for row in found.rows
        if row.task == task and row.quantity in looks and not row.bin
    ]
    names, colours, shapes = (list(part) for part in zip(*looks.values(), strict=True))
    known = sorted({row["λ"] for row in rows})
    x = alt.X("at:Q", title="λ").scale(type="log", domain=[known[0] / 1.6, known[-1] * 1.6], nice=False)
    x = x.axis(values=known, format="~g", labelFlush=False)
    y = alt.Y("value:Q", title=axis).scale(domain=[0, 1])
    legend = {"orient": "top", "columns": 2, "labelLimit": 0}
    colour = alt.Color("of:N", title=None, sort=names).scale(domain=names, range=colours).legend(**legend)
    shape = alt.Shape("of:N", title=None, sort=names).scale(domain=names, range=shapes).legend(**legend)
    chart = alt.Chart(alt_data(rows))
    layers = [
        chart.mark_line(size=1.5, opacity=0.5).encode(x=x, y=y, color=colour),
        chart.mark_rule(size=2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_point(size=45, filled=True, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("λ:Q"),
                alt.Tooltip("of:N"),
                alt.Tooltip("shown:N", title=axis),
                alt.Tooltip("seeds:Q"),
            ],
        ),
    ]
    if line is not None:
        layers.insert(0, alt.Chart().mark_rule(color=FLOOR, strokeDash=[5, 4]).encode(y=alt.datum(line)))
    return alt.layer(*layers).properties(width=_PANEL, height=_HEIGHT, title=title)


def _curve(title: str, points: Sequence[Mapping[str, Any]]) -> Any:
    alt = altair()
    names = list(_GROUPS)
    colour = alt.Color("words:N", title=None, sort=names).scale(domain=names, range=list(_GROUPS.values()))
    x = alt.X("epoch:Q", title="epoch").axis(tickCount=4)
    chart = alt.Chart(alt_data(points))
    return alt.layer(
        chart.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title="mean a"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_line(size=1.8).encode(
            x=x,
            y=alt.Y("value:Q"),
            color=colour.legend(orient="top", symbolOpacity=1),
            tooltip=[
                alt.Tooltip("words:N"),
                alt.Tooltip("epoch:Q"),
                alt.Tooltip("shown:N", title="mean a"),
                alt.Tooltip("seeds:Q"),
            ],
        ),
    ).properties(width=_SMALL, height=120, title=title)


def _ends(row: Row, *, clip: bool = False) -> dict[str, Any]:
    """A mean with its interval, cut to 0 and 1 if asked."""
    low, high = (end if math.isfinite(end) else row.value for end in (row.low, row.high))
    if clip:
        low, high = max(low, 0.0), min(high, 1.0)
    numbers = {"value": row.value, "low": low, "high": high}
    return {
        **{name: float(f"{number:.5g}") for name, number in numbers.items()},
        "shown": with_interval(row),
        "seeds": row.seeds,
    }
