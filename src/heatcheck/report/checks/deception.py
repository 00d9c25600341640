"""What a reader sees of the check `deception`: models trained to hide the words they use, beside honest ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.engine import Facts
from heatcheck.report.figures.accuracy_scatter import COMMONEST, UNIFORM, kinds_in, panel, span_of
from heatcheck.report.figures.figure import WIDTH, Figure, declare
from heatcheck.report.measurement_words import counted, with_seen_ends
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.report.wording import spaced
from heatcheck.results import CheckResult, Key, Measurement, Quantity, key
from heatcheck.results.written import NOTHING, number

_Kinds = Mapping[str, Mapping[Key, Measurement]]  # kind of model -> name of a measurement, with its distance -> it
_SCORED = {
    key("accuracy"): "accuracy",
    key("mass"): "weight on the marked words",
    key("after_deletion"): "accuracy without them",
    key("deletion_loss"): "accuracy lost without them",
}
_PAIRED = {
    key("accuracy_lost"): "accuracy lost",
    key("mass_removed"): "weight removed",
    key("agreement"): "same decision",
}
NEAR = {
    **{key("neighbours", distance=distance): f"weight at distance {distance}" for distance in (1, 2, 3)},
    key("contribution"): "their share of all contributions",
}
TRACES = {
    key("norm_embedding"): "share of embedding norms",
    key("norm_state"): "share of state norms",
    key("rest_states"): "accuracy from other words’ states",
    key("rest_embeddings"): "accuracy from other words’ embeddings",
}


def kind_of(by: Facts) -> str:
    """The name of such models.

    >>> kind_of({"fit": "deceptive", "strength": 0.1, "seed": 3}), kind_of({"fit": "bystander_wrong"})
    ('λ = 0.1', 'bystander wrong')
    """
    return f"λ = {by['strength']:g}" if "strength" in by else spaced(str(by["fit"]))


def deception_tables(result: CheckResult) -> list[Table]:
    """Accuracy beside weight for each kind of model, then the traces."""
    kinds: dict[str, dict[Key, Measurement]] = {}
    for m in result.measurements:
        if "fit" in m.by and "seed" not in m.by:
            distance = {"distance": m.by["distance"]} if "distance" in m.by else {}
            kinds.setdefault(kind_of(m.by), {})[key(m.name, **distance)] = m
    alone = {key(m.name): m for m in result.measurements if not m.by}
    alone |= {
        key("neighbours", distance=m.by["distance"]): m for m in result.measurements if m.name == "neighbours_share"
    }
    mark = spaced(str(result.facts.get("mark", "")))
    prior, share = alone.get(key("prior")), alone.get(key("share"))
    near = {column: alone.get(column) for column in NEAR} | {key("contribution"): share}
    traces = dict.fromkeys(map(key, ("norm_embedding", "norm_state")), share)
    traces |= dict.fromkeys(map(key, ("rest_states", "rest_embeddings")), prior)
    return [
        _table(
            f"Accuracy, and the weight on the words marked {mark}",
            kinds,
            _SCORED,
            [("majority class", {key("accuracy"): prior}), ("uniform weights", {key("mass"): share})],
        ),
        _table(f"Compared with the honest model of the same seed; {_deceives(result)}", kinds, _PAIRED, []),
        _table("Weight near the marked words, and their contributions", kinds, NEAR, [("uniform weights", near)]),
        _table(
            "Traces of the marked words, and the accuracy of a linear read-out of the other words",
            kinds,
            TRACES,
            [("baseline", traces)],
        ),
    ]


def _deceives(result: CheckResult) -> str:
    """Which models deceive, as the paper defines it."""
    slack, chosen = float(result.settings.get("slack", 0.02)), result.facts.get("deceives")
    if chosen is not None:
        return f"λ = {chosen:g} deceives (least weight on these words, at most {slack:g} less accuracy)"
    if any(m.by.get("fit") == "deceptive" for m in result.measurements):
        return f"no λ deceives (less weight on these words, at most {slack:g} less accuracy)"
    return "no model was trained to deceive"


def _table(
    caption: str,
    kinds: _Kinds,
    columns: Mapping[Key, str],
    beside: Sequence[tuple[str, Mapping[Key, Measurement | None]]],
) -> Table:
    """One row per kind of model that has any of these numbers, then the baselines."""
    used = [name for name in columns if any(name in found for found in kinds.values())]
    rows = []
    for kind, found in kinds.items():
        here = [found[name] for name in used if name in found]
        if here:
            rows.append((kind, *(shown(found.get(name)) for name in used), counted(here[0])))
    for title, given in beside if rows else ():
        some = [m for name in used if (m := given.get(name))]
        if some:
            rows.append((title, *(shown(given.get(name)) for name in used), f"{some[0].n:,}"))
    return Table(caption, ("models", *(columns[name] for name in used), "n"), rows, dense=True)


def shown(m: Measurement | None) -> str:
    return NOTHING if m is None else with_ends(m.name, m.value, m.low, m.high)


def with_ends(name: str, value: float, low: float, high: float) -> str:
    """A number with its interval, if the interval has a visible width; weights may be small.

    >>> with_ends("mass", 0.002, 0.0012, 0.0029), with_ends("agreement", 1.0, 1.0, 1.0)
    ('0.002 [0.0012, 0.0029]', '1.000')
    """
    return with_seen_ends(name, value, low, high, "deception")


def accuracy_by_mass(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Accuracy and weight of every model, as one figure."""
    points = points_of(result)
    if not points:
        return None
    lines = lines_of(result)
    kinds = kinds_in(points)
    drawn = panel(points, kinds, lines, span=span_of(points, lines), width=WIDTH - 60, height=340)
    caption = (
        "Each mark is one model. Models further right have more weight on the marked words; higher models are more "
        "accurate. If a model at the upper left fails once the marked words are deleted (see the table), its heatmap "
        "hides words that it uses."
    )
    if COMMONEST in lines:
        caption += f" The majority class has an accuracy of {number(lines[COMMONEST])}."
    if UNIFORM in lines:
        caption += f" Uniform weights give the marked words {number(lines[UNIFORM])} of the weight."
    return declare("deception-accuracy-by-weight", result.check, caption, drawn)


