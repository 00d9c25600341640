"""What a reader sees of the check `necessity`: accuracies with replaced weights, and without learned attention."""

import math
from collections.abc import Mapping, Sequence

from heatcheck.engine import Facts
from heatcheck.report.cells import beside, named, same
from heatcheck.report.compared_values import Compared
from heatcheck.report.figures.accuracies import panel, rows_of, span_of
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import FLOOR, WIDTH, Figure, altair, declare
from heatcheck.report.figures.several_models import dots, row_of
from heatcheck.report.measurement_words import counted, grouping
from heatcheck.report.shared_words import WEIGHTS
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView, Results
from heatcheck.report.wording import said
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import NOTHING, interval, number


def necessity_tables(result: CheckResult) -> list[Table]:
    """The losses without learned attention, and the accuracies behind them."""
    found = result.measurements
    largest = {str(m.by): number(m.value) for m in found if m.name == "most_change"}
    return [
        Table(
            "N: the share of the gain over the majority class that is lost without learned attention",
            ("without attention", "N", "95% interval", "accuracy above the majority class", "n"),
            [
                (
                    grouping(m, result.check),
                    number(m.value),
                    interval(m),
                    beside(found, "headroom", "against", m),
                    counted(m),
                )
                for m in named(found, "N")
            ],
        ),
        Table(
            "Accuracy lost without learned attention, in pairs of the same seed",
            ("retrained models", "accuracy lost", "95% interval", "as a share of all accuracy", "n"),
            [
                (grouping(m, result.check), number(m.value), interval(m), beside(found, "index", "free", m), counted(m))
                for m in named(found, "difference")
            ],
        ),
        Table(
            "Accuracy with each kind of weights",
            ("weights", "how", "accuracy", "95% interval", "F1", "n"),
            [
                (
                    WEIGHTS.get(str(m.by["weights"]), said(m.by["weights"])) if m.by else "majority class",
                    _KINDS.get(("fit", str(m.by.get("fit"))), NOTHING),
                    number(m.value),
                    interval(m),
                    same(found, "f1", m),
                    counted(m),
                )
                for m in named(found, "accuracy", "prior")
            ],
        ),
        Table(
            "Change of this model's probabilities under replaced weights (standardised logits)",
            ("replaced weights", "mean change", "95% interval", "largest change", "n"),
            [
                (
                    grouping(m, result.check),
                    number(m.value),
                    interval(m),
                    largest.get(str(m.by), NOTHING),
                    counted(m),
                )
                for m in named(found, "change")
            ],
        ),
        Table(
            "How evenly this model spreads its weights; shuffling uniform weights (1) changes nothing",
            ("entropy relative to uniform weights", "95% interval", "n", "texts with one token, left out"),
            [
                (number(m.value), interval(m), counted(m), str(m.by.get("undefined", 0)))
                for m in named(found, "evenness")
            ],
        ),
    ]


_PRIOR = "majority class"
_TITLES = {
    "swapped": "this model with replaced weights: does it use its own?",
    "retrained": "retrained models: does the task need learned weights?",
    "closed form": "the best model, in closed form: does the task need learned weights?",
}


