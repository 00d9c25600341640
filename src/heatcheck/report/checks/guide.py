"""What a reader sees of the check `guide`: how well bare words predict the label, with the weights and without."""

from collections.abc import Mapping

from heatcheck.report.cells import named, same, with_interval
from heatcheck.report.figures.accuracies import panel, rows_of
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import ATTENTION, FLOOR, WIDTH, Figure, altair, declare
from heatcheck.report.measurement_words import counted, grouping, quantity
from heatcheck.report.shared_words import WEIGHTS
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.report.wording import said
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number


def guide_tables(result: CheckResult) -> list[Table]:
    """The share of the gap that the weights close, and the accuracies behind it."""
    found = result.measurements
    return [
        Table(
            "G: the share of the gap that the weights close, from bare words without weights (0) to the model (1)",
            ("guide", "G", "95% interval", "gap", "n"),
            [
                (
                    grouping(m, result.check),
                    same(found, "G", m, lambda one: number(one.value)),
                    same(found, "G", m, interval),
                    with_interval(m),
                    counted(m),
                )
                for m in named(found, "headroom")
            ],
        ),
        Table(
            "Accuracy of the bare words above the majority class",
            ("guide", "accuracy above", "95% interval", "n"),
            [(grouping(m, result.check), number(m.value), interval(m), counted(m)) for m in named(found, "carries")],
        ),
        Table(
            "The best reading of bare words, with the model's weights and without weights",
            ("reading", "accuracy or gap", "value", "95% interval", "n"),
            [
                (said(m.by.get("reading")), quantity(m, "guide"), number(m.value), interval(m), counted(m))
                for m in named(found, "weighted", "unweighted", "lasts")
            ],
        ),
        Table(
            "Accuracy on bare words with each kind of weights",
            ("guide", "weights", "accuracy", "95% interval", "F1", "n"),
            [
                (
                    _KINDS.get(("guide", str(m.by.get("guide"))), quantity(m)),
                    WEIGHTS.get(str(m.by.get("weights")), said(m.by.get("weights"))),
                    number(m.value),
                    interval(m),
                    same(found, "f1", m),
                    counted(m),
                )
                for m in named(found, "accuracy", "base_accuracy", "prior")
            ],
        ),
    ]


_LINES = {
    "prior": ("majority class", Style(FLOOR, (6, 4))),
    "base_accuracy": ("audited model", Style(ATTENTION)),
}
_TITLES = {
    "log_odds": "log-odds guide (nothing is fitted)",
    "refitted": "refitted guide: a model without context, trained with these weights",
}


def guide_accuracies(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Bars from zero, one panel per guide."""
    panels = {
        guide: rows_of([m for m in result.measurements if m.name == "accuracy" and m.by.get("guide") == guide])
        for guide in _TITLES
    }
    panels = {guide: rows for guide, rows in panels.items() if rows}
    if not panels:
        return None
    beside = {m.name: m.value for m in result.measurements if m.name in _LINES}
    lines = {_LINES[name][0]: value for name, value in beside.items()}
    styles = {words: style for name, (words, style) in _LINES.items() if name in beside}
    last = list(panels)[-1]
    drawn = [
        panel(
            rows,
            lines,
            styles,
            span=(0.0, 1.0),
            title=f"{_TITLES[guide]} ({rows[0]['n']:,} {'seeds' if guide == 'refitted' else 'texts'})",
            axis="accuracy" if guide == last else None,
            width=WIDTH - 360,
            bars=True,
        )
        for guide, rows in panels.items()
    ]
    said = "; ".join(f"{words}: {number(at)}" for words, at in lines.items())
    caption = (
        "Weights on informative words reach further than uniform weights, and close to the audited model. Bars are the "
        "accuracy of models that see the words one by one, each with its weight. If only the refitted guide "
        "gains, the weights encode "
        f"the label on words that do not carry it. {said[:1].upper()}{said[1:]}."
    )
    return declare("guide-accuracies", result.check, caption, altair().vconcat(*drawn, spacing=16))


# Words for facts of measurements.
_KINDS = {
    ("guide", "log_odds"): "log-odds guide",
    ("guide", "refitted"): "refitted guide",
}

_QUANTITIES = (
    Quantity(
        "weighted",
        "accuracy of the best reading of the bare words with the weights",
        high="The words, read with the weights, predict most labels correctly.",
        low="The words, read with the weights, predict few labels correctly.",
        unit="share of texts",
    ),
    Quantity(
        "unweighted",
        "accuracy of the best reading of the bare words without weights",
        high="The words, read without weights, predict most labels correctly.",
        low="The words, read without weights, predict few labels correctly.",
        unit="share of texts",
    ),
    Quantity(
        "lasts",
        "estimated gap to the model if words were counted in unlimited training texts",
        high="With unlimited training texts, the model would still beat unweighted words.",
        low="With unlimited training texts, unweighted words would match the model.",
        unit="share of texts",
    ),
    Quantity(
        "G",
        "share of the gap between unweighted words and the model that the weights close (G)",
        high="The weights close most of the gap between unweighted words and the model.",
        low="The weights close little of the gap between unweighted words and the model.",
        unit="share",
    ),
    Quantity(
        "base_accuracy",
        "accuracy of the audited model",
        high="The audited model predicts most labels correctly; compare the majority class.",
        low="The audited model predicts few labels correctly; compare the majority class.",
        unit="share of texts",
    ),
    Quantity(
        "carries",
        "accuracy of the words alone above the majority-class baseline",
        high="The words alone predict the label far better than the majority class.",
        low="The words alone predict the label hardly better than the majority class.",
        unit="share of texts",
    ),
    Quantity(
        "headroom",
        "accuracy of the audited model minus that of the best reading without weights (the gap)",
        high="The model clearly beats the best reading without weights.",
        low="The model hardly beats the best reading without weights, so G says little.",
        unit="share of texts",
        check="guide",
    ),
)

VIEW = CheckView(
    "Using the weights outside the model",
    place=150,
    reading="heatcheck takes the weights out of the model and applies them to the bare words. In the log-odds guide, "
    "every word votes for the label it goes with in the training texts, in proportion to its weight. Nothing is fitted "
    "to the weights, so weights that merely encode the label gain nothing. The refitted guide trains a model without "
    "context under the weights. It can learn such a code, so it is shown only for comparison.",
    held="for the log-odds guide, the weights, words and labels; for the refitted guide, the training recipe",
    tables=guide_tables,
    figures=(guide_accuracies,),
    quantities=_QUANTITIES,
    kinds=_KINDS,
)
