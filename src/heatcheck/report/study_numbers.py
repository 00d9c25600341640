"""The tables of a study's page: the summary, every published number beside ours, and every model."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from heatcheck.report.study_copy import copy_in_short
from heatcheck.report.study_deception import deception_in_short
from heatcheck.report.study_flips import flips_in_short
from heatcheck.report.study_scales import scales_in_short
from heatcheck.report.study_tasks import tasks_in_short
from heatcheck.report.study_wording import (
    AUTHORS,
    STATES,
    Rerun,
    class_name,
    in_brief,
    method_of,
    model_name,
    models_in_order,
    ours,
    quantity_name,
    score_name,
    theirs,
    two_digits,
    with_half,
)
from heatcheck.report.study_writing import writing_in_short
from heatcheck.report.table import Table
from heatcheck.results import Comparison, Key, Model, Row, StudyResult, key
from heatcheck.results.written import NOTHING, number

EPSILONS = (0.05, 0.01, 0.001)

# Quantities of a summary: words -> the quantity, and the facts that its rows have.
KINDS = {
    "F1 or accuracy": key("score"),
    "τ(attention, gradient)": key("tau", pair=("attention", "gradient")),
    "τ(attention, leave one out)": key("tau", pair=("attention", "leave_one_out")),
    "share of texts with a significant τ": key("significant"),
    "median change if weights are shuffled": key("permutation"),
    "JSD that the search finds": key("searched"),
    "F1, attention learned or not": key("f1"),
    "accuracy, attention learned or not": key("trained"),
    "F1 of a guide": key("guide_f1"),
    "accuracy, honest and trained to deceive": key("accuracy_at"),
    "weight on the marked words": key("mass_at"),
    "accuracy of freely generated words": key("written_at"),
    "weight on linked words": key("links_at"),
    "BLEU-4": key("bleu_at"),
    "best adversary": key("best"),
    "accuracy at a scale λ": key("right"),
    "loss": key("loss"),
    "AUC of scores, polar against neutral words": key("auc"),
    "weight on polar words": key("mass"),
    "mean attention score of a group of words": key("mean_a"),
}

# The lines of a task's table: words and quantity; without a quantity, a title.
LINES: tuple[tuple[str, Key | None], ...] = (
    ("score", key("score")),
    ("Agreement on the order of the words, Kendall τ", None),
    ("attention, gradient", key("tau", pair=("attention", "gradient"))),
    ("– its mechanical floor", key("floor", pair=("attention", "gradient"))),
    ("attention, leave one out", key("tau", pair=("attention", "leave_one_out"))),
    ("– its mechanical floor", key("floor", pair=("attention", "leave_one_out"))),
    ("gradient, leave one out", key("tau", pair=("gradient", "leave_one_out"))),
    ("attention, gradient at uniform weights", key("tau", pair=("attention", "gradient_uniform"))),
    ("Removing the highlighted words: 0 as random words, 1 as the best other method's words", None),
    ("K, words deleted", key("K", operator="deletion")),
    ("K, words masked", key("K", operator="masking")),
    ("Shuffling the weights", None),
    ("share of shuffles that keep the answer (q)", key("q")),
    ("median change of the output", key("permutation")),
    ("Different weights, same answer: JSD in nats", None),
    *(
        line
        for e in EPSILONS
        for line in (
            (f"largest, ε = {e}", key("jsd", epsilon=e)),
            ("– null: relevances shuffled", key("null", epsilon=e)),
            ("– found by the published search", key("searched", epsilon=e)),
            ("– missed by it", key("missed", epsilon=e)),
        )
    ),
    ("floor: JSD that any linear read-out reaches", key("floor")),
    ("share of the possible JSD (U), standardised logits", key("U")),
)


Rows: TypeAlias = Mapping[tuple[str, str, str, Key, str, str], Row]  # by task, model, quantity, class and bin


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


class Line(NamedTuple):
    """One quantity of all models of a task, or a title over some."""

    what: str
    cells: tuple[str, ...]  # none: a title


class OfTask(NamedTuple):
    """The part of the page about one task."""

    name: str
    published: list[OfModel]
    models: tuple[str, ...]
    lines: list[Line]
    methods: list[str]  # how exact the largest JSD is
    reason: str  # why its published numbers are not comparable; "" if they are
    differs: str


def of_tasks(found: StudyResult) -> list[OfTask]:
    """Every task with its published numbers and its models."""
    rows = {(r.task, r.encoder, r.attention, r.key, r.of_class, r.bin): r for r in found.rows}
    told = []
    for task, about in found.tasks.items():
        models = [model for model in models_in_order(found) if model.task == task]
        if not models:
            continue
        methods = list(dict.fromkeys(method_of(m) for m in models if "jsd:published:0.05" in m.examples))
        told.append(
            OfTask(
                task,
                [one for model in models if (one := _published(model, found.rows, rows)).rows],
                tuple(model_name(model.encoder, model.attention) for model in models),
                _lines(models, rows),
                [_METHODS[method] for method in methods],
                str(about.get("not_comparable", "")),
                str(about.get("differs", "")),
            )
        )
    return told


def summaries(rows: Iterable[Row], rerun_by: Rerun = AUTHORS) -> list[Table]:
    """How many published numbers are inside and outside: one table for the paper, one for another run."""
    rows = list(rows)
    paper = [(r, r.paper, r.comparison) for r in rows if r.paper is not None and r.comparison in STATES]
    rerun = [(r, r.rerun, r.rerun_comparison) for r in rows if r.rerun is not None and r.rerun_comparison in STATES]
    return [_summary("The paper's numbers", paper), _summary(f"{rerun_by.whose[0].upper()}{rerun_by.whose[1:]}", rerun)]


def in_short(rows: Iterable[Row], rerun_by: Rerun = AUTHORS) -> str:
    """The results in a sentence, and how many published numbers agree."""
    rows = list(rows)
    said = (flips_in_short, tasks_in_short, deception_in_short, writing_in_short, copy_in_short, scales_in_short)
    told = [in_words(rows) for in_words in said]
    found = [part for part in told if part]
    # A chosen value, such as a λ, is not compared.
    states = Counter(row.comparison for row in rows if row.paper is not None and row.comparison in STATES)
    whose = "the paper"
    if not states:
        states = Counter(r.rerun_comparison for r in rows if r.rerun is not None and r.rerun_comparison in STATES)
        whose = rerun_by.whose
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


# How exact the largest JSD of a task is, by how it was computed.
_METHODS = {
    "exact": "The largest JSD is exact: no search can find more.",
    "bracket": "These models have more than two labels. The JSD shown is reached, and the largest one may be a little "
    "larger. The floor holds for two labels only, so it is missing.",
    "search": "The read-out of these models is not linear, so the largest JSD comes from a search, a lower bound. "
    "Its floor and its null hold for linear read-outs only, so they are missing. So is the mechanical floor of "
    "leave-one-out.",
}
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


def _summary(caption: str, published: Sequence[_Compared]) -> Table:
    def line(name: str, of: Sequence[_Compared]) -> tuple[str, ...]:
        states = Counter(comparison for _, _, comparison in of)
        apart = [abs(row.value - value) for row, value, _ in of if value is not None]
        runs = [abs(row.paper - row.rerun) for row, _, _ in of if row.paper is not None and row.rerun is not None]
        half = [row.further for row, _, _ in of if np.isfinite(row.further)]
        middles = (number(float(np.median(values))) if values else NOTHING for values in (half, apart, runs))
        return (name, str(len(of)), *(str(states[state]) for state in used), *middles)[: len(columns)]

    seen = {comparison for _, _, comparison in published}
    used = [state for state in STATES if state in seen or state != "one seed"]
    kinds = {words: [one for one in published if _is_of(one[0], kind)] for words, kind in KINDS.items()}
    heads = (STATES[state] for state in used)
    columns: tuple[str, ...] = ("quantity", "numbers", *heads, "half interval", "ours from theirs", "paper from rerun")
    if all(row.paper is None or row.rerun is None for row, _, _ in published):
        columns = columns[:-1]
    rows = [line(words, of) for words, of in kinds.items() if of]
    return Table(caption, columns, [*rows, line("all", published)] if published else [])


def _is_of(row: Row, kind: Key) -> bool:
    """Whether a row has this quantity and its facts."""
    return row.name == kind.name and kind.by.items() <= row.by.items()


def _published(model: Model, every: Iterable[Row], rows: Rows) -> OfModel:
    of_model = [
        row
        for row in every
        if (row.task, row.encoder, row.attention) == (model.task, model.encoder, model.attention)
        and (row.paper is not None or row.rerun is not None)
    ]
    kinds = list(KINDS.values())
    of_model.sort(key=lambda row: next((at for at, kind in enumerate(kinds) if _is_of(row, kind)), 99))
    exact = method_of(model) == "exact"
    return OfModel(
        model_name(model.encoder, model.attention),
        model.seeds,
        [
            Published(
                quantity_name(row, model.labels),
                class_name(row.of_class, model.labels) or "all",
                ours(row) + ("" if row.seeds == model.seeds else f" ({row.seeds})"),
                _floor(row, rows, exact=exact),
                theirs(row, row.paper),
                theirs(row, row.rerun),
                in_brief(row.comparison, row.statement, row.value, row.paper),
                in_brief(row.rerun_comparison, row.rerun_statement, row.value, row.rerun),
                _CLASSES.get(row.comparison, ""),
                _CLASSES.get(row.rerun_comparison, ""),
            )
            for row in of_model
        ],
    )


def _floor(row: Row, rows: Rows, *, exact: bool) -> str:
    """The baseline of a number: the mechanical floor of a τ, the model-free floor of a JSD."""
    if row.name not in ("tau", "searched"):
        return NOTHING
    mechanical = row.name == "tau"
    of = key("floor", pair=row.by["pair"]) if mechanical else key("floor")
    floor = rows.get((row.task, row.encoder, row.attention, of, row.of_class, row.bin))
    return NOTHING if floor is None or not (mechanical or exact) else number(floor.value)


def _lines(models: Sequence[Model], rows: Rows) -> list[Line]:
    found = []
    for what, quantity in LINES:
        cells = () if quantity is None else tuple(_cell(model, quantity, rows) for model in models)
        if quantity is None or any(cell != NOTHING for cell in cells):
            words = score_name(models[0].labels) if quantity == key("score") else what
            found.append(Line(words, cells))
    # A title without lines is dropped.
    return [line for line, after in zip(found, [*found[1:], Line("", ())], strict=True) if line.cells or after.cells]


def _cell(model: Model, quantity: Key, rows: Rows) -> str:
    def row(of: Key) -> Row | None:
        return rows.get((model.task, model.encoder, model.attention, of, "", ""))

    if quantity.name == "missed":
        best, searched = row(key("jsd", **quantity.by)), row(key("searched", **quantity.by))
        # A difference of means over the same texts; its interval would need the seeds.
        return NOTHING if best is None or searched is None else two_digits(best.value - searched.value)
    one = row(quantity)
    known = quantity != key("floor") or method_of(model) == "exact"  # of two labels: it holds nowhere else
    return with_half(one) if one and known else NOTHING
