"""Page and figures for Pruthi et al. 2020, classifiers: models trained to deceive, the paper's Table 3 beside ours."""

from collections.abc import Iterable, Mapping, Sequence

from heatcheck.report.checks.deception import NEAR, TRACES, with_ends
from heatcheck.report.figures.accuracy_by_weight import AccuracyByWeight, accuracy_by_weight
from heatcheck.report.figures.figure import Figure
from heatcheck.report.study_quantities import RIGHT, THERE, study_quantity
from heatcheck.report.study_view import Chapter, Rerun, StudyView
from heatcheck.report.study_wording import ENCODERS, beside_theirs, model_name, models_in_order
from heatcheck.report.table import Table
from heatcheck.report.wording import spaced
from heatcheck.results import Key, Model, Row, StudyResult, key, value_text
from heatcheck.results.written import NOTHING, fine, number

RERUN = Rerun("reproduction", "the reproduction by Caulfield et al. 2021")
_Rows = Mapping[tuple[str, str, str], Row]  # by task, encoder and quantity
_KINDS = {"removed": "words removed", "0": "honest", "twin": "gauge twin"}
_TWIN, _AGAINST = "twin", "baseline"
_PAIRED = {
    key("accuracy_lost"): "accuracy lost",
    key("mass_removed"): "weight removed",
    key("agreement"): "same decision",
    key("after_deletion"): "accuracy without those words",
}
# The baselines of a table that depend on the texts alone.
_BESIDE = {
    **{key("neighbours", distance=distance): f"neighbours_share:{distance}" for distance in (1, 2, 3)},
    **dict.fromkeys(map(key, ("contribution", "norm_embedding", "norm_state")), "share"),
    **dict.fromkeys(map(key, ("after_deletion", "rest_states", "rest_embeddings")), "commonest"),
}


def tables_of_deception(found: StudyResult) -> list[Table]:
    """Table 3, the same paired with the honest models, and the traces of the marked words."""
    rows = {(row.task, row.encoder, row.quantity): row for row in found.rows}
    shown = [model for model in models_in_order(found) if (model.task, model.encoder, "mass_at:0") in rows]
    if not shown:
        return []
    published = ("accuracy", "paper", RERUN.word, "weight on the marked words", "paper", RERUN.word)
    return [
        Table(
            "Table 3: accuracy, and the weight on the marked words",
            ("task and model", "trained", *published, "seeds"),
            [line for model in shown for line in _of_table_3(model, rows)],
            dense=True,
        ),
        _by_strength(
            "Compared with the honest model of the same seed, and with the marked words deleted", shown, rows, _PAIRED
        ),
        _by_strength("Weight near the marked words, and their contribution", shown, rows, NEAR),
        _by_strength(
            "Traces of the marked words, and how often the other words alone tell the label", shown, rows, TRACES
        ),
    ]


def _of_table_3(model: Model, rows: _Rows) -> Iterable[tuple[str, ...]]:
    """One line per way of training, the gauge twin last, then the baselines of both columns."""
    place = (model.task, model.encoder)
    name = _name(model)
    for strength in ("removed", *strengths_of(model, rows), _TWIN):
        pair = [rows.get((*place, f"{kind}_at:{strength}")) for kind in ("accuracy", "mass")]
        known = [row for row in pair if row is not None]
        if not known:
            continue
        cells = [cell for row in pair for cell in beside_theirs(row)]
        yield (name, said(strength), *cells, str(known[0].seeds))
    prior, share = (rows.get((*place, quantity)) for quantity in ("commonest", "share"))
    beside = [NOTHING if row is None else number(row.value) for row in (prior, share)]
    yield (name, _AGAINST, beside[0], NOTHING, NOTHING, beside[1], NOTHING, NOTHING, NOTHING)


def _by_strength(caption: str, models: Sequence[Model], rows: _Rows, columns: Mapping[Key, str]) -> Table:
    """One line per model and λ that has any of these numbers, then their baselines."""
    lines: list[tuple[str, str, dict[Key, Row]]] = []
    for model in models:
        here = []
        for strength in (*strengths_of(model, rows), _TWIN):
            wanted = {column: _row(rows, model, column, strength) for column in columns}
            found = {column: row for column, row in wanted.items() if row is not None}
            here += [(_name(model), said(strength), found)] if found else []
        beside = {column: rows.get((model.task, model.encoder, quantity)) for column, quantity in _BESIDE.items()}
        known = {column: row for column, row in beside.items() if row is not None and column in columns}
        lines += [*here, (_name(model), _AGAINST, known)] if here and known else here
    used = [column for column in columns if any(column in found for _, what, found in lines if what != _AGAINST)]
    body = [
        (name, what, *(_cell(column, found[column]) if column in found else NOTHING for column in used))
        for name, what, found in lines
    ]
    return Table(caption, ("task and model", "trained", *(columns[column] for column in used)), body, dense=True)


def _row(rows: _Rows, model: Model, column: Key, strength: str) -> Row | None:
    """The row that a column shows for models trained so."""
    return rows.get((model.task, model.encoder, key(column.name, trained=strength, **column.by).text))


def _cell(column: Key, row: Row) -> str:
    return with_ends(column.name, row.value, row.low, row.high)


def strengths_of(model: Model, rows: _Rows) -> list[str]:
    """The λ of a model, the honest 0 first."""
    place = (model.task, model.encoder)
    found = [row.by["trained"] for row in rows.values() if row.name == "mass_at" and (row.task, row.encoder) == place]
    return [value_text(strength) for strength in sorted(of for of in found if of != _TWIN)]


