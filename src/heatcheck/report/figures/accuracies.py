"""Figure of accuracies under different weights, with intervals and lines for the baselines."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, RIVAL, altair
from heatcheck.report.figures.shapes import Rows, lines_at
from heatcheck.report.shared_words import WEIGHTS
from heatcheck.results import Measurement
from heatcheck.results.written import interval, number

_LOOKS = {"weighted": (ATTENTION, "diamond"), "without attention": (RIVAL, "circle"), "chance": (FLOOR, "cross")}
_KINDS = {"permuted": "chance", "random": "chance"} | dict.fromkeys(
    ("uniform", "first", "last", "free"), "without attention"
)


def rows_of(measurements: Sequence[Measurement]) -> Rows:
    """Rows that a panel draws; accuracies without a value are left out."""
    return [
        {
            "weights": WEIGHTS.get(str(m.by["weights"]), str(m.by["weights"])),
            "kind": _KINDS.get(str(m.by["weights"]), "weighted"),
            "accuracy": round(m.value, 5),
            "low": round(m.low if math.isfinite(m.low) else m.value, 5),
            "high": round(m.high if math.isfinite(m.high) else m.value, 5),
            "shown": f"{number(m.value)} {interval(m)}",
            "n": m.n,
        }
        for m in measurements
        if math.isfinite(m.value)
    ]


def span_of(rows: Rows, lines: Mapping[str, float]) -> tuple[float, float]:
    """An axis that includes every interval and every line, with a little room."""
    ends = [row[end] for row in rows for end in ("low", "high")] + [at for at in lines.values() if math.isfinite(at)]
    return max(0.0, math.floor(20 * min(ends) - 0.3) / 20), min(1.0, math.ceil(20 * max(ends) + 0.3) / 20)


def panel(
    rows: Rows,
    lines: Mapping[str, float],
    styles: Mapping[str, Style],
    *,
    span: tuple[float, float],
    title: str,
    axis: str | None,
    width: int,
    bars: bool = False,
) -> Any:
    """One row per kind of weights: a mark or a bar, its interval, and its number at the right.

    Args:
        lines: the place of each line.
        styles: of the lines of all panels, so that they share one legend.
        bars: draw bars from zero; `span` must then begin there.
    """
    alt = altair()
    order = [row["weights"] for row in rows]
    x = alt.X("accuracy:Q", title=axis).scale(domain=list(span), zero=False).axis(tickCount=6)
    y = alt.Y("weights:N", title=None, sort=order).axis(labelLimit=230, grid=not bars, minExtent=190)
    kinds = list(_LOOKS)
    colours, shapes = ([look[at] for look in _LOOKS.values()] for at in (0, 1))
    colour = alt.Color("kind:N").scale(domain=kinds, range=colours).legend(None)  # the axis says what each row is
    chart = alt.Chart()
    tooltip = [alt.Tooltip("weights:N"), alt.Tooltip("shown:N", title="accuracy"), alt.Tooltip("n:Q")]
    if bars:
        marks = chart.mark_bar(height=15, opacity=0.55).encode(x=x, y=y, color=colour, tooltip=tooltip)
        ends = chart.mark_rule(size=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y)
    else:
        shape = alt.Shape("kind:N").scale(domain=kinds, range=shapes).legend(None)
        marks = chart.mark_point(size=95, filled=True, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=tooltip
        )
        ends = chart.mark_rule(size=2.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y, color=colour)
    numbers = chart.mark_text(align="left", fontSize=11).encode(x=alt.XValue(width + 8), y=y, text=alt.Text("shown:N"))
    layers = [layer.properties(data=alt_data(rows)) for layer in ((marks, ends) if bars else (ends, marks))]
    layers.append(numbers.properties(data=alt_data(rows)))
    if styles:
        names = list(styles)
        rules = chart.mark_rule(size=2).encode(
            x=alt.X("at:Q"),
            strokeDash=alt.StrokeDash("line:N", title=None)
            .scale(domain=names, range=[list(style.dash) for style in styles.values()])
            .legend(orient="top", labelLimit=0),
            tooltip=[alt.Tooltip("line:N"), alt.Tooltip("at:Q", format=".3f")],
        )
        layers.append(rules.properties(data=alt_data(lines_at(lines))))
    return alt.layer(*layers).properties(width=width, height=max(27 * len(rows), 40), title=title)
