"""Page and figures for Wiegreffe & Pinter 2019: no attention, other seeds, adversaries, models guided by weights."""

import math
from collections.abc import Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.report.figures.distribution import violins
from heatcheck.report.figures.figure import Figure, altair, declare
from heatcheck.report.figures.frontier import PUBLISHED, kinds_in, panel, starts_in, top_of
from heatcheck.report.figures.jsd_scatter import SPAN, scatter
from heatcheck.report.figures.parts import parts_of
from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_quantities import FAR, RIGHT, study_quantity
from heatcheck.report.study_view import OUR_NUMBER, STATEMENT, Chapter, StudyView
from heatcheck.report.study_wording import models_in_order
from heatcheck.results import Model, Row, StudyResult, key

_WIDTH = 310  # two panels beside each other
_WEIGHTS = {"learned": "learned weights", "uniform": "uniform weights", "last": "last state only"}
_GUIDES = {"uniform": "uniform", "learned": "learned", "base": "the base model’s", "adversary": "an adversary’s"}
_BEST = {"lambda": "λ", "f1": "F1", "tvd": "TVD", "tvd_tempered": "TVD after one temperature", "jsd": "JSD"}
STRENGTH = key("best", of="lambda")  # chosen, not measured

NECESSITY = in_columns(
    Columns("Table 2: F1 with learned attention and without", {f"f1:{w}": words for w, words in _WEIGHTS.items()}),
    Columns(
        "Accuracy, and N: the share of the gain over the majority class that is lost without learned attention",
        {"prior": "majority class"}
        | {f"accuracy:{w}": words for w, words in _WEIGHTS.items()}
        | {"N:retrained": "N, retrained"},
    ),
    Columns(
        "Does the base model use its weights? Accuracy with other weights imposed, and N",
        {
            "swapped:own": "its own",
            "swapped:uniform": "uniform",
            "swapped:permuted": "shuffled",
            "swapped:random": "random",
            "N:swap": "N, uniform weights imposed",
        },
    ),
)
SEEDS = in_columns(
    Columns(
        "The base model and its other seeds",
        {"jsd:seeds": "JSD of the weights", "tvd:seeds": "TVD of the answers", "agreement:seeds": "same decision"},
    ),
    Columns(
        "All pairs of seeds",
        {"jsd:pairs": "JSD of the weights", "tvd:pairs": "TVD of the answers", "agreement:pairs": "same decision"},
    ),
)
ADVERSARIES = in_columns(
    Columns(
        "Table 4: the adversary with the best F1 among those with a mean JSD above 0.4 (λ in the published unit)",
        {"best:lambda": "λ", "best:f1": "F1", "best:tvd": "TVD", "best:jsd": "JSD"},
    ),
    Columns(
        "How different the weights of a model can be that answers as closely as an honest seed (JSD in nats)",
        {
            "J_seed": "honest seeds",
            "J_star": "the farthest, J*",
            "J_excess": "difference of the two",
            "reach": "JSD at the seeds’ TVD",
            "jsd:imitator": "an imitator (λ = 0)",
        },
    ),
    Columns(
        "How close the answers are (TVD after fitting one temperature; 0 means the same probabilities)",
        {
            "tvd_tempered:imitator": "an imitator (λ = 0)",
            "tvd_tempered:pairs": "two honest seeds",
            "best:tvd_tempered": "the adversary of Table 4",
            "cost": "J* minus the imitator",
        },
    ),
    chosen={STRENGTH},
)
GUIDES = in_columns(
    Columns(
        "Table 3: F1 of a model without context under another model’s weights",
        {f"guide_f1:{weights}": words for weights, words in _GUIDES.items()},
    ),
    Columns(
        "Accuracy of the log-odds guide, which is not trained, and G, the share of the headroom that it gains",
        {
            "log_odds_guide:own": "the base model’s weights",
            "log_odds_guide:uniform": "uniform weights",
            "swapped:own": "the base model itself",
            "G:log_odds": "G, log-odds guide",
            "G:refitted": "G, retrained guide",
        },
    ),
)


