"""The figure of a study of other weights across tasks: accuracy by kind of weights, one row per task."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_tasks import COMMONEST, KINDS, SAID, WAYS, WRITTEN, group_of, in_groups
from heatcheck.report.study_wording import with_interval
from heatcheck.results import Model, Row, StudyResult

_OWN, _BROWN = "learned", "#a6761d"
_LOOKS = {
    _OWN: (ATTENTION, "diamond"),
    KINDS["uniform"]: (RIVAL, "circle"),
    KINDS["permuted"]: (MECHANICAL, "cross"),
    KINDS["random"]: (FLOOR, "triangle-up"),
    KINDS["first"]: (_BROWN, "square"),
    KINDS["last"]: (MOST, "triangle-down"),
}
_GROUPS = {1: "one sequence", 2: "a pair of sequences", WRITTEN: "sequence to sequence"}
_WIDTH, _HEIGHT = 270, 62  # of a panel; of a task's row in it


def accuracies_across_tasks(found: StudyResult, models: Sequence[Model]) -> Figure | None:
    """Dots of accuracy: weights imposed at test time beside models trained with them, one panel per group of tasks."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    shown = [model.task for model in in_groups(found, models) if (model.task, "put_in:own") in rows]
    if not shown:
        return None
    groups = {n: [task for task in shown if group_of(found, task) == n] for n in _GROUPS}
    groups = {n: tasks for n, tasks in groups.items() if tasks}
    lines = [
        altair().hconcat(*(_panel(rows, tasks, n, way) for way in WAYS), spacing=14) for n, tasks in groups.items()
    ]
    caption = (
        "Accuracy on all test texts (sequence to sequence: of words at their positions), mean over seeds with its 95% "
        "interval. The grey stroke is the majority-class baseline. Left: other weights imposed on models trained with "
        "their own. A loss there means that this model uses its weights. Right: models trained with such weights from "
        "the start. Only a loss there means that models of this kind need learned weights."
    )
    return declare("accuracies-across-tasks", "necessity", caption, altair().vconcat(*lines, spacing=18))


def _panel(rows: Mapping[tuple[str, str], Row], tasks: Sequence[str], sequences: int, way: str) -> Any:
    alt = altair()
    first = way == next(iter(WAYS))
    y = alt.Y("task:N", title=None, sort=list(tasks)).axis(
        labels=first,
        ticks=False,
        labelLimit=190,
        minExtent=150 if first else 0,
        grid=True,
        bandPosition=0,
        tickBand="extent",
    )
    offset = alt.YOffset("weights:N", sort=list(_LOOKS))
    x = alt.X("accuracy:Q", title="accuracy").scale(domain=[0, 1]).axis(tickCount=6)
    colours, shapes = ([look[at] for look in _LOOKS.values()] for at in (0, 1))
    colour = alt.Color("weights:N", title=None, sort=list(_LOOKS)).scale(domain=list(_LOOKS), range=colours)
    shape = alt.Shape("weights:N", title=None, sort=list(_LOOKS)).scale(domain=list(_LOOKS), range=shapes)
    legend = {"orient": "top", "columns": 6, "labelLimit": 0}
    dots = alt_data(_dots(rows, tasks, way))
    prior = alt_data([{"task": task, "accuracy": round(rows[task, COMMONEST].value, 5)} for task in tasks])
    layers = [
        alt.Chart(prior)
        .mark_tick(thickness=2, color=FLOOR, opacity=0.7, size=_HEIGHT - 12)
        .encode(x=x, y=y, tooltip=[alt.Tooltip("task:N"), alt.Tooltip("accuracy:Q", title="majority-class baseline")]),
        alt.Chart(dots)
        .mark_rule(size=2)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, yOffset=offset, color=colour),
        alt.Chart(dots)
        .mark_point(size=45, filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            yOffset=offset,
            color=colour.legend(**legend),
            shape=shape.legend(**legend),
            tooltip=[
                alt.Tooltip("task:N"),
                alt.Tooltip("weights:N"),
                alt.Tooltip("shown:N", title="accuracy"),
                alt.Tooltip("seeds:Q"),
            ],
        ),
    ]
    title = f"{_GROUPS[sequences]}: {SAID[way]}"
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT * len(tasks), title=title)


def _dots(rows: Mapping[tuple[str, str], Row], tasks: Sequence[str], way: str) -> Rows:
    """One dot per task and kind of weights; intervals are cut at 0 and 1."""
    found: Rows = []
    for task in tasks:
        for kind, words in {WAYS[way]: _OWN, **KINDS}.items():
            row = rows.get((task, f"{way}:{kind}"))
            if row is not None:
                ends = [end if math.isfinite(end) else row.value for end in (row.low, row.high)]
                low, high = (round(min(max(end, 0.0), 1.0), 5) for end in ends)
                found.append(
                    {
                        "task": task,
                        "weights": words,
                        "accuracy": round(row.value, 5),
                        "low": low,
                        "high": high,
                        "shown": with_interval(row),
                        "seeds": row.seeds,
                    }
                )
    return found
