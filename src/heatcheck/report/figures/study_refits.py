"""The figures of a study that fits models again: how far seeds differ, and how far a model can be made to differ."""

import math
from collections.abc import Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.report.figures.distribution import violins
from heatcheck.report.figures.figure import Figure, altair, declare
from heatcheck.report.figures.frontier import PUBLISHED, kinds_in, panel, starts_in, top_of
from heatcheck.report.figures.parts import parts_of
from heatcheck.report.figures.seed_variance import SPAN, scatter
from heatcheck.results import Model, StudyResult, key

_WIDTH = 310  # two panels beside each other


def seed_violins(models: Sequence[Model]) -> Figure | None:
    """How far the weights of other seeds are, by how peaked they were (the paper's Figure 3)."""
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
        "Figure 3: how far the weights of each text are from those of the same recipe with other seeds (median over "
        "seeds), by the class the base predicts, from texts with flat weights (bottom) to texts with one heavy word "
        "(top); lines are quartiles, short strokes single texts where there are few. What adversaries do is read "
        "against this."
    )
    return declare("seeds-by-largest-weight", "seed_variance", caption, _in_pairs(panels))


def seed_scatters(models: Sequence[Model]) -> Figure | None:
    """Whether the texts whose weights differ are those whose answers differ."""
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
        "Figure 5: each mark is a model of the task; to the right its weights differ more from the base's, upwards its "
        "answers do. Trained adversaries are joined in the order of λ (in our unit). The dashed lines are the mean of "
        "the honest seeds: right of the one and below the other a model answers more like the base than a seed does, "
        "with a more different heatmap."
    )
    if any(beside.values()):
        caption += (
            " The star is the published adversary of Table 4, from memory; if its TVD was logged by the released code, "
            "it stands at half its height."
        )
    return declare("frontier", "adversarial_model", caption, _in_pairs(panels))


def _published(found: StudyResult, model: Model) -> Facts | None:
    """Where the adversary of Table 4 stands, whether or not there is one like it here."""
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