def seed_violins(found: StudyResult) -> Figure | None:
    """How much the weights of other seeds differ, by how peaked they are (the paper's Figure 3)."""
    panels = [
        violins(
            model.examples["jsd"][here],
            model.examples["max_attention"][here],
            {},
            {},
            span=SPAN,
            title=_title(model, label, int(here.sum())),
            axis="median JSD from the other seeds (nats)",
            height=200,
            width=_WIDTH,
        )
        for model in models_in_order(found)
        if {"jsd", "max_attention"} <= model.examples.keys()
        for label, here in _known(model, "jsd", "max_attention")
    ]
    if not panels:
        return None
    caption = (
        "Figure 3: how much the weights of each text differ from those of the same recipe with other seeds (median "
        "over seeds), by predicted class. Texts with flat weights are at the bottom, texts with one heavy word at the "
        "top. Lines are quartiles; short strokes are single texts where there are few. This is the baseline for "
        "adversaries."
    )
    return declare("seeds-by-largest-weight", "seed_variance", caption, _in_pairs(panels))


def seed_scatters(found: StudyResult) -> Figure | None:
    """Whether texts with different weights are those with different answers."""
    panels = [
        scatter(model.examples["jsd"][here], model.examples["tvd"][here], _title(model, "", int(here.sum())), _WIDTH)
        for model in models_in_order(found)
        if {"jsd", "tvd"} <= model.examples.keys()
        for here in [np.isfinite(model.examples["jsd"]) & np.isfinite(model.examples["tvd"])]
        if here.any()
    ]
    if not panels:
        return None
    caption = (
        "Do the heatmaps of two seeds differ where their answers do? The larger a dot, the more texts are there. At "
        "the lower right are texts on which seeds agree in the answer and not in the heatmap."
    )
    return declare("seeds-jsd-and-change", "seed_variance", caption, _in_pairs(panels))


def frontiers(found: StudyResult) -> Figure | None:
    """The TVD–JSD frontier of each task (the paper's Figure 5), with the adversary of Table 4."""
    drawn = [model for model in models_in_order(found) if kinds_in(model.points)]
    if not drawn:
        return None
    every = [point for model in drawn for point in model.points]
    beside = {model.task: _published(found, model) for model in drawn}
    kinds = [*kinds_in(every), *([PUBLISHED] if any(beside.values()) else [])]
    top = top_of([point for point in every if math.isfinite(float(point.get("tvd", math.nan)))])
    panels = [
        panel(
            model.points,
            kinds,
            starts_in(every),
            published=beside[model.task],
            top=top,
            title=model.task,
            width=_WIDTH + 30,
            height=280,
            crowded=True,
        )
        for model in drawn
    ]
    caption = (
        "Figure 5: each mark is one model of the task. Further right, its weights differ more from the base model's; "
        "further up, its answers do. A line joins the adversaries in the order of λ (in our unit). The dashed lines "
        "are the means of the honest seeds. Right of the one and below the other, a model answers more like the base "
        "model than a seed does, with a more different heatmap."
    )
    if any(beside.values()):
        caption += (
            " The star is the published adversary of Table 4, from memory. If the released code logged its TVD, its "
            "true height is twice as large."
        )
    return declare("frontier", "adversarial_model", caption, _in_pairs(panels))


def _published(found: StudyResult, model: Model) -> Facts | None:
    """The point of the published adversary of Table 4, if both its numbers are known."""
    place = {row.key: row.paper for row in found.rows if row.task == model.task and row.paper is not None}
    named = found.tasks.get(model.task, {}).get("published")
    place |= {one.key: one.paper for one in found.published if one.task == named and one.paper is not None}
    at = {name: place[best] for name in ("jsd", "tvd") if (best := key("best", of=name)) in place}
    return at if len(at) == 2 else None


def _known(model: Model, *names: str) -> list[tuple[str, np.ndarray]]:
    known = np.logical_and.reduce([np.isfinite(model.examples[name]) for name in names])
    return [(label, here & known) for label, here in parts_of(model) if (here & known).any()]


def _title(model: Model, label: str, n: int) -> str:
    return f"{model.task}{f', predicted {label}' if label else ''}, n = {n:,}"


def _in_pairs(panels: Sequence[object]) -> object:
    return altair().concat(*panels, columns=2, spacing={"row": 18, "column": 60})


def row_name(row: Row, labels: Sequence[str]) -> str | None:
    """The name of a number of the best adversary."""
    return f"best adversary, {_BEST.get(str(row.by['of']), row.by['of'])}" if row.name == "best" else None


