"""Tables of text for models trained to deceive: compared with honest ones, and traces of the marked words."""

from collections.abc import Mapping, Sequence

from heatcheck.engine import Facts
from heatcheck.report.table import Table
from heatcheck.report.wording import counted, spaced
from heatcheck.results import CheckResult, Key, Measurement, key
from heatcheck.results.written import NOTHING, with_seen_ends

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
