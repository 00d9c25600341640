"""The figures of a study of flips: a panel a task and kind of model, all on the same axes."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.flips import box, box_layers, curve, curve_layer, looks, survival
from heatcheck.report.figures.multiples import grid
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_flips import RANKINGS
from heatcheck.report.study_wording import model_name
from heatcheck.results import Model

CURVES = ("attention", "gradient x attention", "gradient x attention (signed)", "random")
STEPS = 50  # of a curve a thumb high
_NOTHING = dict.fromkeys(("x", "y", "low", "q1", "median", "q3", "high"))
PANEL = 98  # wide: six kinds of models beside each other in the page's column


def flip_curves(models: Sequence[Model]) -> Figure | None:
    """How many decisions still stand as weights go, the texts of all seeds together."""
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
        "How many decisions still stand after a share of the words (FLAN) or sentences (HAN) has lost its weight, by "
        "ranking; texts of all seeds, those that never flip included. What lies between the solid and the dashed line "
        "of gradient × attention is what the sign is worth, which no heatmap has."
    )
    return declare("flips-survival", "flips", caption, drawn)


def flip_boxes(models: Sequence[Model]) -> Figure | None:
    """How many weights had to go (the paper's boxplots), with and without the sign."""
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
        "The paper’s boxplots: the share of words (FLAN) or sentences (HAN) removed at the flip, over the texts that "
        "flip under each ranking: the middle half, the median, and lines to the middle 90%. The paper’s gradients are "
        "the signed ones. Each box is over its own texts; how many never flip is in the table and in the curves."
    )
    return declare("flips-fractions", "flips", caption, drawn)


def _place(model: Model) -> dict[str, str]:
    return {"row": model.task, "column": model_name(model.encoder, model.attention)}


def _grid(layers: Mapping[str, Any], rows: Rows, models: Sequence[Model], *, height: int) -> Any:
    """Tasks below each other, kinds of models beside each other, in the order of the models."""
    places = [(place["row"], place["column"]) for place in map(_place, models)]
    return grid([*layers.values()], rows, places, {**rows[0], **_NOTHING}, width=PANEL, height=height)
