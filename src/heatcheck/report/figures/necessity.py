"""Accuracies of the model with replaced weights, and of models retrained without learned attention."""

from collections.abc import Mapping

from heatcheck.report.figures.accuracies import panel, rows_of, span_of
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import FLOOR, WIDTH, Figure, altair, declare
from heatcheck.results import CheckResult
from heatcheck.results.written import number

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
        "Accuracy with its 95% interval. A loss with replaced weights shows that this model uses its weights. Only "
        "retrained models (or closed forms) show whether the task needs learned ones. "
        f"The majority class has an accuracy of {number(prior)}."
    )
    return declare("necessity-accuracies", result.check, caption, altair().vconcat(*drawn, spacing=16))


def _counted(rows: list[dict[str, object]], fit: str) -> str:
    counts = "–".join(dict.fromkeys(f"{row['n']:,}" for row in rows))
    return f"({counts} {'seeds' if fit == 'retrained' else 'texts'})"
