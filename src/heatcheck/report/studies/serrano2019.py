"""Page and figures for Serrano & Smith 2019: weights removed one by one until the decision flips."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.figures.multiples import grid
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.figures.survival import box, box_layers, curve, curve_layer, looks, ranking_name, survival
from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import model_name, models_in_order
from heatcheck.results import Model, Row, StudyResult

# Models are named for their shape; all have the same attention.
SHAPES = {
    "flan gru": "FLAN rnn",
    "flan conv": "FLAN conv",
    "flan none": "FLAN noenc",
    "han gru": "HAN rnn",
    "han conv": "HAN conv",
    "han none": "HAN noenc",
}
_PRODUCT, _SIGNED = "gradient x attention", "gradient x attention (signed)"
RANKINGS = ("attention", _PRODUCT, _SIGNED, "gradient", "gradient (signed)", "attention ascending", "random")

CURVES = ("attention", "gradient x attention", "gradient x attention (signed)", "random")
STEPS = 50  # of a small curve
_NOTHING = dict.fromkeys(("x", "y", "low", "q1", "median", "q3", "high"))
PANEL = 98  # wide: six kinds of models beside each other in the page's column

_DIFFERENCES = ("Δα 0.0–0.2", "Δα 0.2–0.4", "Δα 0.4–0.6", "Δα 0.6–0.8", "Δα 0.8–1.0")


def _by_ranking(prefix: str, rankings: Iterable[str] = RANKINGS) -> dict[str, str]:
    return {f"{prefix}:{name}": ranking_name(name) for name in rankings}


# The first table says what the study is about.
TABLES = in_columns(
    Columns(
        "How much of the lead of signed gradients over attention is the sign (share removed, never = 1)",
        {
            "sign_share:all": "share that is sign",
            "gap:all": "attention minus signed",
            **_by_ranking("censored", ("attention", _PRODUCT, _SIGNED, "random")),
        },
    ),
    Columns(
        "The same over the texts that flip under every ranking",
        {
            "common": "share of texts",
            "sign_share:common": "share that is sign",
            **_by_ranking("fraction:common"),
        },
    ),
    Columns(
        "Mean share removed, over the texts that flip under each ranking, as in the paper", _by_ranking("fraction:own")
    ),
    Columns("Median share removed, over the same texts", _by_ranking("median:own")),
    Columns("Share of texts that never flip", {"default": "decided as without any weight", **_by_ranking("never")}),
    Columns(
        "Which single removal flips the decision: the heaviest weight, or a random other",
        {
            "single:correct:both": "both",
            "single:correct:top only": "only the heaviest",
            "single:correct:random only": "only the random one",
            "single:correct:neither": "neither",
        },
    ),
    Columns(
        "The same with the published sampler",
        {
            "single:as published:both": "both",
            "single:as published:top only": "only the heaviest",
            "single:as published:random only": "only the random one",
            "single:as published:neither": "neither",
            "same_place": "the random one is the heaviest itself",
        },
    ),
    Columns(
        "How much more the output changes without the heaviest weight than without a random other (JSD, nats)",
        {
            "delta_js:correct": "all",
            **{f"delta_js:correct:{name}": name for name in _DIFFERENCES},
            "delta_js_negative:correct": "share of draws below 0",
        },
    ),
    Columns(
        "The models",
        {
            "texts measured": "texts measured",
            "tokens": "words or sentences per text",
            "accuracy": "accuracy",
            "commonest": "majority class",
            "evenness": "evenness",
        },
    ),
)


def flips_in_short(rows: Iterable[Row]) -> str:
    """How much of the published gap is the sign, as a sentence; "" if no model has such a lead."""
    rows = list(rows)
    shares = [row.value for row in rows if row.quantity == "sign_share:all"]
    kinds = sum(row.quantity == "gap:all" for row in rows)
    if not shares:
        return ""
    without = kinds - len(shares)
    mostly = "" if np.median(shares) > 0.5 else "not "
    return (
        f"Most of the lead of signed gradients over attention is {mostly}due to their sign. The sign makes up "
        f"{np.median(shares):.0%} of the lead of signed gradient × attention, in the median of {len(shares)} "
        f"kind{'s' * (len(shares) > 1)} of models ({min(shares):.0%} to {max(shares):.0%})"
        f"{f'; {without} more have no such lead' if without else ''}. An attention heatmap shows no sign."
    )


def flip_curves(found: StudyResult) -> Figure | None:
    """How many decisions have not flipped as weights are removed, with the texts of all seeds."""
    models = models_in_order(found)
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


def flip_boxes(found: StudyResult) -> Figure | None:
    """The share of weights removed at the flip (the paper's boxplots), with and without the sign."""
    models = models_in_order(found)
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


EARLY = ("the decision flips late: many weights must go", "the decision flips early: few weights decide")
HEAVIEST = ("the heaviest weight matters more than another", "another weight matters as much")
QUANTITIES = (
    study_quantity("fraction", "share removed at the flip", *EARLY),
    study_quantity("median", "median share removed at the flip", *EARLY),
    study_quantity("censored", "share removed until the flip, never = 1", *EARLY),
    study_quantity("never", "share of texts that never flip", *EARLY),
    study_quantity("survival", "share of decisions that have not flipped", *EARLY),
    study_quantity(
        "head_to_head", "share of texts where a ranking needs fewer or more removals", "most texts", "few texts"
    ),
    study_quantity(
        "gap", "lead of signed gradients over attention", "attention needs more removals", "attention does as well"
    ),
    study_quantity(
        "sign_share", "share of that lead due to the sign", "most of the lead is the sign", "little of it is the sign"
    ),
    study_quantity(
        "common", "share of texts that flip under every ranking", "rankings are compared on most texts", "on few texts"
    ),
    study_quantity(
        "default",
        "share decided as without any weight left",
        "many decisions depend on no word",
        "decisions depend on words",
    ),
    study_quantity("single", "share of texts where removing one weight has this outcome", "most texts", "few texts"),
    study_quantity(
        "same_place", "how often the random weight is the heaviest itself", "the published draw is no test", "it is one"
    ),
    study_quantity("pair", "share of texts where one of two weights has this outcome", "most texts", "few texts"),
    study_quantity(
        "pair_difference",
        "how much more often the first flips the decision",
        "the heavier one decides",
        "neither leads",
    ),
    study_quantity("tokens", "words or sentences per text", "texts are long", "texts are short"),
    study_quantity(
        "texts measured", "texts measured", "the numbers rest on many texts", "the numbers rest on few texts"
    ),
    study_quantity(
        "delta_js",
        "extra change of the output without the heaviest weight, compared with another",
        *HEAVIEST,
        format=".4f",
    ),
    study_quantity(
        "delta_js_negative",
        "share of draws in which the heaviest weight matters less",
        "another weight often matters more",
        "the heaviest matters most",
        unit="share of texts",
    ),
)
VIEW = StudyView(
    done=(
        (
            ("sign_share",),
            "heatcheck trained each model on its task. Then, in a sample of its test texts, it removed the weights one "
            "by one, in the order of each ranking, until the decision flipped. The hidden states stay the same.",
        ),
    ),
    in_short=flips_in_short,
    models=SHAPES,
    chapters=(Chapter("flips", (TABLES,), (flip_curves, flip_boxes)),),
    unpublished={
        "evenness": "evenness of the weights (1 is uniform)",
        "censored:attention": "share removed until the flip, by attention",
        "censored:gradient x attention": "the same by gradient × attention",
        "censored:gradient x attention (signed)": "the same by gradient × attention with its sign",
        "censored:random": "the same in random order",
        "sign_share:all": "share of the lead over attention that is due to the sign",
    },
    quantities=QUANTITIES,
)