def accuracies(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Accuracy with each kind of weights, one panel for replaced weights and one for retrained models."""
    panels = {
        fit: rows_of([m for m in result.measurements if m.name == "accuracy" and m.by.get("fit") == fit])
        for fit in _TITLES
    }
    panels = {fit: rows for fit, rows in panels.items() if rows}
    if not panels:
        return None
    prior = next((m.value for m in result.measurements if m.name == "prior"), float("nan"))
    every = [row for rows in panels.values() for row in rows]
    last = list(panels)[-1]
    drawn = [
        panel(
            rows,
            {_PRIOR: prior},
            {_PRIOR: Style(FLOOR, (6, 4))},
            span=span_of(every, {_PRIOR: prior}),
            title=f"{_TITLES[fit]} {_counted(rows, fit)}",
            axis="accuracy" if fit == last else None,
            width=WIDTH - 360,
        )
        for fit, rows in panels.items()
    ]
    caption = (
        "If a row is as far right as the first, the model does as well without its own weights. Accuracies have 95% "
        "intervals. A loss with replaced weights shows that this model uses its weights. Only "
        "retrained models (or closed forms) show whether the task needs learned ones. "
        f"The majority class has an accuracy of {number(prior)}."
    )
    return declare("necessity-accuracies", result.check, caption, altair().vconcat(*drawn, spacing=16))


def _counted(rows: list[dict[str, object]], fit: str) -> str:
    counts = "–".join(dict.fromkeys(f"{row['n']:,}" for row in rows))
    return f"({counts} {'seeds' if fit == 'retrained' else 'texts'})"


def compared_losses(results: Results, names: Sequence[str]) -> Figure | None:
    """N, however it was measured."""
    rows = [
        row_of(
            model, m, grouping(m, result.check) or "all", "share of the gain over the majority class that is lost (N)"
        )
        for model, result in results.items()
        for m in result.measurements
        if m.name == "N" and math.isfinite(m.value)
    ]
    caption = (
        "The share of its gain over the majority class that each model loses without learned attention. 0 means "
        "nothing, 1 all of it; bars are intervals. Above 0.10 the card says that learned attention is needed, unless "
        "its settings say otherwise."
    )
    return dots(rows, names, "compare-necessity", "necessity", caption, "N")


# Models are compared with these weights: the kind of fit, and its weights.
_COMPARED = {
    ("swapped", "own"): "its own",
    ("swapped", "uniform"): "uniform",
    (None, "uniform"): "uniform",
    (None, "permuted"): "shuffled",
}


def _replaced(by: Facts) -> str | None:
    """Words for the weights that replace the model's own; None if models are not compared with them."""
    return _COMPARED.get((by.get("fit"), by["weights"]))


# Words for facts of measurements.
_KINDS = {
    ("fit", "swapped"): "imposed on this model",
    ("fit", "retrained"): "retrained models",
    ("fit", "closed form"): "in closed form",
    ("against", "swap"): "this model with uniform weights",
    ("against", "swap everywhere"): "this model with uniform weights at every attention site",
    ("against", "retrained"): "retrained models",
    ("against", "closed form"): "the best model without attention, in closed form",
    ("free", "uniform"): "with uniform weights",
    ("free", "first"): "with all weight on the first state",
    ("free", "last"): "with all weight on the last state",
    ("free", "permuted"): "with shuffled weights",
    ("free", "random"): "with random weights",
}

_QUANTITIES = (
    Quantity(
        "accuracy",
        "accuracy",
        high="The model predicts most labels correctly; compare the majority class.",
        low="The model predicts few labels correctly; compare the majority class.",
        unit="share of texts",
    ),
    Quantity(
        "f1",
        "F1",
        high="The model rarely misses the label and rarely predicts it wrongly.",
        low="The model often misses the label or predicts it wrongly.",
    ),
    Quantity(
        "prior",
        "accuracy of the majority-class baseline",
        high="The majority class alone already gives high accuracy.",
        low="The majority class alone gives low accuracy.",
        unit="share of texts",
    ),
    Quantity(
        "change",
        "mean change of the probability",
        high="The replaced weights move the probabilities a lot.",
        low="The replaced weights hardly move the probabilities.",
        unit="probability",
    ),
    Quantity(
        "most_change",
        "largest change of a probability, over all texts",
        high="The replaced weights move at least one probability a lot.",
        low="The replaced weights hardly move any probability.",
        unit="probability",
    ),
    Quantity(
        "N",
        "share of the gain over the majority class lost without learned attention (N)",
        high="Accuracy without learned attention falls towards that of the majority class.",
        low="Accuracy without learned attention stays nearly as high.",
        unit="share",
    ),
    Quantity(
        "headroom",
        "accuracy above the majority-class baseline",
        high="The model clearly beats the majority class.",
        low="The model hardly beats the majority class, so N says little.",
        unit="share of texts",
    ),
    Quantity(
        "difference",
        "accuracy lost without learned attention",
        high="Models without learned attention are less accurate.",
        low="Models without learned attention are as accurate, or more so.",
        unit="share of texts",
        counts="seeds",
    ),
    Quantity(
        "index",
        "share of all accuracy lost without learned attention",
        high="Models without learned attention lose much of the accuracy.",
        low="Models without learned attention lose little of the accuracy.",
        unit="share",
    ),
    Quantity(
        "fit_accuracy",
        "accuracy of one model",
        high="This model predicts most labels correctly; compare the majority class.",
        low="This model predicts few labels correctly; compare the majority class.",
        unit="share of texts",
    ),
)

VIEW = CheckView(
    "Doing without learned attention",
    place=100,
    reading="There are two different questions here. Replacing the weights in this model shows whether this model "
    "uses them. Retraining models without learned attention shows whether models of this kind need it, for this task "
    "and training budget. A model can use its weights although the task needs none.",
    held="with replaced weights, everything but the weights; with retrained models, the training recipe",
    tables=necessity_tables,
    figures=(accuracies,),
    quantities=_QUANTITIES,
    kinds=_KINDS,
    compared=(
        Compared("accuracy", "accuracy on all texts of the split with {} weights", _replaced),
        Compared("change", "change of the probability when {} weights are imposed", _replaced),
    ),
    comparison_figures=(compared_losses,),
)
