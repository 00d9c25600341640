"""Page and figures for Pruthi et al. 2020, sequence to sequence: their table beside ours, and where the weight is."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.figures.accuracy_by_weight import AccuracyByWeight, accuracy_by_weight
from heatcheck.report.figures.figure import Figure
from heatcheck.report.study_quantities import RIGHT, THERE, study_quantity
from heatcheck.report.study_view import Chapter, Rerun, StudyView
from heatcheck.report.study_wording import (
    AT,
    beside_theirs,
    models_in_order,
    trained_in_words,
    two_digits,
    with_interval,
)
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult, key, value_text
from heatcheck.results.written import NOTHING, fine

RERUN = Rerun("reproduction", "the reproduction by Caulfield et al. 2021")
PLACES = {"first": "on the start mark", "last": "on the end mark"}
_Rows = Mapping[tuple[str, str, str], Row]  # by task, quantity and place
_FIRST = ("0", "uniform", "none")
_AGAINST = "baseline"
_ALIGNED = {
    "misaligned_at": "alignment error rate",
    "misaligned_by_hand_at": "the same on links made by hand",
    "written_uniform_at": "accuracy with uniform weights imposed",
}


def tables_of_sequences(found: StudyResult) -> list[Table]:
    """The published table, what the weights point at, and where the weight is."""
    rows = {(row.task, row.quantity, row.bin): row for row in found.rows}
    tasks = [model.task for model in models_in_order(found) if (model.task, "written_at:0", "") in rows]
    if not tasks:
        return []
    heads = [f"weight {name}" for name in PLACES.values()]
    beside = sorted({row.bin for row in found.rows if row.quantity == "beside_at:0" and row.bin not in PLACES}, key=int)
    return [
        Table(
            "Quality (accuracy of words at their positions, or BLEU-4), and weight on linked words",
            ("task", "trained", "quality", "paper", RERUN.word, "weight on linked words", "paper", RERUN.word, "seeds"),
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


def sequences_in_short(rows: Iterable[Row]) -> str:
    """The effect of the largest λ on each task, as a sentence; nothing if all are honest."""
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


SCATTER = AccuracyByWeight(
    "accuracy-by-links",
    "written_at",
    "links_at",
    "links_at:uniform",
    "weight on linked words",
    trained,
    lambda model: model.task,
    "Each mark is one model of one seed. Further right means more weight on the linked source words, further up means "
    "more words right. Models at the upper left generate well and attend elsewhere. Stars and squares are published "
    "numbers, where accuracy was published. The dotted line is the accuracy of always the most frequent word. The "
    "dashed line is the weight that uniform weights have on links. The accuracy axes differ.",
)


def sequence_scatters(found: StudyResult) -> Figure | None:
    """Every model of every seed, and the published means."""
    return accuracy_by_weight(found, SCATTER)


def row_name(row: Row, labels: Sequence[str]) -> str | None:
    """The name of a weight at some distance from linked words."""
    if row.name != "beside_at":
        return None
    return f"weight {PLACES.get(row.bin, f'{row.bin} from linked words')}, {trained_in_words(row.by['trained'])}"


QUANTITIES = (
    study_quantity("written_at", "accuracy of freely generated words, {}", *RIGHT),
    study_quantity(
        "written_uniform_at", "accuracy of freely generated words under imposed uniform weights, {}", *RIGHT
    ),
    study_quantity("bleu_at", "BLEU-4, {}", *RIGHT),
    study_quantity("links_at", "weight on linked words, {}", *THERE, format="fine"),
    study_quantity(
        "links_at_most", "largest possible weight on linked words", "nearly all weight can be there", "much cannot be"
    ),
    study_quantity("beside_at", "weight beside linked words", *THERE),
    study_quantity(
        "misaligned_at", "alignment error rate, {}", "the weights point elsewhere", "the weights point at the links"
    ),
    study_quantity(
        "misaligned_by_hand_at",
        "alignment error rate on links made by hand, {}",
        "the weights point elsewhere",
        "the weights point at the links",
    ),
)
VIEW = StudyView(
    done=(
        (
            ("links_at",),
            "heatcheck trained each model honestly, and again with the same seeds for each λ, with a penalty for "
            "weight on linked words. Linked words are the source words that the data links to each target word. It "
            "also trained models with uniform weights and without attention. Then every model generated freely.",
        ),
    ),
    in_short=sequences_in_short,
    retrained=("written_at",),
    rerun=RERUN,
    kinds={
        "accuracy of freely generated words": key("written_at"),
        "weight on linked words": key("links_at"),
        "BLEU-4": key("bleu_at"),
    },
    row_name=row_name,
    chapters=(Chapter("deception", (tables_of_sequences,), (sequence_scatters,)),),
    shown={
        "written_at:0": "words right, honest",
        "links_at:0": "weight on linked words, honest",
        "bleu_at:0": "BLEU-4, honest",
        "written_at:0.1": "words right, λ = 0.1",
        "links_at:0.1": "weight on linked words, λ = 0.1",
        "bleu_at:0.1": "BLEU-4, λ = 0.1",
        "written_at:1": "words right, λ = 1",
        "links_at:1": "weight on linked words, λ = 1",
        "bleu_at:1": "BLEU-4, λ = 1",
        "written_at:uniform": "words right, uniform weights",
        "bleu_at:uniform": "BLEU-4, uniform weights",
        "written_at:none": "words right, no attention",
        "bleu_at:none": "BLEU-4, no attention",
    },
    quantities=QUANTITIES,
)
