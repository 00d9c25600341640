"""Figures that compare several models in the same axes: one colour, shape and dash per model."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows, Span, bars
from heatcheck.report.lexicon import BY
from heatcheck.report.perturbation_tables import ranking_title
from heatcheck.report.wording import grouping, spaced
from heatcheck.results import Audit, CheckResult, Measurement
from heatcheck.results.written import interval, number

Results: TypeAlias = Mapping[str, CheckResult]  # of one check, by the name of the model

_BINS = 20
_LEGEND = 95  # letters of a row of names


class _Look(NamedTuple):
    """The look of a model, in colour and without."""

    colour: str
    shape: str
    dash: tuple[int, ...]


_LOOKS = (
    _Look(RIVAL, "circle", (1, 0)),
    _Look(ATTENTION, "diamond", (7, 3)),
    _Look(MOST, "square", (2, 2)),
    _Look(MECHANICAL, "triangle-up", (10, 3, 2, 3)),
    _Look(FLOOR, "cross", (4, 2)),
    _Look("#a87900", "triangle-down", (12, 4)),
)


def draw_comparison(audits: Mapping[str, Audit]) -> list[Figure]:
    """Every figure that at least two of the audits have results for; a model keeps its look in all of them."""
    names = list(audits)
    makers: tuple[tuple[str, Callable[[Results, Sequence[str]], Figure | None]], ...] = (
        ("agreement", tau_distributions),
        ("erasure", effects),
        ("perturbation", areas),
        ("permutation", q_distribution),
        ("counterfactual", jsd_by_epsilon),
        ("necessity", losses),
    )
    found = []
    for check, maker in makers:
        results = {name: audit.results[check] for name, audit in audits.items() if check in audit.results}
        if len(results) > 1 and (figure := maker(results, names)):
            found.append(figure)
    return found


def effects(results: Results, names: Sequence[str]) -> Figure | None:
    """The effect of removing words, ranking by ranking."""
    rows = _ranked(results, "effect", drop=("best rival", "best signed rival"))
    caption = (
        "How much the answer changes when the words ranked highest are removed, ranking by ranking; bars are "
        "intervals. Compare a model's attention with the other methods and the random order of the same model. A model "
        "whose answers change more under every ranking is only more sensitive to removal."
    )
    return _dots(rows, names, "compare-erasure", "erasure", caption, "mean change of the probability")


def areas(results: Results, names: Sequence[str]) -> Figure | None:
    """The area between the two orders of removal, ranking by ranking."""
    rows = _ranked(results, "area")
    caption = (
        "How much more the answer loses without the words ranked first than without those ranked last, ranking by "
        "ranking; bars are intervals. Higher is better. Compare each model with its own random order."
    )
    return _dots(rows, names, "compare-perturbation", "perturbation", caption, "area between the curves")


def losses(results: Results, names: Sequence[str]) -> Figure | None:
    """N, however it was measured."""
    rows = [
        _row(model, m, grouping(m) or "all", "share of the gain over the majority class that is lost (N)")
        for model, result in results.items()
        for m in result.measurements
        if m.name == "N" and math.isfinite(m.value)
    ]
    caption = (
        "The share of its gain over the majority class that each model loses without learned attention. 0 means "
        "nothing, 1 all of it; bars are intervals. Above 0.10 the card says that learned attention is needed, unless "
        "its settings say otherwise."
    )
    return _dots(rows, names, "compare-necessity", "necessity", caption, "N")


def tau_distributions(results: Results, names: Sequence[str]) -> Figure | None:
    """How similarly attention and other methods rank the words of each text."""
    panels = {}
    for rival in ("gradient", "leave_one_out"):
        values = {name: result.per_example.get(f"tau:attention|{rival}") for name, result in results.items()}
        panels[f"attention and {spaced(rival)}"] = {name: of for name, of in values.items() if of is not None}
    caption = (
        "How similarly attention and another method rank the words of each text: 1 is the same order, 0 is no "
        f"relation. Marks on the axis are means. {_means(panels)} In a model without context, part of τ is mechanical: "
        "its report has the floor."
    )
    return _outlines(
        panels, names, "compare-agreement", "agreement", caption, span=(-1.0, 1.0), axis="Kendall τ, text by text"
    )


def q_distribution(results: Results, names: Sequence[str]) -> Figure | None:
    """The share of shuffles of the weights that keep each text's answer."""
    panel = {name: result.per_example["q"] for name, result in results.items() if "q" in result.per_example}
    caption = (
        "The share of shuffles of the weights that keep the answer, text by text. At the right, most other orders of "
        f"the weights keep the answer; uniform weights are at 1. Marks on the axis are means. {_means({'': panel})}"
    )
    axis = "share of shuffles that keep the answer (q)"
    return _outlines({"": panel}, names, "compare-permutation", "permutation", caption, span=(0.0, 1.0), axis=axis)


