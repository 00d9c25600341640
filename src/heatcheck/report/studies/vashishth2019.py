"""Page and figures for Vashishth et al. 2019: other weights for single texts, pairs, and sequence to sequence."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_quantities import NEEDED, RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, Rerun, StudyView
from heatcheck.report.study_wording import models_in_order, two_digits, with_half, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult, key, value_text
from heatcheck.results.written import NOTHING

# How other weights come to a model -> the name of its own weights there.
WAYS = {"put_in": "own", "trained": "learned"}
SAID = {"put_in": "imposed at test time", "trained": "trained with them"}
IN_TABLE = {"put_in": "imposed", "trained": "trained with"}
KINDS = {
    "uniform": "uniform",
    "permuted": "shuffled",
    "random": "random",
    "first": "first state only",
    "last": "last state only",
}
COMMONEST = "commonest"
WRITTEN = 3  # the group of sequence-to-sequence tasks
SEQUENCES = {1: "one", 2: "a pair", WRITTEN: "sequence to sequence"}
_OF_WAY = {"trained": {"N:retrained": "N", "index": "index"}, "put_in": {"evenness": "evenness"}}

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


def tables_of_tasks(found: StudyResult) -> list[Table]:
    """All tasks in one table, two rows each, and the cost of each kind of weights, paired by seed."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    shown = [model for model in models_in_order(found) if (model.task, "put_in:own") in rows]
    beside = {name: words for of_way in _OF_WAY.values() for name, words in of_way.items()}
    body, lost = [], []
    for model in in_groups(found, shown):
        sequences = SEQUENCES[group_of(found, model.task)]
        for way, own in WAYS.items():
            place = (sequences, model.task, IN_TABLE[way])
            numbers = [_cell(rows, model.task, f"{way}:{kind}") for kind in (own, *KINDS)]
            known = {name for name in _OF_WAY[way] if name != "N:retrained" or has_room(found.rows, model.task)}
            others = [_cell(rows, model.task, name) if name in known else NOTHING for name in beside]
            body.append((*place, *numbers, two_digits(rows[model.task, COMMONEST].value), *others, str(model.seeds)))
            lost.append((*place, *(_cell(rows, model.task, f"lost_{way}:{kind}") for kind in KINDS), str(model.seeds)))
    if not body:
        return []
    first = ("sequences", "task", "other weights")
    return [
        Table(
            "Accuracy under other weights, imposed at test time or used in training; ± half of the 95% interval",
            (*first, "learned", *KINDS.values(), "majority class", *beside.values(), "seeds"),
            body,
            dense=True,
        ),
        Table(
            "Accuracy lost: accuracy under learned weights minus accuracy under these, seed by seed",
            (*first, *KINDS.values(), "seeds"),
            lost,
            dense=True,
        ),
    ]


def tasks_in_short(rows: Iterable[Row]) -> str:
    """N of every task, in a sentence; nothing without retrained models."""
    rows = list(rows)
    found = [row for row in rows if row.quantity == "N:retrained"]
    if not found or not any(row.name == "trained" for row in rows):
        return ""
    needed = [f"{row.task} {with_half(row)}" for row in found if has_room(rows, row.task)]
    at_prior = [row.task for row in found if not has_room(rows, row.task)]
    share = (
        "N is the share of the gain over the majority class that is lost when training without learned attention (0 is "
        f"nothing, 1 is all). {'; '.join(needed)}."
    )
    nothing = f"No better than the majority class, so N cannot be asked: {'; '.join(at_prior)}."
    return " ".join([share] * bool(needed) + [nothing] * bool(at_prior))


def has_room(rows: Iterable[Row], task: str) -> bool:
    """Whether models with learned weights are significantly above the majority class; else N is noise."""
    return all(row.low > 0 for row in rows if (row.task, row.quantity) == (task, "headroom:retrained"))


def group_of(found: StudyResult, task: str) -> int:
    """The group of a task: one text, a pair, or sequence to sequence."""
    about = found.tasks[task]
    return WRITTEN if about.get("written") else int(about.get("segments", 1))


def in_groups(found: StudyResult, models: Sequence[Model]) -> list[Model]:
    """Models of one sequence, then of a pair, then sequence to sequence."""
    return sorted(models, key=lambda model: group_of(found, model.task))


def _cell(rows: Mapping[tuple[str, str], Row], task: str, quantity: str) -> str:
    if (task, quantity) not in rows:
        return NOTHING
    return with_half(rows[task, quantity]).replace(" ", "\N{NO-BREAK SPACE}")


def accuracies_across_tasks(found: StudyResult) -> Figure | None:
    """Dots of accuracy: weights imposed at test time beside models trained with them, one panel per group of tasks."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    shown = [model.task for model in in_groups(found, models_in_order(found)) if (model.task, "put_in:own") in rows]
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


def row_name(row: Row, labels: Sequence[str]) -> str | None:
    """The name of a BLEU under imposed weights, which would say “weights” twice."""
    return f"BLEU-4, {value_text(row.by['weights'])} weights imposed" if row.name == "bleu_put_in" else None


QUANTITIES = (
    study_quantity("trained", "accuracy, trained with {}", *RIGHT),
    study_quantity("put_in", "accuracy with other weights imposed", *RIGHT),
    study_quantity("bleu_put_in", "BLEU-4, {} weights imposed", *RIGHT),
    study_quantity("bleu_trained", "BLEU-4, trained with {}", *RIGHT),
    study_quantity("lost_put_in", "accuracy lost when other weights are imposed", *NEEDED),
    study_quantity("lost_trained", "accuracy lost when trained with other weights", *NEEDED),
    study_quantity("index", "share of all accuracy that is lost with uniform weights", *NEEDED),
)
VIEW = StudyView(
    done=(
        (
            ("put_in",),
            "heatcheck trained each model with learned weights and imposed other weights at test time. Then it "
            "retrained the model, with the same seeds, under each kind of these weights from the start.",
        ),
    ),
    in_short=tasks_in_short,
    retrained=("trained",),
    rerun=Rerun("reproduction", "the reproduction by Bouwman et al. 2021"),
    kinds={"accuracy, attention learned or not": key("trained")},
    row_name=row_name,
    chapters=(Chapter("necessity", (tables_of_tasks,), (accuracies_across_tasks,)),),
    unpublished={
        "N:retrained": "share of the gain lost without learned attention (N)",
        "trained:learned": "accuracy",
        "trained:uniform": "accuracy, trained with uniform weights",
        "trained:permuted": "accuracy, trained with shuffled weights",
        "trained:last": "accuracy, trained with the last state only",
        "put_in:uniform": "accuracy, uniform weights imposed at test time",
        "put_in:permuted": "accuracy, weights shuffled at test time",
        "evenness": "evenness of the weights (1 is uniform)",
    },
    quantities=QUANTITIES,
)
