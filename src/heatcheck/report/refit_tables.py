"""Tables of text for the checks that compare with retrained models."""

from collections.abc import Callable, Sequence

from heatcheck.report.frontier import candidates, farthest
from heatcheck.report.lexicon import BY, WEIGHTS
from heatcheck.report.model_names import name_of
from heatcheck.report.table import Table, pivot, with_n
from heatcheck.report.wording import counted, grouping, quantity, said
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import NOTHING, interval, number, with_seen_ends


def necessity_tables(result: CheckResult) -> list[Table]:
    """The losses without learned attention, and the accuracies behind them."""
    found = result.measurements
    largest = {str(m.by): number(m.value) for m in found if m.name == "most_change"}
    return [
        Table(
            "N: the share of the gain over the majority class that is lost without learned attention",
            ("without attention", "N", "95% interval", "accuracy above the majority class", "n"),
            [
                (grouping(m), number(m.value), interval(m), _beside(found, "headroom", "against", m), counted(m))
                for m in _named(found, "N")
            ],
        ),
        Table(
            "Accuracy lost without learned attention, in pairs of the same seed",
            ("retrained models", "accuracy lost", "95% interval", "as a share of all accuracy", "n"),
            [
                (grouping(m), number(m.value), interval(m), _beside(found, "index", "free", m), counted(m))
                for m in _named(found, "difference")
            ],
        ),
        Table(
            "Accuracy with each kind of weights",
            ("weights", "how", "accuracy", "95% interval", "F1", "n"),
            [
                (
                    WEIGHTS.get(str(m.by["weights"]), said(m.by["weights"])) if m.by else "majority class",
                    BY.get(("fit", str(m.by.get("fit"))), NOTHING),
                    number(m.value),
                    interval(m),
                    _same(found, "f1", m),
                    counted(m),
                )
                for m in _named(found, "accuracy", "prior")
            ],
        ),
        Table(
            "Change of this model's probabilities under replaced weights (standardised logits)",
            ("replaced weights", "mean change", "95% interval", "largest change", "n"),
            [
                (
                    grouping(m),
                    number(m.value),
                    interval(m),
                    largest.get(str(m.by), NOTHING),
                    counted(m),
                )
                for m in _named(found, "change")
            ],
        ),
        Table(
            "How evenly this model spreads its weights; shuffling uniform weights (1) changes nothing",
            ("entropy relative to uniform weights", "95% interval", "n", "texts with one token, left out"),
            [
                (number(m.value), interval(m), counted(m), str(m.by.get("undefined", 0)))
                for m in _named(found, "evenness")
            ],
        ),
    ]


def seed_variance_tables(result: CheckResult) -> list[Table]:
    """Differences from the audited model, between all seeds, and by class and largest weight."""
    overall = [m for m in result.measurements if not m.by.keys() & {"class", "bin"}]
    cells = [
        (str(m.by["class"]), str(m.by.get("bin", "all")), with_n(m))
        for m in result.measurements
        if m.name == "jsd" and "class" in m.by
    ]
    return [
        Table(
            "The audited model compared with its other seeds, and all pairs of seeds",
            ("quantity", "mean", "95% interval", "n"),
            [(quantity(m, result.check), number(m.value), interval(m), counted(m)) for m in overall],
        ),
        pivot(
            "JSD from the other seeds, by predicted class and largest weight of the text",
            "class",
            sorted(cells, key=lambda cell: (cell[1] != "all", cell[1])),
        ),
    ]


def adversarial_model_tables(result: CheckResult) -> list[Table]:
    """The summary of the frontier, and every model on it."""
    star = farthest(result)
    columns = {
        "jsd": "JSD",
        "tvd": "TVD",
        "tvd_tempered": "TVD, one temperature",
        "agreement": "same decision",
        "accuracy": "accuracy",
    }
    summed = _named(result.measurements, "J_excess", "J_star", "J_seed", "cost", "reach")
    return [
        Table(
            "Summary: how different the weights of a model can be whose answers are as close as an honest seed's",
            ("quantity", "value", "95% interval", "n"),
            [(quantity(m, result.check), number(m.value), interval(m), counted(m)) for m in summed],
        ),
        Table(
            "Every other model compared with the audited one: JSD of the weights (nats), TVD of the answers",
            ("model", *columns.values(), "n"),
            [
                (
                    name_of(one.by) + (" (J*)" if star and one.by == star.by else ""),
                    *(
                        NOTHING
                        if name not in one.found
                        else _with_interval(one.found[name])
                        if name in ("jsd", "tvd")
                        else number(one.found[name].value)
                        for name in columns
                    ),
                    counted(next(iter(one.found.values()))),
                )
                for one in candidates(result)
            ],
            dense=True,
        ),
    ]