def jsd_by_epsilon(results: Results, names: Sequence[str]) -> Figure | None:
    """The largest JSD by how far the output may move, beside that of shuffled relevances."""
    alt = altair()
    lines = {"jsd": "measured", "null": "relevances shuffled"}
    rows = [
        {
            **_row(model, m, lines[m.name], BY.get(("logits", str(m.by["logits"])), str(m.by["logits"]))),
            "epsilon": float(m.by["epsilon"]),
        }
        for model, result in results.items()
        for m in result.measurements
        if m.name in lines and "epsilon" in m.by and "class" not in m.by and math.isfinite(m.value)
    ]
    if len({row["model"] for row in rows}) < 2:
        return None
    looks = _encoded(names, rows)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    x = alt.X("epsilon:Q", title="ε: how far the output may move").scale(type="log", padding=14)
    x = x.axis(values=sorted({row["epsilon"] for row in rows}), format="~g")
    y = alt.Y("value:Q", title="largest JSD (nats)").scale(domain=[0, 0.7])
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("what:N"),
        alt.Tooltip("epsilon:Q"),
        alt.Tooltip("shown:N", title="mean JSD"),
        alt.Tooltip("n:Q"),
    ]
    faint = (
        alt.Opacity("what:O", title=None, sort=list(lines.values()))
        .scale(domain=list(lines.values()), range=[1, 0.4])
        .legend(orient="top")
    )
    chart = alt.Chart()
    layers = alt.layer(
        chart.mark_line(size=2).encode(x=x, y=y, **looks.lines, detail=alt.Detail("what:N"), opacity=faint),
        chart.mark_rule(size=2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=looks.colour, opacity=faint),
        chart.mark_point(size=70, filled=True).encode(x=x, y=y, **looks.points, opacity=faint, tooltip=tooltip),
        data=alt_data(rows),
    ).properties(width=(WIDTH - 90) // max(2, len(panels)), height=230)
    caption = (
        "How different the weights of a text can be while the output moves by ε at most. Means over texts with their "
        "intervals. The faint points are the null, with the relevances shuffled among the words. A JSD that is no "
        "smaller than its own null says nothing about that model."
    )
    drawn = layers.facet(column=alt.Column("panel:N", title=None, sort=panels))
    return declare("compare-counterfactual", "counterfactual", caption, drawn)


class _Encoded(NamedTuple):
    """Encodings that tell marks apart by model."""

    colour: Any
    points: dict[str, Any]
    lines: dict[str, Any]


def _encoded(names: Sequence[str], rows: Rows, *, legend_of: str = "shape") -> _Encoded:
    """One look per model, by its place among all, so that it is the same in every figure.

    `legend_of` is what the legend shows beside the colour: `shape` or `dash`. Both in one symbol would be neither, and
    what has the same names has one legend: hence `who`, which is the model by another name.
    """
    alt = altair()
    present = {row["model"] for row in rows}
    looks = {name: look for name, look in zip(names, _LOOKS, strict=False) if name in present}
    domain = list(looks)
    columns = 0 if sum(len(name) + 5 for name in domain) < _LEGEND else 1
    symbol = {"symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 500} if legend_of == "dash" else {}
    legend = alt.Legend(orient="top", labelLimit=0, columns=columns, symbolOpacity=1, **symbol)
    colour = alt.Color("model:N", title=None).scale(domain=domain, range=[look.colour for look in looks.values()])
    others = [_who(name) for name in domain]
    shape, dash = (
        channel("model:N" if shown else "who:N", title=None)
        .scale(domain=domain if shown else others, range=[getattr(look, part) for look in looks.values()])
        .legend(legend if shown else None)
        for channel, part in ((alt.Shape, "shape"), (alt.StrokeDash, "dash"))
        for shown in (part == legend_of,)
    )
    colour = colour.legend(legend)
    return _Encoded(
        colour,
        {"color": colour, "shape": shape},
        {"color": colour, "strokeDash": dash},
    )


def _who(model: str) -> str:
    return f"look of {model}"


def _row(model: str, m: Measurement, what: str, panel: str) -> dict[str, Any]:
    return {
        "model": model,
        "who": _who(model),
        "what": what,
        "panel": panel,
        "value": m.value,
        "low": m.low if math.isfinite(m.low) else m.value,
        "high": m.high if math.isfinite(m.high) else m.value,
        "shown": f"{number(m.value)} {interval(m)}",
        "n": m.n,
    }


def _ranked(results: Results, quantity: str, drop: Iterable[str] = ()) -> Rows:
    """One row per model, ranking by size and way of removing words."""
    return [
        _row(model, m, ranking_title(str(m.by.get("ranking", ""))), str(m.by.get("operator", "removal")))
        for model, result in results.items()
        for m in result.measurements
        if m.name == quantity and math.isfinite(m.value) and _drawn(str(m.by.get("ranking", "")), drop)
    ]


def _drawn(ranking: str, drop: Iterable[str]) -> bool:
    return not ranking.endswith("(signed)") and ranking not in drop


def _dots(rows: Rows, names: Sequence[str], name: str, check: str, caption: str, axis: str) -> Figure | None:
    """One band per ranking, with one mark per model and its interval."""
    if len({row["model"] for row in rows}) < 2:
        return None
    alt = altair()
    looks = _encoded(names, rows)
    order = sorted(dict.fromkeys(row["what"] for row in rows), key=lambda what: (what != "attention", _random(what)))
    models = [model for model in names if any(row["model"] == model for row in rows)]
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    y = alt.Y("what:N", title=None, sort=order).axis(labelLimit=330, grid=True)
    offset = alt.YOffset("model:N", sort=models).scale(paddingOuter=0.3)
    span = [min(0.0, *(row["low"] for row in rows)), max(0.1, *(row["high"] for row in rows))]  # 0 is always in it
    chart = alt.Chart()
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("what:N"),
        alt.Tooltip("panel:N"),
        alt.Tooltip("shown:N", title="value"),
        alt.Tooltip("n:Q"),
    ]
    layers = alt.layer(
        chart.mark_rule(size=2).encode(y=y, yOffset=offset, x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=looks.colour),
        chart.mark_point(size=65, filled=True, opacity=1).encode(
            y=y,
            yOffset=offset,
            x=alt.X("value:Q", title=axis).scale(domain=span, nice=True).axis(tickCount=5),
            **looks.points,
            tooltip=tooltip,
        ),
        data=alt_data(rows),
    ).properties(width=(WIDTH - 260) // len(panels), height=max((12 + 11 * len(models)) * len(order), 70))
    faceted = layers.facet(column=alt.Column("panel:N", title=None, sort=panels))
    return declare(name, check, caption, faceted)


def _random(what: str) -> bool:
    return what == "random order"


def _outlines(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    names: Sequence[str],
    name: str,
    check: str,
    caption: str,
    *,
    span: Span,
    axis: str,
) -> Figure | None:
    """Shares of the texts as steps, because bars would hide one another."""
    panels = {panel: of for panel, of in panels.items() if sum(np.isfinite(v).any() for v in of.values()) > 1}
    rows = [row for panel, of in panels.items() for model, v in of.items() for row in _steps(panel, model, v, span)]
    if not rows:
        return None
    alt = altair()
    looks = _encoded(names, rows, legend_of="dash")
    x = alt.X("at:Q", title=axis).scale(domain=list(span)).axis(tickCount=8)
    y = alt.Y("share:Q", title="share of the texts").axis(format="%", tickCount=4)
    chart = alt.Chart()
    steps = chart.transform_filter("datum.part == 'steps'").mark_line(interpolate="step-after", size=2.5)
    means = chart.transform_filter("datum.part == 'mean'").mark_point(size=110, filled=True, opacity=1)
    layers = alt.layer(
        steps.encode(x=x, y=y, **looks.lines),
        means.encode(
            x=x,
            y=y,
            **looks.points,
            tooltip=[alt.Tooltip("model:N"), alt.Tooltip("at:Q", title="mean"), alt.Tooltip("n:Q")],
        ),
        data=alt_data(rows),
    ).properties(width=(WIDTH - 60) // len(panels) - 20, height=200)
    if len(panels) > 1:
        layers = layers.facet(column=alt.Column("panel:N", title=None, sort=list(panels)))
    return declare(name, check, caption, layers)


def _steps(panel: str, model: str, values: np.ndarray, span: Span) -> Rows:
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    width = (span[1] - span[0]) / _BINS
    shares = dict.fromkeys(range(_BINS), 0.0)
    for bar in bars(known, span=span, bins=_BINS):
        shares[round((bar["left"] - span[0]) / width)] = bar["texts"] / len(known)
    ends = [(round(span[0] + at * width, 4), share) for at, share in shares.items()]
    ends.append((span[1], shares[_BINS - 1]))  # the last step is as wide as the others
    about = {"panel": panel, "model": model, "who": _who(model), "n": len(known)}
    steps = [{**about, "part": "steps", "at": at, "share": round(share, 4)} for at, share in ends]
    return [*steps, {**about, "part": "mean", "at": round(float(known.mean()), 4), "share": 0.0}]


def _means(panels: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """The mean of each model, for readers who cannot see the lines."""
    told = []
    for panel, of in panels.items():
        means = ", ".join(
            f"{model} {number(float(v[np.isfinite(v)].mean()))} (n = {int(np.isfinite(v).sum()):,})"
            for model, v in of.items()
            if np.isfinite(v).any()
        )
        if means:
            told.append(f"Means{f', {panel}' if panel else ''}: {means}.")
    return " ".join(told)
