"""What a reader sees of the check `mixing`: how much each token takes from others, per layer."""

from collections.abc import Mapping

from heatcheck.report.figures.by_layer import LayerPanel, by_layer
from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import ATTENTION, BAR, FLOOR, HONEST, MECHANICAL, MOST, RIVAL, Figure, declare
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import shown

_LOOKS = (
    Style(ATTENTION),
    *(Style(RIVAL, (9, 3)), Style(MECHANICAL, (3, 2)), Style(MOST, (9, 3, 2, 3)), Style(FLOOR, (2, 4))),
    *(Style(HONEST, (12, 4)), Style(BAR, (5, 2, 1, 2))),
)


def _lines(result: CheckResult) -> dict[str, list[Measurement]]:
    """The share from other tokens at each layer, by variant."""
    found: dict[str, list[Measurement]] = {}
    for m in result.measurements:
        if m.name == "mixing" and m.by["layer"] != "all":
            found.setdefault(str(m.by["variant"]), []).append(m)
    return found


def mixing_tables(result: CheckResult) -> list[Table]:
    """One table per quantity: a row per layer, a column per variant."""
    titles = {"mixing": "Share that comes from other tokens, by layer", "special": "Share that special tokens get"}
    return [
        pivot(title, "layer", [(str(m.by["layer"]), str(m.by["variant"]), shown(m))
                               for m in result.measurements if m.name == name])
        for name, title in titles.items()
    ]  # fmt: skip


def mixing_by_layer(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """A line per variant over the layers."""
    lines = _lines(result)
    if not lines or len(lines) > len(_LOOKS):
        return None
    styles = dict(zip(lines, _LOOKS, strict=False))
    chart = by_layer([LayerPanel("", lines, {})], styles, axis="share from other tokens", full=(0.0, 1.0))
    caption = (
        "Low lines mean that a token mostly keeps itself, whatever its attention weights say. The weights "
        "alone (Attn-W) "
        "count neither the length of what is read nor the path around the attention; the other lines add these in turn."
    )
    return declare("mixing-by-layer", result.check, caption, chart)


_QUANTITIES = (
    Quantity(
        "mixing",
        "share of a token's new vector that comes from other tokens",
        high="Other tokens make up most of a token's new vector.",
        low="The token itself makes up most of its new vector.",
        unit="share",
    ),
    Quantity(
        "special",
        "share that special tokens get",
        high="Special tokens get most of the weight, or of what attention adds.",
        low="Special tokens get little of the weight, or of what attention adds.",
        unit="share",
    ),
)

VIEW = CheckView(
    "How much each token takes from others",
    place=180,
    tables=mixing_tables,
    figures=(mixing_by_layer,),
    quantities=_QUANTITIES,
)
