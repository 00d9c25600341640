"""What a reader sees of the check `layers`: weights, rollout and flow per layer, compared with other scores."""

from collections.abc import Mapping

from heatcheck.report.figures.by_layer import LayerPanel, by_layer
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, Figure, declare
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import shown

_TARGETS = {"blank_out": "effect of masking the word", "gradient": "gradient of the input"}
_METHODS = {
    "raw": ("weights of the layer", Style(ATTENTION)),
    "rollout": ("rollout", Style(RIVAL, (9, 3))),
    "flow": ("flow", Style(MECHANICAL, (3, 2))),
    "gradient": ("gradient", Style(MOST, (9, 3, 2, 3))),
    "random": ("random order", Style(FLOOR, (2, 4))),
}


def _of(result: CheckResult, target: str, method: str) -> list[Measurement]:
    return [
        m
        for m in result.measurements
        if m.name == "spearman" and (m.by.get("target"), m.by.get("method")) == (target, method)
    ]


def layers_tables(result: CheckResult) -> list[Table]:
    """One table per target: a row per layer, a column per method."""
    tables = []
    for target, words in _TARGETS.items():
        cells = [
            (str(m.by.get("layer", "no layer")), name, shown(m))
            for method, (name, _) in _METHODS.items()
            for m in _of(result, target, method)
        ]
        tables.append(pivot(f"Mean Spearman ρ with the {words}, by layer", "layer", cells))
    return tables


def rankings_by_layer(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """A line per method over the layers, one panel per target."""
    panels = []
    for target, words in _TARGETS.items():
        found = {name: _of(result, target, method) for method, (name, _) in _METHODS.items()}
        lines = {name: [m for m in of if "layer" in m.by] for name, of in found.items()}
        across = {name: m for name, of in found.items() for m in of if "layer" not in m.by}
        lines = {name: of for name, of in lines.items() if of}
        if lines:
            panels.append(LayerPanel(f"compared with the {words}", lines, across))
    if not panels:
        return None
    chart = by_layer(panels, dict(_METHODS.values()), axis="mean Spearman ρ", full=(-1.0, 1.0))
    caption = (
        "Higher lines rank the words more as the panel's title does; a line beside random order says nothing. The "
        "heatmap that most people draw is the last point of the weights. Bands are 95% intervals over texts."
    )
    return declare("layers-rankings", result.check, caption, chart)


_QUANTITIES = (
    Quantity(
        "spearman",
        "mean Spearman ρ",
        high="Both rankings order the words of a text almost alike; 1 is the same order.",
        low="Both rankings order the words in unrelated (0) or opposite (−1) ways.",
    ),
)

VIEW = CheckView(
    "Weights, rollout and flow per layer",
    place=170,
    tables=layers_tables,
    figures=(rankings_by_layer,),
    quantities=_QUANTITIES,
)
