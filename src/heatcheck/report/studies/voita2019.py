"""Page and figure for Voita et al. 2019: heads that learned gates keep, what they cost, and their roles."""

import math
from collections.abc import Sequence

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.study_quantities import RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult
from heatcheck.results.written import NOTHING

ALONE, TOGETHER = "gates alone", "gates and weights"
GRADIENT, MOVED, RANDOM = "gradient (Michel)", "answers moved", "random"
_COLOURS = {ALONE: ATTENTION, TOGETHER: MOST, GRADIENT: RIVAL, RANDOM: FLOOR}


def frontier(found: StudyResult) -> list[Table]:
    """For each penalty the heads that stay, the accuracy, and that of as many heads nothing was learned for."""
    made = []
    for model in models_in_order(found):
        body = []
        for kept in _of(found, model.task, "kept"):
            here = kept.by
            others = [_find(found, model.task, "as_many", order=name, **here) for name in (GRADIENT, MOVED, RANDOM)]
            gated = _find(found, model.task, "gated", **here)
            body.append((str(here["gates"]), str(here["penalty"]), _cell(kept), _cell(gated), *map(_cell, others)))
        columns = ("learned", "penalty", "heads left", "accuracy", f"{GRADIENT}, as many", f"{MOVED}, as many", RANDOM)
        made.append(Table(f"Heads that gates keep, {model.task}", columns, body, dense=True))
    return [table for table in made if table.rows]


def roles(found: StudyResult) -> list[Table]:
    """The share of kept heads that have a role, beside the share of all heads that have it."""
    made = []
    for model in models_in_order(found):
        body = []
        for whole in _of(found, model.task, "with_role"):
            role = str(whole.by["role"])
            for kept in _of(found, model.task, "kept_with_role", role=role):
                gain = _find(found, model.task, "role_gain", **kept.by)
                here = (str(kept.by["gates"]), str(kept.by["penalty"]))
                body.append((role, *here, _cell(whole), _cell(kept), _cell(gain)))
        columns = ("role", "learned", "penalty", "of all heads", "of kept heads", "difference")
        made.append(Table(f"Share of heads with a role, {model.task}", columns, body, dense=True))
    return [table for table in made if table.rows]


def in_short(rows: Sequence[Row]) -> str:
    """What the gates keep at each penalty if the weights learn too, in plain words."""
    said = []
    for task in dict.fromkeys(row.task for row in rows):
        of_task = {row.quantity: row for row in rows if row.task == task}
        for kept in (row for row in of_task.values() if row.name == "kept" and row.by["gates"] == TOGETHER):
            here = f"{TOGETHER}:{kept.by['penalty']}"
            gated, plain = of_task.get(f"gated:{here}"), of_task.get(f"as_many:{GRADIENT}:{here}")
            if gated is not None and plain is not None:
                said.append(
                    f"{task}, penalty {kept.by['penalty']}: {kept.value:.0f} heads stay at an accuracy of "
                    f"{gated.value:.2f}; as many by the gradient, without learning, have {plain.value:.2f}."
                )
    return " ".join(said)


def curves(found: StudyResult) -> Figure | None:
    """Accuracy by the number of heads left: gates, and sets of as many heads that nothing was learned for."""
    task = next(iter(found.tasks), "")
    points = []
    for kept in _of(found, task, "kept"):
        gates = str(kept.by["gates"])
        beside = {gates: _find(found, task, "gated", **kept.by)}
        if gates == ALONE:
            beside |= {n: _find(found, task, "as_many", order=n, **kept.by) for n in (GRADIENT, RANDOM)}
        points += [_point(name, kept, row) for name, row in beside.items() if row is not None]
    if not points:
        return None
    alt = altair()
    names = [name for name in _COLOURS if any(point["heads"] == name for point in points)]
    colour = alt.Color("heads:N", title=None).scale(domain=names, range=[_COLOURS[name] for name in names])
    base = alt.Chart(alt_data(points)).encode(
        x=alt.X("left:Q", title="heads left"), color=colour.legend(orient="top", labelLimit=0)
    )
    lines = base.mark_line(point=True, strokeWidth=2).encode(
        y=alt.Y("accuracy:Q", title="accuracy").scale(zero=False), tooltip=["heads:N", "left:Q", "accuracy:Q"]
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    bounded = all("low" in point for point in points)
    drawn = alt.layer(*([bars, lines] if bounded else [lines])).properties(width=WIDTH - 70, height=300)
    caption = (
        f"Accuracy on {task} with few heads left, mean over seeds with 95% intervals. Gates were learned; the gradient "
        "and random sets keep as many heads without learning."
    )
    return declare("gates-frontier", "gates", caption, drawn)


def _point(name: str, kept: Row, accuracy: Row) -> dict[str, object]:
    """A point of the figure; one seed alone has no interval."""
    bounds = {"low": accuracy.low, "high": accuracy.high} if math.isfinite(accuracy.low) else {}
    return {"heads": name, "left": round(kept.value, 2), "accuracy": round(accuracy.value, 4), **bounds}


def _of(found: StudyResult, task: str, name: str, **by: object) -> list[Row]:
    own = (row for row in found.rows if row.task == task and row.name == name)
    return [row for row in own if all(row.by.get(axis) == value for axis, value in by.items())]


def _find(found: StudyResult, task: str, name: str, **by: object) -> Row | None:
    return next(iter(_of(found, task, name, **by)), None)


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


VIEW = StudyView(
    in_short=in_short,
    settings={
        "penalties": "penalties on open heads",
        "gate_seeds": "seeds of the gates",
        "steps": "steps of learning gates",
        "curves": "examples of dev and of test for accuracies",
        "sentences": "treebank sentences per part",
    },
    chapters=(
        Chapter(
            "gates",
            (frontier,),
            (curves,),
            title="Heads that learned gates keep",
            reading="A gate multiplies a head's output and is learned; an open gate costs a penalty. Beside each row "
            "stand as many heads that were chosen without learning. They have the largest gradient, or move answers "
            "most if removed, or are random.",
        ),
        Chapter(
            "roles of kept heads",
            (roles,),
            title="Do the heads that stay have roles?",
            reading="The difference is the share among kept heads less the share among all heads. Surely above 0, "
            "heads with this role are kept more often than others. If the interval includes 0, the role does not tell.",
        ),
    ),
    shown={},
    unpublished={
        "kept:gates and weights:0.16": "heads left at a penalty of 0.16, weights learn too",
        "gated:gates and weights:0.16": "their accuracy",
        "role_gain:any of these:gates and weights:0.16": "their roles: share above that of all heads",
    },
    quantities=(
        study_quantity("kept", "heads left: {}", "many heads stay", "few heads stay"),
        study_quantity("gated", "accuracy with learned gates: {}", *RIGHT),
        study_quantity("as_many", "accuracy with as many heads, nothing learned: {}", *RIGHT),
        study_quantity("with_role", "share of all heads with a role: {}", "most heads have it", "few heads have it"),
        study_quantity(
            "kept_with_role", "share of kept heads with a role: {}", "most kept heads have it", "few kept heads have it"
        ),
        study_quantity(
            "role_gain",
            "share of kept heads with a role, above that of all heads: {}",
            "heads with the role are kept more often",
            "heads with the role are kept as often (0) or less often (below 0)",
        ),
    ),
)