QUANTITIES = (
    study_quantity("f1", "F1, {}", *RIGHT),
    study_quantity(
        "prior", "accuracy of the majority-class baseline", "a model can gain little above it", "a model can gain much"
    ),
    study_quantity("swapped", "accuracy with other weights imposed", *RIGHT),
    study_quantity(
        "guide_f1", "F1 of a guide, {}", "the weights highlight words that tell the label", "they highlight other words"
    ),
    study_quantity(
        "guide_accuracy",
        "accuracy of a guide",
        "the weights highlight words that tell the label",
        "they highlight other words",
    ),
    study_quantity(
        "log_odds_guide",
        "accuracy of the log-odds guide",
        "the weights highlight words that tell the label",
        "they highlight other words",
    ),
    study_quantity(
        "G",
        "share of the headroom that a guide gains by the weights (G)",
        "the weights are a guide",
        "they are no guide",
    ),
    study_quantity("J_star", "largest JSD of a model that answers as closely as a seed does", *FAR, unit="nats"),
    study_quantity("J_seed", "JSD between honest seeds", *FAR, unit="nats"),
    study_quantity(
        "J_excess",
        "JSD of an adversary as close as a seed, minus JSD between seeds",
        "weights can be made to differ more than seeds do",
        "they differ no more than seeds do",
        unit="nats",
    ),
    study_quantity("reach", "JSD at the seeds’ TVD", *FAR, unit="nats"),
    study_quantity("tvd", "TVD of the answers", *FAR),
    study_quantity("tvd_tempered", "TVD of the answers after fitting one temperature", *FAR),
    study_quantity(
        "cost",
        "TVD of the farthest model minus that of an imitator",
        "other weights cost closeness",
        "they cost nothing",
    ),
    study_quantity("best", "best adversary, {}", "the value is larger", "the value is smaller"),
)
VIEW = StudyView(
    done=(
        (
            ("f1", "accuracy"),
            "heatcheck trained one base model per task. It retrained it with other seeds, with uniform weights, and "
            "with all the weight on the last state.",
        ),
        (
            ("J_seed", "best"),
            "For each λ, an adversary was trained to give the base model’s answers with other weights.",
        ),
        (
            ("guide_f1", "log_odds_guide"),
            "The weights of the base model and of an adversary were imposed on models without context.",
        ),
    ),
    unset={
        "strengths": "seven, plus the published one if there is one",
        "starts": "fresh, and for sst also from the base model",
    },
    retrained=("accuracy", "guide_accuracy"),
    about_published=(
        OUR_NUMBER,
        STATEMENT,
        (
            ("best",),
            "The best adversary is one model, chosen as in the paper: the best F1 on test among those with a mean JSD "
            "above 0.4. Its λ is in the published unit, half of ours. λ is chosen, not measured, so it is not "
            "compared.",
        ),
    ),
    kinds={
        "F1, attention learned or not": key("f1"),
        "F1 of a guide": key("guide_f1"),
        "best adversary": key("best"),
    },
    chosen=frozenset({STRENGTH}),
    row_name=row_name,
    chapters=(
        Chapter("necessity", (NECESSITY,)),
        Chapter("seed_variance", (SEEDS,), (seed_violins, seed_scatters)),
        Chapter("adversarial_model", (ADVERSARIES,), (frontiers,)),
        Chapter("guide", (GUIDES,)),
    ),
    shown={
        "f1:learned": "F1",
        "f1:uniform": "F1, trained with uniform weights",
        "guide_f1:uniform": "F1 of a guide with uniform weights",
        "guide_f1:learned": "F1 of a guide with its own weights",
        "guide_f1:base": "F1 of a guide with the model's weights",
        "guide_f1:adversary": "F1 of a guide with an adversary's weights",
        "best:lambda": "λ of the best far adversary",
        "best:f1": "its F1",
        "best:tvd": "its TVD to the model",
        "best:jsd": "its JSD to the model",
    },
    unpublished={
        "f1:last": "F1, trained with the last state only",
        "accuracy:learned": "accuracy",
        "accuracy:uniform": "accuracy, trained with uniform weights",
        "accuracy:last": "accuracy, trained with the last state only",
        "N:retrained": "share of the gain lost without learned attention (N)",
        "jsd:seeds": "JSD between seeds",
        "tvd:seeds": "TVD between seeds",
        "J_excess": "JSD of an adversary as close as a seed, minus JSD between seeds",
    },
    quantities=QUANTITIES,
)
