"""The figures of Jain & Wallace's paper, for every task and every model, as small multiples."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.report.figures.distribution import MEAN, Style
from heatcheck.report.figures.figure import FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.multiples import Panel, ViolinPanel, histograms, violins
from heatcheck.report.figures.parts import parts_of
from heatcheck.report.figures.shapes import mean_of
from heatcheck.report.study_wording import ATTENTIONS, ENCODERS, method_of, model_name, models_in_order
from heatcheck.report.wording import spaced
from heatcheck.results import Model, StudyResult

PANEL = 94  # wide: six models beside each other in the page's column
MECHANICAL_FLOOR, NULL, SEARCHED = (
    "mechanical floor",
    "null: relevances shuffled",
    "mean that the published search finds",
)
MODEL_FREE = "floor: any linear read-out reaches it"
_TAU = {"mean": MEAN, MECHANICAL_FLOOR: Style(MECHANICAL, (2, 2))}
_JSD = {
    "mean": MEAN,
    MODEL_FREE: Style(FLOOR, (6, 4)),
    NULL: Style(MECHANICAL, (2, 2)),
    SEARCHED: Style(MOST, (10, 3, 2, 3)),
}
_DIFFERENCES = {
    "difference:gradient|leave_one_out-attention|leave_one_out": "minus τ(attention, leave one out)",
    "difference:gradient|leave_one_out-attention|gradient": "minus τ(attention, gradient)",
}


def tau_with_gradients(found: StudyResult) -> Figure | None:
    """How similarly attention and gradients rank the words of each text (the paper's Figure 2)."""
    return _tau_histograms(models_in_order(found), "gradient")


def tau_with_leave_one_out(found: StudyResult) -> Figure | None:
    """The same for leave-one-out."""
    return _tau_histograms(models_in_order(found), "leave_one_out")


def _tau_histograms(models: Sequence[Model], rival: str) -> Figure | None:
    panels = [
        Panel(row, column, values[here], {"mean": mean_of(values[here]), MECHANICAL_FLOOR: mean_of(floor[here])})
        for row, column, here, values, model in _panels(models, f"tau:attention|{rival}")
        for floor in [model.examples.get(f"floor:attention|{rival}", np.full(len(values), np.nan))]
    ]
    if not panels:
        return None
    chart = histograms(panels, _TAU, span=(-1.0, 1.0), bins=20, axis="Kendall τ", width=PANEL)
    number_of = "Figure 2" if rival == "gradient" else "Figure 2 for leave-one-out"
    caption = (
        f"{number_of}: how similarly attention and {spaced(rival)} rank the words of each text, by predicted class; 1 "
        f"is the same order, 0 no relation. Bars are shares of the texts. {_about_floors(panels, rival)}"
    )
    return declare(f"tau-attention-{rival.replace('_', '-')}", "agreement", caption, chart)


def mean_differences(found: StudyResult) -> Figure | None:
    """How much better the other methods agree with each other than attention with either (Figures 3 and 4)."""
    alt = altair()
    names = {(m.task, m.encoder, m.attention): model_name(m.encoder, m.attention) for m in models_in_order(found)}
    rows = [
        {
            "task": row.task,
            "model": names[row.task, row.encoder, row.attention],
            "encoder": ENCODERS.get(row.encoder, row.encoder),
            "attention": ATTENTIONS.get(row.attention, row.attention),
            "difference": _DIFFERENCES[row.quantity],
            "mean": round(row.value, 4),
            "low": round(row.low, 4) if np.isfinite(row.low) else round(row.value, 4),
            "high": round(row.high, 4) if np.isfinite(row.high) else round(row.value, 4),
            "seeds": row.seeds,
        }
        for row in found.rows
        if row.quantity in _DIFFERENCES and not row.of_class and not row.bin
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(names.values()))
    tasks = [task for task in found.tasks if any(row["task"] == task for row in rows)]
    y = alt.Y("task:N", title=None, sort=tasks).axis(grid=True, tickBand="extent", labelLimit=140)
    offset = alt.YOffset("model:N", sort=order)
    encoders = [name for name in ENCODERS.values() if any(row["encoder"] == name for row in rows)]
    attentions = [name for name in ATTENTIONS.values() if any(row["attention"] == name for row in rows)]
    colour = (
        alt.Color("encoder:N", title="encoder")
        .scale(domain=encoders, range=[FLOOR, MOST, RIVAL][: len(encoders)])
        .legend(orient="top")
    )
    shape = (
        alt.Shape("attention:N", title="attention")
        .scale(domain=attentions, range=["circle", "diamond"][: len(attentions)])
        .legend(orient="top", symbolFillColor=FLOOR, symbolStrokeColor=FLOOR)
    )
    # Three seeds can have a very wide interval: it is cut at the edge of the axis.
    x = (
        alt.X("mean:Q", title="mean difference of the two τ")
        .scale(domain=[-0.6, 1.0], clamp=True)
        .axis(values=[-0.5, 0, 0.5, 1])
    )
    chart = alt.Chart()
    zero = chart.mark_rule(size=1.5).encode(x=alt.datum(0))
    bars = chart.mark_rule(size=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, yOffset=offset, color=colour)
    dots = chart.mark_point(size=42, filled=True, opacity=1).encode(
        x=x,
        y=y,
        yOffset=offset,
        color=colour,
        shape=shape,
        tooltip=[
            alt.Tooltip("task:N"),
            alt.Tooltip("model:N"),
            alt.Tooltip("mean:Q"),
            alt.Tooltip("low:Q"),
            alt.Tooltip("high:Q"),
            alt.Tooltip("seeds:Q"),
        ],
    )
    layers = alt.layer(zero, bars, dots, data=alt.Data(values=rows)).properties(width=360, height=58 * len(tasks))
    drawn = layers.facet(
        column=alt.Column("difference:N", title="τ(gradient, leave one out)", sort=list(_DIFFERENCES.values())).header(
            titleFontSize=13
        ),
        spacing=24,
    )
    caption = (
        "Figures 3 and 4: how much better gradient and leave-one-out agree with each other than attention agrees with "
        "either. Means over seeds with their 95% t intervals; above zero they agree better. Part of it is mechanical: "
        "gradients and, without context, leave-one-out contain the weights as a factor."
    )
    return declare("tau-differences", "agreement", caption, drawn)


def permutation_violins(found: StudyResult) -> Figure | None:
    """The effect of shuffling the weights, by how peaked they are (the paper's Figure 6)."""
    models = models_in_order(found)
    panels = [
        ViolinPanel(row, column, values[here], model.examples["max_attention"][here], {})
        for row, column, here, values, model in _panels(models, "delta")
    ]
    if not panels:
        return None
    chart = violins(panels, {}, span=(0.0, 1.0), axis="median change", width=PANEL, height=96)
    caption = (
        "Figure 6: how much the output changes when the weights of a text are shuffled (median of its shuffles). Texts "
        "with flat weights are at the bottom, texts with one heavy word at the top. Lines are quartiles; short strokes "
        "are single texts where there are few. Near 0, it hardly matters which word has which weight; at the top this "
        "says most. A quarter without a violin has no text."
    )
    return declare("permutation-by-largest-weight", "permutation", caption, chart)


def jsd_histograms(found: StudyResult) -> Figure | None:
    """The largest JSD of every text beside its baselines (the paper's Figure 8)."""
    models = models_in_order(found)
    panels = [
        Panel(row, column, values[here], {name: mean_of(of[here]) for name, of in _beside(model, values).items()})
        for row, column, here, values, model in _panels(models, "jsd:published:0.05")
    ]
    if not panels:
        return None
    styles = {name: style for name, style in _JSD.items() if any(name in panel.lines for panel in panels)}
    chart = histograms(panels, styles, span=(0.0, 0.7), bins=20, axis="JSD (nats)", width=PANEL)
    caption = (
        "Figure 8: how different the weights of each text can be while the output moves by 0.05 at most. 0 is the same "
        "heatmap, 0.69 one on other words altogether. The null shuffles the relevances. If it is at or right of the "
        f"mean, the shape of the weights explains all of the JSD. {_search_only(models)}"
    ).strip()
    return declare("jsd-histograms", "counterfactual", caption, chart)


def jsd_violins(found: StudyResult) -> Figure | None:
    """The largest JSD by how peaked the weights are (the paper's Figure 7)."""
    models = models_in_order(found)
    panels = [
        ViolinPanel(row, column, values[here], model.examples["max_attention"][here], beside)
        for row, column, here, values, model in _panels(models, "jsd:published:0.05")
        for beside in [{n: of[here] for n, of in _beside(model, values).items() if n in (MODEL_FREE, NULL)}]
    ]
    if not panels:
        return None
    styles = {name: style for name, style in _JSD.items() if any(name in panel.beside for panel in panels)}
    chart = violins(panels, styles, span=(0.0, 0.7), axis="JSD (nats)", width=PANEL, height=96)
    caption = (
        "Figure 7: the same by how peaked the weights are, from flat (bottom) to one heavy word (top). Lines inside "
        "are quartiles. Flatter weights allow a larger JSD in any model. Violins that only follow the lines beside "
        f"them show the shape of the weights and nothing else. {_search_only(models)}"
    ).strip()
    return declare("jsd-by-largest-weight", "counterfactual", caption, chart)


def _panels(
    models: Sequence[Model], quantity: str
) -> Iterator[tuple[str, str, Bool[np.ndarray, " example"], Float[np.ndarray, " example"], Model]]:
    """Row and column of each panel, the texts in it, and the values of all texts; empty panels are dropped."""
    for model in models:
        values = model.examples.get(quantity)
        if values is None:
            continue
        for label, here in parts_of(model):
            known = here & np.isfinite(values)
            if known.any():
                row = f"{model.task}: {label}" if label else model.task
                yield row, model_name(model.encoder, model.attention), known, values, model


def _beside(model: Model, values: Float[np.ndarray, " example"]) -> Mapping[str, Float[np.ndarray, " example"]]:
    """The baselines of the JSD of each text, as far as they hold for this read-out."""
    wanted = {SEARCHED: "searched:published:0.05"}
    method = method_of(model)
    wanted |= {MODEL_FREE: "floor"} if method == "exact" else {}
    wanted |= {NULL: "null:published:0.05"} if method != "search" else {}
    return {"mean": values} | {line: model.examples[name] for line, name in wanted.items() if name in model.examples}


def _about_floors(panels: Sequence[Panel], rival: str) -> str:
    """The meaning of the dotted line, and which models have none."""
    known = [panel for panel in panels if np.isfinite(panel.lines[MECHANICAL_FLOOR])]
    line = (
        "The dotted line is the τ that remains when the relevances are shuffled among the words. Only τ to the right "
        "of it is agreement about the words."
    )
    lacking = [panel for panel in panels if not np.isfinite(panel.lines[MECHANICAL_FLOOR])]
    without = []
    for name in dict.fromkeys(panel.column for panel in lacking):
        tasks = dict.fromkeys(panel.row.partition(":")[0] for panel in lacking if panel.column == name)
        everywhere = all(panel.column != name for panel in known)
        without.append(name if everywhere else f"{name} ({', '.join(tasks)})")
    linear = " and the read-out is linear" if rival == "leave_one_out" else ""
    none = (
        f"The line is missing for {'; '.join(without)}: it needs a model in which each word acts through its own state "
        "alone"
    )
    return " ".join([line] * bool(known) + [f"{none}{linear}."] * bool(without))


def _search_only(models: Sequence[Model]) -> str:
    tasks = list(dict.fromkeys(model.task for model in models if method_of(model) == "search"))
    if not tasks:
        return ""
    return (
        f"The read-outs of {', '.join(tasks)} are not linear. There the JSD comes from a search and is a lower bound, "
        "without a floor or a null."
    )
