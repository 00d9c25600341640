"""Tables of a study with one row per task and one column per quantity, a published number beside each of ours."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from heatcheck.report.study_view import TableMaker
from heatcheck.report.study_wording import model_name, models_in_order, ours, theirs, with_interval
from heatcheck.report.table import Table
from heatcheck.report.wording import spaced
from heatcheck.results import Key, Model, Row, StudyResult
from heatcheck.results.written import NOTHING

DEEPEST = 12  # layers that a table has columns for

_Rows: TypeAlias = Mapping[tuple[str, str, str, str], Row]  # by task, model and quantity


class Columns(NamedTuple):
    """One table: its caption and its columns. A task needs the first quantity to have a row."""

    caption: str
    titles: Mapping[str, str]  # quantity -> title


def by_layer(quantity: str) -> dict[str, str]:
    """A column for every layer."""
    return {f"{quantity}:{n}": f"layer {n}" for n in range(1, DEEPEST + 1)}


def in_columns(*tables: Columns, chosen: Collection[Key] = ()) -> TableMaker:
    """A maker of these tables, without those that have no row.

    Args:
        chosen: values that were chosen, not measured: shown in their shortest form.
    """

    def make(found: StudyResult) -> list[Table]:
        rows = {
            (row.task, row.encoder, row.attention, row.quantity): row
            for row in found.rows
            if not row.of_class and not row.bin
        }
        models = models_in_order(found)
        made = [_table(*columns, rows, models, chosen) for columns in tables]
        return [table for table in made if table.rows]

    return make


def every_number(found: StudyResult) -> list[Table]:
    """All numbers of all models in one table, for a study that has no tables of its own."""
    body = [
        (
            row.task,
            model_name(row.encoder, row.attention),
            spaced(row.quantity),
            ", ".join(part for part in (row.of_class, row.bin) if part) or "all",
            with_interval(row),
            theirs(row, row.paper),
            theirs(row, row.rerun),
            str(row.seeds),
        )
        for row in found.rows
    ]
    columns = ("task", "model", "quantity", "texts", "ours", "paper", "rerun", "seeds")
    return [Table("Every number, the mean over seeds with its 95% interval", columns, body, dense=True)] if body else []


def _table(
    caption: str, columns: Mapping[str, str], rows: _Rows, models: Sequence[Model], chosen: Collection[Key]
) -> Table:
    """One table; empty columns are dropped."""
    first = next(iter(columns))
    found = {_named(model, models): _of_model(model, columns, rows) for model in models}
    found = {task: cells for task, cells in found.items() if first in cells}
    used = [quantity for quantity in columns if any(quantity in cells for cells in found.values())]
    beside = {quantity for cells in found.values() for quantity, row in cells.items() if row.paper is not None}
    heads: list[str] = []
    for quantity in used:
        heads += [columns[quantity], *(["paper"] if quantity in beside else [])]
    body = []
    for task, cells in found.items():
        line = [task]
        for quantity in used:
            row = cells.get(quantity)
            line.append(NOTHING if row is None else ours(row, chosen))
            if quantity in beside:
                line.append(NOTHING if row is None else theirs(row, row.paper, chosen))
        body.append((*line, str(max(row.seeds for row in cells.values()))))
    return Table(caption, ("task", *heads, "seeds"), body, dense=True)


def _named(model: Model, models: Sequence[Model]) -> str:
    """The task of a model, and its kind if the task has several."""
    alone = sum(other.task == model.task for other in models) == 1
    return model.task if alone else f"{model.task}, {model_name(model.encoder, model.attention)}"


def _of_model(model: Model, columns: Iterable[str], rows: _Rows) -> dict[str, Row]:
    place = (model.task, model.encoder, model.attention)
    return {quantity: rows[*place, quantity] for quantity in columns if (*place, quantity) in rows}
