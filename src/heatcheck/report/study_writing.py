"""A study of sequence-to-sequence models trained to deceive: the published table beside ours, and the weight."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.study_wording import AT, PLACES, RERUNS, beside_theirs, two_digits, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult, value_text
from heatcheck.results.written import NOTHING, fine

_Rows = Mapping[tuple[str, str, str], Row]  # by task, quantity and place
_FIRST = ("0", "uniform", "none")
_AGAINST = "baseline"
_ALIGNED = {
    "misaligned_at": "alignment error rate",
    "misaligned_by_hand_at": "the same on links made by hand",
    "written_uniform_at": "accuracy with uniform weights imposed",
}


def tables_of_writing(found: StudyResult, models: Sequence[Model]) -> list[Table]:
    """The published table, what the weights point at, and where the weight is; nothing for other studies."""
    rows = {(row.task, row.quantity, row.bin): row for row in found.rows}
    tasks = [model.task for model in models if (model.task, "written_at:0", "") in rows]
    if not tasks:
        return []
    rerun = RERUNS["pruthi2020_sequences"].word
    heads = [f"weight {name}" for name in PLACES.values()]
    beside = sorted({row.bin for row in found.rows if row.quantity == "beside_at:0" and row.bin not in PLACES}, key=int)
    return [
        Table(
            "Quality (accuracy of words at their positions, or BLEU-4), and weight on linked words",
            ("task", "trained", "quality", "paper", rerun, "weight on linked words", "paper", rerun, "seeds"),
            [line for task in tasks for line in _published(task, rows)],
            dense=True,
        ),
        Table(
            "What the weights point at, and whether the model uses them",
            ("task", "trained", *_ALIGNED.values(), "seeds"),
            [line for task in tasks for line in _aligned(task, rows)],
            dense=True,
        ),
        Table(
            "Share of the weight by distance from a linked word (negative: before it), and on the start and end marks",
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
    least = NOTHING if prior is None else f"most frequent word {two_digits(prior.value)}"
    yield (task, _AGAINST, least, NOTHING, NOTHING, f"at most {fine(most.value)}" if most else NOTHING, *[NOTHING] * 3)


def _aligned(task: str, rows: _Rows) -> Iterable[tuple[str, ...]]:
    for at in (*kinds_of(task, rows), "diagonal"):
        here = {name: rows.get((task, f"{name}:{at}", "")) for name in _ALIGNED}
        known = [row for row in here.values() if row is not None]
        if known:
            cells = [NOTHING if row is None else with_interval(row) for row in here.values()]
            yield (task, "the diagonal: same relative position" if at == "diagonal" else trained(at), *cells,
                   NOTHING if at == "diagonal" else str(known[0].seeds))  # fmt: skip


def _cell(rows: _Rows, task: str, quantity: str, place: str) -> str:
    row = rows.get((task, quantity, place))
    return NOTHING if row is None else two_digits(row.value)


def kinds_of(task: str, rows: _Rows) -> list[str]:
    """How the models of a task were trained: honest, with uniform weights, without attention, then by λ."""
    found = {value_text(row.by["trained"]) for row in rows.values() if (row.task, row.name) == (task, "written_at")}
    return [at for at in _FIRST if at in found] + sorted(found - set(_FIRST), key=float)


def trained(at: str) -> str:
    """
    >>> trained("0"), trained("0.1"), trained("none")
    ('honest', 'λ = 0.1', 'no attention')
    """
    return AT.get(at, f"λ = {at}")


def writing_in_short(rows: Iterable[Row]) -> str:
    """The effect of the largest λ on each task, as a sentence; nothing for other studies."""
    found = {(row.task, row.quantity, row.bin): row for row in rows}
    told = []
    for task in {task: None for task, quantity, _ in found if quantity == "written_at:0"}:
        *_, last = kinds_of(task, found)
        if last in _FIRST:
            continue
        of = {at: [found[task, f"{kind}:{at}", ""].value for kind in ("written_at", "links_at")] for at in ("0", last)}
        (right, there), (then, left) = of["0"], of[last]
        told.append(f"{task}: accuracy {right:.2f} → {then:.2f}, weight on linked words {fine(there)} → {fine(left)} "
                    f"at λ = {last}")  # fmt: skip
    return f"From honest models to models trained to deceive: {'; '.join(told)}." if told else ""
