"""Page and figures for Pruthi et al. 2020, BERT: a transformer trained to deceive, and what each layer attends to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from heatcheck.report.figures.accuracy_by_weight import AccuracyByWeight, accuracy_by_weight
from heatcheck.report.figures.figure import Figure
from heatcheck.report.studies.pruthi2020 import RERUN, said
from heatcheck.report.study_quantities import THERE, study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import beside_theirs, models_in_order, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult, key, value_text
from heatcheck.results.written import NOTHING, fine, number

_Rows = Mapping[tuple[str, str, str], Row]  # by task, how heads are taken, and quantity
_REMOVED = "removed"
_USED = {
    "accuracy_lost": "accuracy lost",
    "agreement": "same decision",
    "after_deletion": "accuracy without those words",
    "left_out_at": "their share of leave-one-out",
    "rollout_at": "their weight by rollout",
}
_LAYERS = {
    "row_mass": "Weight on the marked words in the row that the answer is read from, mean over heads, by layer",
    "others_mass": "Weight on the marked words in the rows of the other words, mean over heads, by layer",
}


def tables_of_layers(found: StudyResult) -> list[Table]:
    """Table 3, what the models use, and the weight on the marked words in every layer."""
    rows = {(row.task, row.attention, row.quantity): row for row in found.rows}
    shown = [model for model in models_in_order(found) if (model.task, model.attention, "mass_at:0") in rows]
    if not shown:
        return []
    published = ("accuracy", "paper", RERUN.word, "weight on the marked words", "paper", RERUN.word)
    made = [
        Table(
            "Table 3: accuracy, and the weight on the marked words (mean over heads, or the head with the most)",
            ("task and heads", "trained", *published, "seeds"),
            [line for model in shown for line in _of_table_3(model, rows)],
            dense=True,
        ),
        Table(
            "Compared with the honest model of the same seed, and whether the model still uses the marked words",
            ("task and heads", "trained", *_USED.values(), "seeds"),
            [line for model in shown for line in _used(model, rows)],
            dense=True,
        ),
    ]
    for name, caption in _LAYERS.items():
        layers = sorted({int(row.by["layer"]) for row in found.rows if row.name == name})
        lines = [line for model in shown for line in _by_layer(model, rows, name, layers)]
        made.append(
            Table(caption, ("task and heads", "trained", *(f"layer {n}" for n in layers), "share"), lines, dense=True)
        )
    return made


def _of_table_3(model: Model, rows: _Rows) -> Iterator[tuple[str, ...]]:
    """One line per way of training, then the baselines of both columns."""
    weight = "largest_at" if model.attention.startswith("max") else "mass_at"
    for at in (_REMOVED, *strengths_of(model, rows)):
        pair = [rows.get((model.task, model.attention, f"{kind}:{at}")) for kind in ("accuracy_at", weight)]
        if pair[0] is not None:
            cells = [cell for row in pair for cell in beside_theirs(row)]
            yield (_name(model), said(at), *cells, str(pair[0].seeds))
    prior, share = (rows[model.task, model.attention, name] for name in ("commonest", "share"))
    gaps = (NOTHING, NOTHING)
    yield (_name(model), "baseline", number(prior.value), *gaps, number(share.value), *gaps, NOTHING)


def _used(model: Model, rows: _Rows) -> Iterator[tuple[str, ...]]:
    """One line per λ."""
    for at in strengths_of(model, rows):
        here = [rows.get((model.task, model.attention, f"{name}:{at}")) for name in _USED]
        seeds = max(row.seeds for row in here if row is not None)
        yield (_name(model), said(at), *(NOTHING if row is None else with_interval(row) for row in here), str(seeds))


def _by_layer(model: Model, rows: _Rows, name: str, layers: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """One line per λ, with the share that uniform weights have there."""
    share = number(rows[model.task, model.attention, "share"].value)
    for at in strengths_of(model, rows):
        here = (rows.get((model.task, model.attention, f"{name}:{at}:{layer}")) for layer in layers)
        yield (_name(model), said(at), *(NOTHING if row is None else fine(row.value) for row in here), share)


def strengths_of(model: Model, rows: _Rows) -> list[str]:
    """The λ of a model, the honest 0 first."""
    place = (model.task, model.attention)
    found = [row.by["trained"] for row in rows.values() if row.name == "mass_at" and (row.task, row.attention) == place]
    return [value_text(strength) for strength in sorted(float(of) for of in found)]


def _name(model: Model) -> str:
    return f"{model.task}, {model.attention}"


def layers_in_short(rows: Iterable[Row]) -> str:
    """The effect of the largest λ on each task, as a sentence; nothing if all are honest."""
    found = {(row.task, row.attention, row.quantity): row for row in rows}
    told = []
    for task, heads in {place[:2]: None for place in found if place[2] == "mass_at:0"}:
        model = Model(task, "", heads, (), 0, {}, ())
        *_, last = strengths_of(model, found)
        if last == "0":
            continue
        values = {
            at: [found[task, heads, f"{kind}:{at}"].value for kind in ("accuracy_at", "mass_at")] for at in ("0", last)
        }
        (right, there), (then, left) = values["0"], values[last]
        told.append(
            f"{_name(model)}: accuracy {right:.2f} → {then:.2f}, weight on the marked words {fine(there)} → "
            f"{fine(left)} at λ = {last}"
        )
    return f"From honest models to models trained to deceive: {'; '.join(told)}." if told else ""


SCATTER = AccuracyByWeight(
    "accuracy-by-weight",
    "accuracy_at",
    "mass_at",
    "share",
    "weight on the marked words",
    said,
    _name,
    "Each mark is one model of one seed. Further right means more weight on the marked words (mean over heads). "
    "Higher means more accurate. Models at the upper left hide words that they use. Stars and squares are the "
    "published means. The dotted line is the majority-class baseline. The dashed line is the weight that uniform "
    "weights have there. The accuracy axes differ.",
)


def layer_scatters(found: StudyResult) -> Figure | None:
    """Every model of every seed, and the published means."""
    return accuracy_by_weight(found, SCATTER)


QUANTITIES = (
    study_quantity("largest_at", "weight on the marked words, head with the most, {}", *THERE, format="fine"),
    study_quantity("rollout_at", "weight on the marked words by rollout, {}", *THERE, format="fine"),
    study_quantity(
        "left_out_at",
        "the marked words’ share of leave-one-out, {}",
        "leaving the marked words out changes the answer most",
        "leaving other words out changes it more",
    ),
    study_quantity("row_mass", "weight on the marked words in a layer, row of the answer", *THERE, format="fine"),
    study_quantity("others_mass", "weight on the marked words in a layer, rows of other words", *THERE, format="fine"),
)
VIEW = StudyView(
    done=(
        (
            ("mass_at",),
            "heatcheck fine-tuned each model honestly, and again with the same seeds for each λ. The penalty λ is for "
            "weight on the marked words in the last layer. The controls were fine-tuned on the same texts without "
            "those words.",
        ),
    ),
    in_short=layers_in_short,
    retrained=("accuracy_at",),
    rerun=RERUN,
    kinds={
        "accuracy, honest and trained to deceive": key("accuracy_at"),
        "weight on the marked words": key("mass_at"),
        "weight on the marked words, head with the most": key("largest_at"),
    },
    chapters=(Chapter("deception", (tables_of_layers,), (layer_scatters,)),),
    shown={
        "accuracy_at:removed": "accuracy, trained without the marked words",
        "accuracy_at:0": "accuracy, honest",
        "mass_at:0": "weight on the marked words, honest",
        "largest_at:0": "the same, head with the most, honest",
        "accuracy_at:0.1": "accuracy, λ = 0.1",
        "mass_at:0.1": "weight on the marked words, λ = 0.1",
        "accuracy_at:1": "accuracy, λ = 1",
        "mass_at:1": "weight on the marked words, λ = 1",
    },
    unpublished={
        "after_deletion:1": "accuracy when those words are deleted, λ = 1",
        "rollout_at:1": "weight on the marked words by rollout, λ = 1",
    },
    quantities=QUANTITIES,
)
