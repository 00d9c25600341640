"""Page and figures for Jain & Wallace 2019: agreement with other methods, shuffles, other weights, same answer."""

from collections.abc import Sequence

from heatcheck.report.studies.jain2019.figures import (
    jsd_histograms,
    jsd_violins,
    mean_differences,
    permutation_violins,
    tau_with_gradients,
    tau_with_leave_one_out,
)
from heatcheck.report.studies.jain2019.models_table import ABOUT, models_table, score_name
from heatcheck.report.study_quantities import ALIKE, RIGHT, study_quantity
from heatcheck.report.study_view import OUR_NUMBER, STATEMENT, Chapter, Rows, StudyView
from heatcheck.report.study_wording import method_of
from heatcheck.results import Model, Row, key

DONE = (
    (
        ("tau", "searched", "permutation"),
        "heatcheck trained each model on its task and audited it on a sample of its test texts, the same for all its "
        "seeds. The audit compares attention with gradients and leave-one-out, shuffles the weights, and finds the "
        "most different weights that keep the answer.",
    ),
)
ABOUT_PUBLISHED = (
    OUR_NUMBER,
    (("significant",), "“Significant τ” is the share of texts with p ≤ 0.05."),
    (
        ("permutation",),
        "“Change if shuffled” is the median change of the output. It is over the texts whose largest weight is in that "
        "quarter.",
    ),
    STATEMENT,
    (
        ("tau",),
        "The floor of a τ is mechanical: it is the τ that remains when the relevances are shuffled among the words. "
        "Only a model in which each word acts through its own state has one.",
    ),
    (
        ("searched",),
        "The floor of a JSD is the value that any model with a linear read-out reaches on these heatmaps. A published "
        "JSD is the result of a search, so it is compared with the result of the same search on our models.",
    ),
)
QUANTITIES = (
    study_quantity("score", "F1 or accuracy", *RIGHT),
    study_quantity("tau", "τ({})", *ALIKE),
    study_quantity(
        "significant", "significant τ({})", "τ is significant in most texts", "τ is significant in few texts"
    ),
    study_quantity(
        "top_k_overlap", "overlap of the top words", "both have the same top words", "their top words differ"
    ),
    study_quantity("tau_above_uniform", "τ over words with more than uniform weight", *ALIKE),
    study_quantity(
        "floor",
        "value that any model reaches",
        "a measured value near it says little",
        "a measured value far above it says much",
    ),
    study_quantity(
        "q",
        "share of shuffles that keep the answer",
        "it hardly matters which word has which weight",
        "it matters much",
    ),
    study_quantity(
        "flips", "share of shuffles with another answer", "it matters which word has which weight", "it hardly does"
    ),
    study_quantity("permutation", "change if shuffled", "it matters which word has which weight", "it hardly does"),
    study_quantity(
        "searched",
        "JSD that the search finds, ε = {}",
        "very different weights keep the answer",
        "only similar ones do",
    ),
    study_quantity("upper", "JSD at most", "very different weights may keep the answer", "only similar ones can"),
    study_quantity(
        "null", "JSD with the relevances shuffled", "the shape of the weights explains much", "it explains little"
    ),
    study_quantity(
        "U", "share of the possible JSD (U)", "the heatmap can be changed freely", "it is nearly determined"
    ),
    study_quantity(
        "K",
        "share of the best other method’s effect (K)",
        "highlighted words matter as the best do",
        "0: no more than random words",
    ),
    study_quantity(
        "room",
        "effect of the best other method beyond random words",
        "some words matter more than others",
        "no word does",
    ),
)


def row_name(row: Row, labels: Sequence[str]) -> str | None:
    """
    >>> numbers = (0.1, 0.0, 0.2, 3, None, None, "", "")
    >>> row_name(Row("sst", "lstm", "tanh", "permutation", {}, "1", "0.00–0.25", *numbers), ("bad", "good"))
    'change if shuffled, largest 0.00–0.25'
    """
    if row.name == "score":
        return score_name(labels)
    if row.name == "permutation":
        return f"change if shuffled{f', largest {row.bin}' if row.bin else ''}"
    return None


def floor_of(row: Row, model: Model, rows: Rows) -> Row | None:
    """The mechanical floor of a τ; the model-free floor of a JSD, where it holds."""
    if row.name == "tau":
        of = key("floor", pair=row.by["pair"])
    elif row.name == "searched" and method_of(model) == "exact":
        of = key("floor")
    else:
        return None
    return rows.get((row.task, row.encoder, row.attention, of, row.of_class, row.bin))


VIEW = StudyView(
    done=DONE,
    settings={"search": "published search"},
    about_published=ABOUT_PUBLISHED,
    kinds={
        "F1 or accuracy": key("score"),
        "τ(attention, gradient)": key("tau", pair=("attention", "gradient")),
        "τ(attention, leave one out)": key("tau", pair=("attention", "leave_one_out")),
        "share of texts with a significant τ": key("significant"),
        "median change if weights are shuffled": key("permutation"),
        "JSD that the search finds": key("searched"),
    },
    floor_of=floor_of,
    row_name=row_name,
    models_table=models_table,
    about_models=ABOUT,
    chapters=(
        Chapter("agreement", figures=(tau_with_gradients, tau_with_leave_one_out, mean_differences)),
        Chapter("permutation", figures=(permutation_violins,)),
        Chapter("counterfactual", figures=(jsd_histograms, jsd_violins)),
    ),
    shown={
        "score": "F1 or accuracy",
        "tau:attention|gradient": "τ(attention, gradient)",
        "tau:attention|leave_one_out": "τ(attention, leave-one-out)",
        "searched:0.05": "JSD that the search finds, ε = .05",
    },
    quantities=QUANTITIES,
)
