"""The accuracy of bare words with the weights, outside the model."""

from collections.abc import Mapping

from heatcheck.report.figures.accuracies import panel, rows_of
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import ATTENTION, FLOOR, WIDTH, Figure, altair, declare
from heatcheck.results import CheckResult
from heatcheck.results.written import number

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
        "Accuracy of models that see the words one by one, each with its weight. Weights on informative words beat "
        "uniform weights and come close to the audited model. If only the refitted guide gains, the weights encode "
        f"the label on words that do not carry it. {said[:1].upper()}{said[1:]}."
    )
    return declare("guide-accuracies", result.check, caption, altair().vconcat(*drawn, spacing=16))
