"""The figures of a study of flips: one panel per task and kind of model, all on the same axes."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.multiples import grid
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.figures.survival import box, box_layers, curve, curve_layer, looks, survival
from heatcheck.report.study_flips import RANKINGS
from heatcheck.report.study_wording import model_name
from heatcheck.results import Model

CURVES = ("attention", "gradient x attention", "gradient x attention (signed)", "random")
STEPS = 50  # of a small curve
_NOTHING = dict.fromkeys(("x", "y", "low", "q1", "median", "q3", "high"))
PANEL = 98  # wide: six kinds of models beside each other in the page's column


def flip_curves(models: Sequence[Model]) -> Figure | None:
    """How many decisions have not flipped as weights are removed, with the texts of all seeds."""
    rows = [
        {**row, **_place(model)}
        for model in models
        for name in CURVES
        if f"fraction:{name}" in model.examples
        for row in curve(name, survival(model.examples[f"fraction:{name}"], STEPS))
    ]
    if not rows:
        return None
    drawn = _grid({"curves": curve_layer(looks(CURVES), unit="share", small=True)}, rows, models, height=86)
    caption = (
        "How many decisions have not flipped after a share of the words (FLAN) or sentences (HAN) has lost its weight, "
        "by ranking. The curves include the texts of all seeds, also those that never flip. The gap between the solid "
        "and the dashed line of gradient × attention is the value of the sign. No attention heatmap shows a sign."
    )
    return declare("flips-survival", "flips", caption, drawn)


def flip_boxes(models: Sequence[Model]) -> Figure | None:
    """The share of weights removed at the flip (the paper's boxplots), with and without the sign."""
    rows = [
        {**row, **_place(model)}
        for model in models
        for name in RANKINGS
        if f"fraction:{name}" in model.examples
        for row in box(name, model.examples[f"fraction:{name}"])
    ]
    if not rows:
        return None
    drawn = _grid(box_layers(looks(RANKINGS), unit="share", small=True), rows, models, height=96)
    caption = (
        "The paper’s boxplots: the share of words (FLAN) or sentences (HAN) removed at the flip. Each box covers the "
        "texts that flip under its ranking: the middle half, the median, and lines to the middle 90%. The paper’s "
        "gradients are the signed ones. The table and the curves show how many texts never flip."
    )
    return declare("flips-fractions", "flips", caption, drawn)


def _place(model: Model) -> dict[str, str]:
    return {"row": model.task, "column": model_name(model.encoder, model.attention)}


def _grid(layers: Mapping[str, Any], rows: Rows, models: Sequence[Model], *, height: int) -> Any:
    """A grid with one row per task and one column per kind of model."""
    places = [(place["row"], place["column"]) for place in map(_place, models)]
    return grid([*layers.values()], rows, places, {**rows[0], **_NOTHING}, width=PANEL, height=height)
