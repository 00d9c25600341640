"""How a study's numbers compare with the published ones: in a sentence, in a summary, and one by one for each task."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from heatcheck.report.study_view import Line, Rows, StudyView
from heatcheck.report.study_wording import (
    STATES,
    class_name,
    in_brief,
    model_name,
    models_in_order,
    ours,
    quantity_name,
    theirs,
)
from heatcheck.report.table import Table
from heatcheck.results import Comparison, Key, Model, Row, StudyResult
from heatcheck.results.written import NOTHING, number

_Compared: TypeAlias = tuple[Row, float | None, Comparison]  # with the published number that is meant


class Published(NamedTuple):
    """One published number beside ours, as text."""

    what: str
    of_class: str
    ours: str
    floor: str
    paper: str
    rerun: str
    statement: str
    rerun_statement: str
    state: str
    rerun_state: str


class OfModel(NamedTuple):
    """All published numbers of one model."""

    name: str
    seeds: int
    rows: list[Published]


class OfTask(NamedTuple):
    """The part of the page about one task."""

    name: str
    published: list[OfModel]
    models: tuple[str, ...]
    lines: Sequence[Line]
    note: str  # before these lines
    reason: str  # why its published numbers are not comparable; "" if they are
    differs: str


def of_tasks(found: StudyResult, view: StudyView) -> list[OfTask]:
    """Every task with its published numbers and its models."""
    rows = {(r.task, r.encoder, r.attention, r.key, r.of_class, r.bin): r for r in found.rows}
    told = []
    for task, about in found.tasks.items():
        models = [model for model in models_in_order(found) if model.task == task]
        if not models:
            continue
        of_models = view.models_table(models, rows)
        told.append(
            OfTask(
                task,
                [one for model in models if (one := _published(model, found.rows, rows, view)).rows],
                tuple(model_name(model.encoder, model.attention) for model in models),
                of_models.lines,
                of_models.note,
                str(about.get("not_comparable", "")),
                str(about.get("differs", "")),
            )
        )
    return told


def summaries(rows: Iterable[Row], view: StudyView) -> list[Table]:
    """How many published numbers are inside and outside: one table for the paper, one for another run."""
    rows = list(rows)
    paper = [(r, r.paper, r.comparison) for r in rows if r.paper is not None and r.comparison in STATES]
    rerun = [(r, r.rerun, r.rerun_comparison) for r in rows if r.rerun is not None and r.rerun_comparison in STATES]
    captions = ("The paper's numbers", f"{view.rerun.whose[0].upper()}{view.rerun.whose[1:]}")
    return [_summary(caption, of, view.kinds) for caption, of in zip(captions, (paper, rerun), strict=True)]


def in_short(rows: Iterable[Row], view: StudyView) -> str:
    """The results as the study says them, and how many published numbers agree."""
    rows = list(rows)
    results = view.in_short(rows)
    found = [results] if results else []
    # A chosen value, such as a λ, is not compared.
    states = Counter(row.comparison for row in rows if row.paper is not None and row.comparison in STATES)
    whose = "the paper"
    if not states:
        states = Counter(r.rerun_comparison for r in rows if r.rerun is not None and r.rerun_comparison in STATES)
        whose = view.rerun.whose
    if not states:
        unmet = (
            []
            if any(row.paper is not None for row in rows)
            else ["No published number can be compared with these models."]
        )
        return " ".join([*found, *unmet])
    parts = [f"{states[state]} {_SAID[state]}" for state in STATES if states[state]]
    about = f"{whose[0].upper()}{whose[1:]} has {states.total()} numbers about these models: {', '.join(parts)}."
    return " ".join([*found, about])


def not_met(found: StudyResult) -> list[str]:
    """How many published numbers have none of ours beside them, by task."""
    published = {task: str(about["published"]) for task, about in found.tasks.items() if "published" in about}
    beside = [row for row in found.rows if row.paper is not None or row.rerun is not None]
    met = Counter(published[row.task] for row in beside if row.task in published)
    ours = set(published.values())
    told = []
    for task, count in Counter(one.task for one in found.published).items():
        missing = count - met[task]
        if missing > 0:
            why = (
                "no text of ours is in that group, or no such model was run"
                if task in ours
                else "the task was not chosen, or its data is missing"
            )
            told.append(f"{missing} of {task}: {why}")
    return told


_SAID: dict[Comparison, str] = {
    "inside": "inside the interval of one further seed of ours",
    "outside": "outside it",
    "not comparable": "not comparable (another model, or less or other data)",
    "one seed": "beside a single seed of ours",
}
_CLASSES: dict[Comparison, str] = {
    "inside": "inside",
    "outside": "outside",
    "not comparable": "not",
    "one seed": "one",
}  # classes of the page's style


def _summary(caption: str, published: Sequence[_Compared], kinds: Mapping[str, Key]) -> Table:
    def line(name: str, of: Sequence[_Compared]) -> tuple[str, ...]:
        states = Counter(comparison for _, _, comparison in of)
        apart = [abs(row.value - value) for row, value, _ in of if value is not None]
        runs = [abs(row.paper - row.rerun) for row, _, _ in of if row.paper is not None and row.rerun is not None]
        half = [row.further for row, _, _ in of if np.isfinite(row.further)]
        middles = (number(float(np.median(values))) if values else NOTHING for values in (half, apart, runs))
        return (name, str(len(of)), *(str(states[state]) for state in used), *middles)[: len(columns)]

    seen = {comparison for _, _, comparison in published}
    used = [state for state in STATES if state in seen or state != "one seed"]
    by_kind = {words: [one for one in published if _is_of(one[0], kind)] for words, kind in kinds.items()}
    heads = (STATES[state] for state in used)
    columns: tuple[str, ...] = ("quantity", "numbers", *heads, "half interval", "ours from theirs", "paper from rerun")
    if all(row.paper is None or row.rerun is None for row, _, _ in published):
        columns = columns[:-1]
    rows = [line(words, of) for words, of in by_kind.items() if of]
    return Table(caption, columns, [*rows, line("all", published)] if published else [])


def _is_of(row: Row, kind: Key) -> bool:
    """Whether a row has this quantity and its facts."""
    return row.name == kind.name and kind.by.items() <= row.by.items()


def _published(model: Model, every: Iterable[Row], rows: Rows, view: StudyView) -> OfModel:
    of_model = [
        row
        for row in every
        if (row.task, row.encoder, row.attention) == (model.task, model.encoder, model.attention)
        and (row.paper is not None or row.rerun is not None)
    ]
    kinds = list(view.kinds.values())
    of_model.sort(key=lambda row: next((at for at, kind in enumerate(kinds) if _is_of(row, kind)), 99))
    return OfModel(
        model_name(model.encoder, model.attention),
        model.seeds,
        [
            Published(
                quantity_name(row, model.labels, view),
                class_name(row.of_class, model.labels) or "all",
                ours(row, view.chosen) + ("" if row.seeds == model.seeds else f" ({row.seeds})"),
                NOTHING if (floor := view.floor_of(row, model, rows)) is None else number(floor.value),
                theirs(row, row.paper, view.chosen),
                theirs(row, row.rerun, view.chosen),
                in_brief(row.comparison, row.statement, row.value, row.paper),
                in_brief(row.rerun_comparison, row.rerun_statement, row.value, row.rerun),
                _CLASSES.get(row.comparison, ""),
                _CLASSES.get(row.rerun_comparison, ""),
            )
            for row in of_model
        ],
    )
