"""Page and figures for Olsson et al. 2022: whether induction heads and in-context learning come at once."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_quantities import study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult
from heatcheck.results.written import NOTHING, number

KINDS = {
    "one_layer": "one layer",
    "two_layers": "two layers",
    "one_layer_smeared": "one layer, smeared keys",
    "two_layers_smeared": "two layers, smeared keys",
    "two_layers_spared": "two layers, no loss on repeats",
}
CURVES = {
    "prefix_matching": "prefix matching",
    "previous_token": "previous token, layer 1",
    "composition": "K-composition, times random",
    "in_context": "in-context score, nats",
    "loss": "loss, nats per token",
}
_POINTS = 80  # of a small curve

TABLES = in_columns(
    Columns(
        "Runs by the criterion, with the exact 95% interval; means over seeds with t intervals where there was a rise",
        {
            "phase_change": "phase change",
            "no_induction": "prefix matching never .2",
            "window": "length of the window (of the training)",
            "fall_inside": "fall of the in-context score inside it",
            "half_way": "its middle (step)",
        },
    ),
    Columns(
        "At the end of training, means over seeds with 95% t intervals",
        {
            "prefix_end": "prefix matching",
            "previous_end": "previous token, layer 1",
            "composition_end": "K-composition (times random)",
            "in_context_end": "in-context score (nats)",
            "loss_end": "loss (nats)",
            "prefix_end_less": "prefix matching less that of two_layers, seed by seed",
            "in_context_end_less": "in-context score less that of two_layers",
        },
    ),
)


def changes_in_short(rows: Sequence[Row]) -> str:
    """How many runs of each kind show a phase change, in one sentence."""
    told = [
        f"{KINDS.get(row.task, row.task)} {round(row.value * row.seeds)} of {row.seeds}"
        for row in rows
        if row.name == "phase_change"
    ]
    return f"Runs that show a phase change by the criterion: {'; '.join(told)}." if told else ""


def every_seed(found: StudyResult) -> list[Table]:
    """One row per run, whether or not it meets the criterion."""
    rows = [row for model in models_in_order(found) if "met" in model.examples for row in _seeds(model)]
    columns: tuple[str, ...] = (
        "runs",
        "seed",
        "phase change",
        "window (steps)",
        "of the training",
        "fall of the in-context score in it",
    )
    columns += ("prefix matching", "previous token", "in-context score", "best head")
    return [Table("Every run: the criterion, and where it ends", columns, rows)] if rows else []


def _seeds(model: Model) -> list[tuple[str, ...]]:
    of = model.examples

    def last(name: str, seed: int) -> str:
        return number(float(of[name][seed, -1]))

    rows = []
    for seed in range(model.seeds):
        window: tuple[str, ...] = (NOTHING, NOTHING, NOTHING)
        if of["risen"][seed]:
            fall = float(of["fall"][seed])
            shown = NOTHING if math.isnan(fall) else f"{fall:.0%}"
            window = (f"{of['begin'][seed]:,} to {of['end'][seed]:,}", f"{of['length'][seed]:.0%}", shown)
        layer, head = of["best"][seed]
        ends = (last(name, seed) for name in ("prefix_matching", "previous_token", "in_context"))
        met = "yes" if of["met"][seed] else "no"
        rows.append((KINDS.get(model.task, model.task), str(of["seed"][seed]), met, *window, *ends, f"{layer}.{head}"))
    return rows


def curves_by_kind(found: StudyResult) -> Figure | None:
    """Five numbers over training: one column per kind, one line per seed."""
    models = [model for model in models_in_order(found) if "prefix_matching" in model.examples]
    if not models:
        return None
    alt = altair()
    lines = []
    for name, title in CURVES.items():
        rows = [row for model in models for row in _lines(model, name)]
        if not rows:
            continue
        kinds = [KINDS.get(model.task, model.task) for model in models]
        width = (WIDTH - 90 - 14 * len(kinds)) // len(kinds)
        top = name == next(iter(CURVES))
        drawn = (
            alt.Chart(alt_data(rows))
            .mark_line(opacity=0.5, strokeWidth=1.2, color=ATTENTION)
            .encode(
                x=alt.X("step:Q", title=None).scale(nice=False).axis(tickCount=3, format="~s", labelFlush=True),
                y=alt.Y("value:Q", title=title).scale(zero=name != "loss"),
                detail=alt.Detail("seed:N"),
                tooltip=[alt.Tooltip("seed:N"), alt.Tooltip("step:Q", format=",d"), alt.Tooltip("value:Q")],
            )
            .properties(width=width, height=90)
            .facet(
                column=alt.Column("runs:N", title=None, sort=kinds).header(
                    labels=top, labelLimit=width, labelFontSize=11
                ),
                spacing=14,
            )
        )
        lines.append(drawn)
    caption = (
        "Over the steps of training, one line per seed. Columns are kinds of models. Prefix matching and the previous "
        "token are those of the head that has most of it at that step. K-composition is that of the pair of heads that "
        "is best at the end. The in-context score and the loss are on held-out texts; lower is better for both."
    )
    chart = alt.vconcat(*lines, spacing=10)
    return declare("phase-change", "phase_change", caption, chart)


def _lines(model: Model, name: str) -> Rows:
    steps, values = model.examples["steps"], model.examples[name]
    shown = np.unique(np.linspace(0, len(steps) - 1, min(_POINTS, len(steps))).astype(int))
    runs = KINDS.get(model.task, model.task)
    return [
        {
            "runs": runs,
            "seed": int(model.examples["seed"][at_seed]),
            "step": int(steps[at]),
            "value": round(float(of_seed[at]), 3),
        }
        for at_seed, of_seed in enumerate(values)
        for at in shown
        if np.isfinite(of_seed[at])
    ]


def texts_read(found: StudyResult) -> tuple[str, str, str] | None:
    """How many texts a run is trained on, for the header."""
    fresh: Any = found.settings.get("batch_size")
    return None if fresh is None else ("texts", f"{fresh:,} fresh ones per step", "made up, with repeated segments")


QUANTITIES = (
    study_quantity(
        "phase_change", "runs that show a phase change", "most runs show one", "few runs do", unit="share of runs"
    ),
    study_quantity(
        "no_induction",
        "runs whose prefix matching never reaches .2",
        "most runs have no induction head",
        "most runs have one at some step",
        unit="share of runs",
    ),
    study_quantity("window", "length of the window of the rise", "prefix matching rises slowly", "it rises at once"),
    study_quantity(
        "fall_inside",
        "fall of the in-context score inside the window",
        "the model learns to use its context as the heads form",
        "it learns that at other steps",
    ),
    study_quantity("half_way", "middle of the window", "the heads form late", "they form early", unit="steps"),
    study_quantity("prefix_end", "prefix matching", "some head attends to what followed before", "no head does"),
    study_quantity(
        "previous_end", "previous token, layer 1", "some head attends to the token before", "no head of layer 1 does"
    ),
    study_quantity(
        "composition_end",
        "K-composition, times random",
        "the best head reads its keys from the previous-token head",
        "it reads there no more than by chance, which is 1",
    ),
    study_quantity("in_context_end", "in-context score", "context helps little", "context helps much", unit="nats"),
    study_quantity("loss_end", "loss on held-out texts", "the models predict badly", "they predict well", unit="nats"),
    study_quantity(
        "prefix_end_less",
        "prefix matching less that of two_layers",
        "induction is stronger without loss on repeats",
        "it is weaker",
    ),
    study_quantity(
        "in_context_end_less",
        "in-context score less that of two_layers",
        "context helps less without loss on repeats",
        "it helps more",
        unit="nats",
    ),
)
VIEW = StudyView(
    done=(
        (
            (),
            "Runs that differ only in their seed were trained side by side on made-up texts in which segments come "
            "again. Their heads were scored before the first step and after every twentieth.",
        ),
    ),
    in_short=changes_in_short,
    texts=texts_read,
    chapters=(Chapter("phase_change", (TABLES, every_seed), (curves_by_kind,), title="A phase change"),),
    shown={},
    unpublished={
        "phase_change": "runs that show a phase change",
        "no_induction": "runs whose prefix matching never reaches .2",
        "window": "length of the window of the rise, of the training",
        "fall_inside": "fall of the in-context score inside it",
        "prefix_end": "prefix matching at the end",
        "in_context_end": "in-context score at the end, nats",
        "prefix_end_less": "prefix matching less that of two_layers",
    },
    quantities=QUANTITIES,
)
