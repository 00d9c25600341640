"""Parts of figures that compare several models in the same axes: one colour, shape and dash per model."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import FLOOR, MECHANICAL, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows, Span, bars
from heatcheck.report.view import Results
from heatcheck.report.wording import ranking_title
from heatcheck.results import Measurement
from heatcheck.results.written import interval, number

_BINS = 20
_LEGEND = 95  # letters of a row of names


class _Look(NamedTuple):
    """The look of a model, in colour and without."""

    colour: str
    shape: str
    dash: tuple[int, ...]


_LOOKS = (  # models, of which none has the colour of attention
    _Look(RIVAL, "circle", (1, 0)),
    _Look("#c2417c", "diamond", (7, 3)),
    _Look(MOST, "square", (2, 2)),
    _Look(MECHANICAL, "triangle-up", (10, 3, 2, 3)),
    _Look(FLOOR, "cross", (4, 2)),
    _Look("#a87900", "triangle-down", (12, 4)),
)


class Encoded(NamedTuple):
    """Encodings that tell marks apart by model."""

    colour: Any
    points: dict[str, Any]
    lines: dict[str, Any]


def encoded(names: Sequence[str], rows: Rows, *, legend_of: str = "shape") -> Encoded:
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
    return Encoded(
        colour,
        {"color": colour, "shape": shape},
        {"color": colour, "strokeDash": dash},
    )


def _who(model: str) -> str:
    return f"look of {model}"


def row_of(model: str, m: Measurement, what: str, panel: str) -> dict[str, Any]:
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


def ranked(results: Results, quantity: str, drop: Iterable[str] = ()) -> Rows:
    """One row per model, ranking by size and way of removing words."""
    return [
        row_of(model, m, ranking_title(str(m.by.get("ranking", ""))), str(m.by.get("operator", "removal")))
        for model, result in results.items()
        for m in result.measurements
        if m.name == quantity and math.isfinite(m.value) and _drawn(str(m.by.get("ranking", "")), drop)
    ]


def _drawn(ranking: str, drop: Iterable[str]) -> bool:
    return not ranking.endswith("(signed)") and ranking not in drop


def dots(rows: Rows, names: Sequence[str], name: str, check: str, caption: str, axis: str) -> Figure | None:
    """One band per ranking, with one mark per model and its interval."""
    if len({row["model"] for row in rows}) < 2:
        return None
    alt = altair()
    looks = encoded(names, rows)
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


def outlines(
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
    looks = encoded(names, rows, legend_of="dash")
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


def means(panels: Mapping[str, Mapping[str, np.ndarray]]) -> str:
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
