"""The figures of a study with retrained models: how much seeds differ, and how much an adversary can differ."""

import math
from collections.abc import Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.report.figures.distribution import violins
from heatcheck.report.figures.figure import Figure, altair, declare
from heatcheck.report.figures.frontier import PUBLISHED, kinds_in, panel, starts_in, top_of
from heatcheck.report.figures.jsd_scatter import SPAN, scatter
from heatcheck.report.figures.parts import parts_of
from heatcheck.results import Model, StudyResult, key

_WIDTH = 310  # two panels beside each other


def seed_violins(models: Sequence[Model]) -> Figure | None:
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
        for model in models
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


def seed_scatters(models: Sequence[Model]) -> Figure | None:
    """Whether texts with different weights are those with different answers."""
    panels = [
        scatter(model.examples["jsd"][here], model.examples["tvd"][here], _title(model, "", int(here.sum())), _WIDTH)
        for model in models
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


def frontiers(found: StudyResult, models: Sequence[Model]) -> Figure | None:
    """The TVD–JSD frontier of each task (the paper's Figure 5), with the adversary of Table 4."""
    drawn = [model for model in models if kinds_in(model.points)]
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
