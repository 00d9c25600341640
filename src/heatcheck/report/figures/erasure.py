"""The effect of removing each method's top words."""

import math
from collections.abc import Mapping
from typing import Any

from heatcheck.report.figures.figure import ATTENTION, FLOOR, RIVAL, Figure, altair, declare
from heatcheck.report.lexicon import BY
from heatcheck.report.wording import spaced
from heatcheck.results import CheckResult
from heatcheck.results.written import interval, number


def erasure_effects(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The effect of removing each method's top words, by removal operator."""
    alt = altair()
    audited = str(result.settings.get("explainer", "attention"))  # a card can be about another heatmap
    kinds = {audited: spaced(audited), "random": "random order"}
    rows: list[dict[str, Any]] = [
        {
            "ranking": BY.get(("ranking", str(m.by.get("ranking"))), spaced(str(m.by.get("ranking", "")))),
            "kind": kinds.get(str(m.by.get("ranking")), "other method"),
            "operator": str(m.by.get("operator", "removal")),
            "effect": m.value,
            "low": m.low if math.isfinite(m.low) else m.value,
            "high": m.high if math.isfinite(m.high) else m.value,
            "shown": f"{number(m.value)} {interval(m)}",
            "n": m.n,
        }
        for m in result.measurements
        if m.name == "effect" and math.isfinite(m.value)
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(row["ranking"] for row in sorted(rows, key=lambda row: -row["effect"])))
    y = alt.Y("ranking:N", title=None, sort=order).axis(labelLimit=220, grid=True)
    names = [spaced(audited), "other method", "random order"]
    colour = alt.Color("kind:N", title=None).scale(domain=names, range=[ATTENTION, RIVAL, FLOOR]).legend(orient="top")
    chart = alt.Chart()
    bars = chart.mark_rule(size=2.5).encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour)
    dots = chart.mark_point(size=95, filled=True, opacity=1).encode(
        y=y,
        x=alt.X("effect:Q", title="mean change of the probability").scale(zero=True).axis(tickCount=5),
        color=colour,
        shape=alt.Shape("kind:N", title=None).scale(domain=names, range=["diamond", "circle", "cross"]),
        tooltip=[
            alt.Tooltip("ranking:N"),
            alt.Tooltip("operator:N"),
            alt.Tooltip("shown:N", title="effect"),
            alt.Tooltip("n:Q"),
        ],
    )
    layers = alt.layer(bars, dots, data=alt.Data(values=rows)).properties(width=320, height=max(30 * len(order), 60))
    drawn = layers.facet(column=alt.Column("operator:N", title=None))
    caption = (
        "How much the answer changes when heatcheck removes the highest-ranked words; bars are intervals. A heatmap "
        "that highlights words that matter is near the best other method, and far to the right of random order."
    )
    return declare("erasure-effects", result.check, caption, drawn)
