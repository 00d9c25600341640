"""A study of models that write and are trained to deceive: the published table beside ours, and where weight went."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.study_wording import AT, PLACES, RERUNS, beside_theirs, two_digits, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult, value_text
from heatcheck.results.written import NOTHING, fine

_Rows = Mapping[tuple[str, str, str], Row]  # by task, quantity and place
_FIRST = ("0", "uniform", "none")
_AGAINST = "read against"
_ALIGNED = {
    "misaligned_at": "alignment error rate",
    "misaligned_by_hand_at": "against links made by hand",
    "written_uniform_at": "accuracy with uniform weights put in",
}


def tables_of_writing(found: StudyResult, models: Sequence[Model]) -> list[Table]:
    """The published table, what the weights point at, and where the weight went; nothing for other studies."""
    rows = {(row.task, row.quantity, row.bin): row for row in found.rows}
    tasks = [model.task for model in models if (model.task, "written_at:0", "") in rows]
    if not tasks:
        return []
    rerun = RERUNS["pruthi2020_sequences"].word
    heads = [f"weight {name}" for name in PLACES.values()]
    beside = sorted({row.bin for row in found.rows if row.quantity == "beside_at:0" and row.bin not in PLACES}, key=int)
    return [
        Table(
            "How well it writes (accuracy of words at their place; where there is one, BLEU-4), and weight on links",
            ("task", "trained", "written", "paper", rerun, "weight on linked words", "paper", rerun, "seeds"),
            [line for task in tasks for line in _published(task, rows)],
            dense=True,
        ),
        Table(
            "What the weights point at, and whether they are needed",
            ("task", "trained", *_ALIGNED.values(), "seeds"),
            [line for task in tasks for line in _aligned(task, rows)],
            dense=True,
        ),
        Table(
            "Where the weight went: share so many tokens after a linked one (before it: negative), and on the marks",
            ("task", "trained", *beside, *heads),
            [
                (task, trained(at), *(_cell(rows, task, f"beside_at:{at}", place) for place in (*beside, *PLACES)))
                for task in tasks
                for at in kinds_of(task, rows)
                if (task, f"beside_at:{at}", "first") in rows
            ],
            dense=True,
        ),
    ]


def _published(task: str, rows: _Rows) -> Iterable[tuple[str, ...]]:
    for at in kinds_of(task, rows):
        accuracy, links = (rows.get((task, f"{kind}:{at}", "")) for kind in ("written_at", "links_at"))
        bleu = rows.get((task, f"bleu_at:{at}", ""))
        pairs = [bleu or accuracy, links]
        cells = [cell for row in pairs for cell in beside_theirs(row)]
        name = f"{task}, BLEU" if bleu else task
        yield (name, trained(at), *cells, str(next(row for row in pairs if row is not None).seeds))
    most, prior = (rows.get((task, name, "")) for name in ("links_at_most", "commonest"))
    least = NOTHING if prior is None else f"commonest word {two_digits(prior.value)}"
    yield (task, _AGAINST, least, NOTHING, NOTHING, f"at most {fine(most.value)}" if most else NOTHING, *[NOTHING] * 3)


def _aligned(task: str, rows: _Rows) -> Iterable[tuple[str, ...]]:
    for at in (*kinds_of(task, rows), "diagonal"):
        here = {name: rows.get((task, f"{name}:{at}", "")) for name in _ALIGNED}
        known = [row for row in here.values() if row is not None]
        if known:
            cells = [NOTHING if row is None else with_interval(row) for row in here.values()]
            yield (task, "links at the same share of the way" if at == "diagonal" else trained(at), *cells,
                   NOTHING if at == "diagonal" else str(known[0].seeds))  # fmt: skip


def _cell(rows: _Rows, task: str, quantity: str, place: str) -> str:
    row = rows.get((task, quantity, place))
    return NOTHING if row is None else two_digits(row.value)


def kinds_of(task: str, rows: _Rows) -> list[str]:
    """How the models of a task were trained: honest, under uniform weights and none, then by λ."""
    found = {value_text(row.by["trained"]) for row in rows.values() if (row.task, row.name) == (task, "written_at")}
    return [at for at in _FIRST if at in found] + sorted(found - set(_FIRST), key=float)


def trained(at: str) -> str:
    """
    >>> trained("0"), trained("0.1"), trained("none")
    ('honest', 'λ = 0.1', 'no attention')
    """
    return AT.get(at, f"λ = {at}")


def writing_in_short(rows: Iterable[Row]) -> str:
    """What the largest λ did to each task; nothing where none was trained to deceive in writing."""
    found = {(row.task, row.quantity, row.bin): row for row in rows}
    told = []
    for task in {task: None for task, quantity, _ in found if quantity == "written_at:0"}:
        *_, last = kinds_of(task, found)
        if last in _FIRST:
            continue
        of = {at: [found[task, f"{kind}:{at}", ""].value for kind in ("written_at", "links_at")] for at in ("0", last)}
        (right, there), (then, left) = of["0"], of[last]
        told.append(f"{task}: {right:.2f} right and {fine(there)} of the weight on linked words, {then:.2f} and "
                    f"{fine(left)} at λ = {last}")  # fmt: skip
    return f"Honest and trained to deceive. {'; '.join(told)}." if told else ""
