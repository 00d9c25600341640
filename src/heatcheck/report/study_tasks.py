"""A study of other weights across tasks (single sequences, pairs, sequence to sequence): tables and summary."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.study_wording import two_digits, with_half
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult
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


def tables_of_tasks(found: StudyResult, models: Sequence[Model]) -> list[Table]:
    """All tasks in one table, two rows each, and the cost of each kind of weights, paired by seed."""
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
    """N of every task, in a sentence; nothing for other studies."""
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
