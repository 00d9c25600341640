"""How well the model does with other weights, and other fits of it without learned attention."""

from collections.abc import Mapping

from heatcheck.report.figures.accuracies import panel, rows_of, span_of
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import FLOOR, WIDTH, Figure, altair, declare
from heatcheck.results import CheckResult
from heatcheck.results.written import number

_PRIOR = "always the commonest label"
_TITLES = {
    "swapped": "this model, other weights put in: does it use them?",
    "retrained": "trained again: does the task need them?",
    "closed form": "the best there is, in closed form: does the task need them?",
}


def accuracies(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Accuracy under each kind of weights, a panel a way of putting them in."""
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
        "Accuracy with its 95% interval. In this very model a loss under other weights says that it uses its weights; "
        "only models trained again (or known in closed form) say whether the task needs learned ones. "
        f"Always saying the commonest label gives {number(prior)}."
    )
    return declare("necessity-accuracies", result.check, caption, altair().vconcat(*drawn, spacing=16))


def _counted(rows: list[dict[str, object]], fit: str) -> str:
    counts = "–".join(dict.fromkeys(f"{row['n']:,}" for row in rows))
    return f"({counts} {'seeds' if fit == 'retrained' else 'texts'})"