_OF_FITS = {"fit_accuracy": "accuracy", "fit_mass": "mass"}


def points_of(result: CheckResult) -> list[Facts]:
    """Accuracy and weight of every model."""
    found: dict[tuple[str, object], dict[str, Any]] = {}
    for m in result.measurements:
        if m.name in _OF_FITS:
            point = found.setdefault((kind_of(m.by), m.by["seed"]), {"kind": kind_of(m.by), "seed": m.by["seed"]})
            point[_OF_FITS[m.name]] = m.value
    return [point for point in found.values() if {"accuracy", "mass"} <= point.keys()]


def lines_of(result: CheckResult) -> dict[str, float]:
    """The baselines on the two axes."""
    names = {"prior": COMMONEST, "share": UNIFORM}
    return {names[m.name]: m.value for m in result.measurements if m.name in names and not m.by}


# Words for facts of measurements.
_KINDS = {
    ("fit", "honest"): "honest models",
    ("fit", "deceptive"): "trained to deceive",
    ("fit", "retrained"): "retrained models",
}

_QUANTITIES = (
    Quantity(
        "share",
        "share of the words that are marked (their weight if all words had the same)",
        high="The texts contain many marked words.",
        low="The texts contain few marked words.",
        unit="share of words",
    ),
    Quantity(
        "mass",
        "weight on the marked words",
        high="The marked words get much of the weight.",
        low="The marked words get little of the weight.",
        unit="share of weight",
        format="fine",
        check="deception",
    ),
    Quantity(
        "agreement",
        "share of texts with the honest model’s decision",
        high="The model decides most texts as the honest model does.",
        low="The model decides few texts as the honest model does.",
        unit="share of texts",
        check="deception",
    ),
    Quantity(
        "after_deletion",
        "accuracy without the marked words",
        high="The model predicts most labels correctly without the marked words.",
        low="The model predicts few labels correctly without the marked words.",
        unit="share of texts",
    ),
    Quantity(
        "deletion_loss",
        "accuracy lost when the marked words are deleted",
        high="Deleting the marked words costs much accuracy.",
        low="Deleting the marked words costs little accuracy.",
        unit="share of texts",
    ),
    Quantity(
        "accuracy_lost",
        "accuracy lost compared with the honest model of the same seed",
        high="The model is less accurate than the honest model.",
        low="The model is as accurate as the honest model, or more so.",
        unit="share of texts",
    ),
    Quantity(
        "mass_removed",
        "weight removed from the marked words, compared with the honest model of the same seed",
        high="The model gives the marked words much less weight than the honest model.",
        low="The model gives the marked words as much weight as the honest model.",
        unit="share of weight",
        format="fine",
    ),
    Quantity(
        "deceived",
        "weight that deceiving models remove from the marked words",
        high="The deceiving models give the marked words much less weight than the honest ones.",
        low="The deceiving models give the marked words hardly less weight than the honest ones.",
        unit="share of weight",
    ),
    Quantity(
        "fit_mass",
        "weight on the marked words, one model",
        high="The marked words get much of this model's weight.",
        low="The marked words get little of this model's weight.",
        unit="share of weight",
    ),
    Quantity(
        "neighbours",
        "weight on words at this distance from a marked one",
        high="Words at this distance from a marked one get much of the weight.",
        low="Words at this distance from a marked one get little of the weight.",
        unit="share of weight",
        format="fine",
    ),
    Quantity(
        "neighbours_share",
        "share of words at this distance from a marked one",
        high="Many words are at this distance from a marked one.",
        low="Few words are at this distance from a marked one.",
        unit="share of words",
    ),
    Quantity(
        "norm_embedding",
        "the marked words’ share of the norms of all embeddings",
        high="The marked words' embeddings make up much of all norms.",
        low="The marked words' embeddings make up little of all norms.",
        unit="share",
    ),
    Quantity(
        "norm_state",
        "the marked words’ share of the norms of all hidden states",
        high="The marked words' hidden states make up much of all norms.",
        low="The marked words' hidden states make up little of all norms.",
        unit="share",
    ),
    Quantity(
        "contribution",
        "the marked words’ share of all contributions (weight × relevance)",
        high="The marked words make up much of all contributions.",
        low="The marked words make up little of all contributions.",
        unit="share",
        format="fine",
    ),
    Quantity(
        "rest_states",
        "accuracy of a linear read-out of the other words’ hidden states",
        high="The other words' hidden states predict most labels; compare their embeddings.",
        low="The other words' hidden states predict few labels; compare their embeddings.",
        unit="share of texts",
    ),
    Quantity(
        "rest_embeddings",
        "accuracy of a linear read-out of the other words’ embeddings",
        high="The other words' embeddings predict most labels; compare the majority class.",
        low="The other words' embeddings predict few labels; compare the majority class.",
        unit="share of texts",
    ),
)

VIEW = CheckView(
    "Models trained to hide the words they use",
    place=130,
    reading="heatcheck retrains the recipe with a penalty for weight on the marked words. Some models stay as "
    "accurate without that weight but fail once the marked words are deleted. Such models use words that their heatmap "
    "hides. If a model fails as soon as the weight is gone, it deceives nobody: it needed that weight. If training "
    "finds no such model, one may still exist. When a model reads words one by one, its gauge twin is such a model, "
    "made without training. In the twin, the share that each word adds (weight × relevance) stays the same.",
    held="the training recipe, except for the penalty on weight; for a gauge twin, every decision",
    tables=deception_tables,
    figures=(accuracy_by_mass,),
    quantities=_QUANTITIES,
    kinds=_KINDS,
)