def said(strength: str) -> str:
    """
    >>> said("0.1"), said("twin")
    ('λ = 0.1', 'gauge twin')
    """
    return _KINDS.get(strength, f"λ = {strength}")


def _name(model: Model) -> str:
    return f"{model.task}, {ENCODERS.get(model.encoder, spaced(model.encoder))}"


def deception_in_short(rows: Iterable[Row]) -> str:
    """The effect of the largest λ on each model, and its twin, as a sentence; nothing if all are honest."""
    found = {(row.task, row.encoder, row.attention, row.quantity): row for row in rows}
    models = {key[:3]: None for key in found if key[3] == "mass_at:0"}
    told = []
    for place in models:
        model = Model(*place, (), 0, {}, ())
        by_quantity = {(task, encoder, quantity): row for (task, encoder, _, quantity), row in found.items()}
        *_, last = strengths_of(model, by_quantity)
        if last == "0":
            continue

        def at(strength: str, place: tuple[str, str, str] = place) -> tuple[str, str]:
            accuracy, mass = (found[*place, f"{kind}_at:{strength}"].value for kind in ("accuracy", "mass"))
            return f"{accuracy:.2f}", fine(mass)

        (right, there), (then, left) = at("0"), at(last)
        told.append(
            f"{_name(model)}: accuracy {right} → {then}, weight on the marked words {there} → {left} at λ = {last}"
        )
        if (*place, "mass_at:twin") in found:
            told[-1] += " (gauge twin: {} and {})".format(*at(_TWIN))
    return f"From honest models to models trained to deceive: {'; '.join(told)}." if told else ""


SCATTER = AccuracyByWeight(
    "accuracy-by-weight",
    "accuracy_at",
    "mass_at",
    "share",
    "weight on the marked words",
    said,
    lambda model: f"{model.task}: {model_name(model.encoder, model.attention)}",
    "Table 3 as a picture. Each mark is one model of one seed: further right means more weight on the marked words, "
    "further up means higher accuracy. Models at the upper left hide words that they use. Stars and squares are the "
    "published means, honest and at each λ. The dotted line is the majority-class baseline. The dashed line is the "
    "weight that uniform weights have there. The accuracy axes differ.",
)


def deception_scatters(found: StudyResult) -> Figure | None:
    """Every model of every seed, and the published means."""
    return accuracy_by_weight(found, SCATTER)


LEFT = ("the marked words have a large share", "the marked words have a small share")
QUANTITIES = (
    study_quantity("accuracy_at", "accuracy, {}", *RIGHT),
    study_quantity(
        "after_deletion",
        "accuracy without the marked words",
        "other words tell the label too",
        "only the marked words tell it",
    ),
    study_quantity(
        "deletion_loss", "accuracy lost without the marked words", "the model uses them", "it hardly uses them"
    ),
    study_quantity("mass_at", "weight on the marked words, {}", *THERE, format="fine"),
    study_quantity(
        "share",
        "share of the words that are marked",
        "uniform weights would mostly be there",
        "they would mostly be elsewhere",
    ),
    study_quantity(
        "neighbours_share", "share of the words at this distance", "uniform weights would mostly be there", "elsewhere"
    ),
    study_quantity("neighbours", "weight at this distance from the marked words", *THERE),
    study_quantity(
        "accuracy_lost", "accuracy lost compared with the honest model", "hiding costs much", "hiding costs little"
    ),
    study_quantity(
        "mass_removed", "weight taken off the marked words", "the weight was moved away", "the weight stayed"
    ),
    study_quantity("norm_embedding", "share of the embeddings’ norm", *LEFT),
    study_quantity("norm_state", "share of the hidden states’ norm", *LEFT),
    study_quantity("contribution", "share of all words’ contributions", *LEFT),
    study_quantity(
        "rest_states", "accuracy of a linear read-out of the other states", "other states know the label", "they do not"
    ),
    study_quantity(
        "rest_embeddings",
        "accuracy of a linear read-out of the other embeddings",
        "other words know the label",
        "they do not",
    ),
)
VIEW = StudyView(
    done=(
        (
            ("mass_at",),
            "heatcheck trained each model honestly, and again with the same seeds for each λ, with a penalty for "
            "weight on the marked words. The controls were trained on the same texts without those words. Each honest "
            "embedding model also has a gauge twin. The twin is not trained, makes the same decisions, and keeps its "
            "weight off those words.",
        ),
    ),
    in_short=deception_in_short,
    retrained=("accuracy_at",),
    rerun=RERUN,
    kinds={"accuracy, honest and trained to deceive": key("accuracy_at"), "weight on the marked words": key("mass_at")},
    chapters=(Chapter("deception", (tables_of_deception,), (deception_scatters,)),),
    shown={
        "accuracy_at:removed": "accuracy, trained without the marked words",
        "accuracy_at:0": "accuracy, honest",
        "mass_at:0": "weight on the marked words, honest",
        "accuracy_at:0.1": "accuracy, λ = 0.1",
        "mass_at:0.1": "weight on the marked words, λ = 0.1",
        "accuracy_at:1": "accuracy, λ = 1",
        "mass_at:1": "weight on the marked words, λ = 1",
    },
    unpublished={
        "accuracy_at:twin": "accuracy, gauge twin",
        "mass_at:twin": "weight on the marked words, gauge twin",
    },
    quantities=QUANTITIES,
)