def guide_tables(result: CheckResult) -> list[Table]:
    """The share of the gap that the weights close, and the accuracies behind it."""
    found = result.measurements
    return [
        Table(
            "G: the share of the gap that the weights close, from bare words without weights (0) to the model (1)",
            ("guide", "G", "95% interval", "gap", "n"),
            [
                (
                    grouping(m),
                    _same(found, "G", m, lambda one: number(one.value)),
                    _same(found, "G", m, interval),
                    _with_interval(m),
                    counted(m),
                )
                for m in _named(found, "headroom")
            ],
        ),
        Table(
            "Accuracy of the bare words above the majority class",
            ("guide", "accuracy above", "95% interval", "n"),
            [(grouping(m), number(m.value), interval(m), counted(m)) for m in _named(found, "carries")],
        ),
        Table(
            "The best reading of bare words, with the model's weights and without weights",
            ("reading", "accuracy or gap", "value", "95% interval", "n"),
            [
                (said(m.by.get("reading")), quantity(m, "guide"), number(m.value), interval(m), counted(m))
                for m in _named(found, "weighted", "unweighted", "lasts")
            ],
        ),
        Table(
            "Accuracy on bare words with each kind of weights",
            ("guide", "weights", "accuracy", "95% interval", "F1", "n"),
            [
                (
                    BY.get(("guide", str(m.by.get("guide"))), quantity(m)),
                    WEIGHTS.get(str(m.by.get("weights")), said(m.by.get("weights"))),
                    number(m.value),
                    interval(m),
                    _same(found, "f1", m),
                    counted(m),
                )
                for m in _named(found, "accuracy", "base_accuracy", "prior")
            ],
        ),
    ]


def gauge_tables(result: CheckResult) -> list[Table]:
    """The distances of each twin's weights, contributions and answers."""
    columns = {
        "agreement": "same decision",
        "jsd": "JSD, weights",
        "jsd_contributions": "JSD, contributions",
        "tvd": "TVD",
        "tvd_tempered": "TVD, one temperature",
    }
    rows = []
    for twin in dict.fromkeys(str(m.by["twin"]) for m in result.measurements if "twin" in m.by):
        of_twin = {m.name: m for m in result.measurements if m.by.get("twin") == twin}
        cells = (_with_interval(of_twin[name]) if name in of_twin else NOTHING for name in columns)
        rows.append((said(twin), *cells, counted(next(iter(of_twin.values())))))
    title = "Each twin compared with the audited model: the same decisions, other weights, the same contributions"
    return [Table(title, ("twin", *columns.values(), "n"), rows)]


def _named(found: Sequence[Measurement], *names: str) -> list[Measurement]:
    """Measurements with these names, in this order."""
    return [m for name in names for m in found if m.name == name]


def _with_interval(m: Measurement) -> str:
    return with_seen_ends(m.name, m.value, m.low, m.high)


def _same(
    found: Sequence[Measurement],
    name: str,
    beside: Measurement,
    said_as: Callable[[Measurement], str] = _with_interval,
) -> str:
    """The number of this name with the same facts as another measurement."""
    one = next((m for m in found if m.name == name and m.by == beside.by and m.by), None)
    return NOTHING if one is None else said_as(one)


def _beside(found: Sequence[Measurement], name: str, key: str, m: Measurement) -> str:
    """The number of this name with the same value of a key."""
    one = next((other for other in found if other.name == name and other.by.get(key) == m.by.get(key)), None)
    return NOTHING if one is None else _with_interval(one)
