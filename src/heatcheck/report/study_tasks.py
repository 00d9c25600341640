"""A study of other weights across tasks: single sequences above pairs above texts to write, and all of it in short."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.study_wording import two_digits, with_half
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult
from heatcheck.results.written import NOTHING

# How weights other than a model's own come to it -> what it is called where they are its own.
WAYS = {"put_in": "own", "trained": "learned"}
SAID = {"put_in": "put in at test time", "trained": "trained so"}
IN_TABLE = {"put_in": "put in", "trained": "trained so"}
KINDS = {
    "uniform": "uniform",
    "permuted": "shuffled",
    "random": "random",
    "first": "first state only",
    "last": "last state only",
}
COMMONEST = "commonest"
WRITTEN = 3  # the group of tasks in which a second text is written from the first
SEQUENCES = {1: "one", 2: "a pair", WRITTEN: "written from another"}
_OF_WAY = {"trained": {"N:retrained": "N", "index": "index"}, "put_in": {"evenness": "evenness"}}


def tables_of_tasks(found: StudyResult, models: Sequence[Model]) -> list[Table]:
    """All tasks in one table, two rows each, and what each kind of weights costs, paired by seed."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    shown = [model for model in models if (model.task, "put_in:own") in rows]
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
            "Accuracy under other weights, put in at test time and trained with; ± half of the 95% interval",
            (*first, "its own", *KINDS.values(), "commonest label", *beside.values(), "seeds"),
            body,
            dense=True,
        ),
        Table(
            "What they cost: accuracy under learned weights minus accuracy under these, seed by seed",
            (*first, *KINDS.values(), "seeds"),
            lost,
            dense=True,
        ),
    ]


def tasks_in_short(rows: Iterable[Row]) -> str:
    """N of every task, in a sentence; nothing where no model was trained with other weights on several tasks."""
    rows = list(rows)
    found = [row for row in rows if row.quantity == "N:retrained"]
    if not found or not any(row.name == "trained" for row in rows):
        return ""
    needed = [f"{row.task} {with_half(row)}" for row in found if has_room(rows, row.task)]
    moot = [row.task for row in found if not has_room(rows, row.task)]
    share = (
        "Share of what a model knows above the commonest label that is lost when it is trained without learned "
        f"attention (N): {'; '.join(needed)}."
    )
    nothing = f"No more often right than the commonest label, so with nothing to lose: {'; '.join(moot)}."
    return " ".join([share] * bool(needed) + [nothing] * bool(moot))


def has_room(rows: Iterable[Row], task: str) -> bool:
    """Whether models with learned weights are for sure above the commonest label; else a share of that is noise."""
    return all(row.low > 0 for row in rows if (row.task, row.quantity) == (task, "headroom:retrained"))


def group_of(found: StudyResult, task: str) -> int:
    """How many texts an example of a task has, or that one of them is to be written."""
    about = found.tasks[task]
    return WRITTEN if about.get("written") else int(about.get("segments", 1))


def in_groups(found: StudyResult, models: Sequence[Model]) -> list[Model]:
    """Models that read one sequence, then those that read a pair, then those that write."""
    return sorted(models, key=lambda model: group_of(found, model.task))


def _cell(rows: Mapping[tuple[str, str], Row], task: str, quantity: str) -> str:
    if (task, quantity) not in rows:
        return NOTHING
    return with_half(rows[task, quantity]).replace(" ", "\N{NO-BREAK SPACE}")
