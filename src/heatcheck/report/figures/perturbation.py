"""Methods ranked by word removal, and the removal curves behind the ranking."""

import math
from collections.abc import Mapping
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, BAR, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.perturbation_tables import overall, ranking_title
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import interval, number

_KINDS = {"attention": "attention", "random": "random order"}
_ORDERS = {"MoRF": "most relevant first (MoRF)", "LeRF": "least relevant first (LeRF)"}
_SHOWN = 3  # best other methods; more lines would be hard to read, and the table has all


def areas(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The area between the curves of every method, best first."""
    rows = [
        {
            "ranking": ranking_title(str(m.by["ranking"])),
            "kind": _KINDS.get(str(m.by["ranking"]), "other method"),
            "operator": str(m.by["operator"]),
            "area": m.value,
            **_ends(m),
        }
        for m in result.measurements
        if m.name == "area" and not str(m.by["ranking"]).endswith("(signed)") and math.isfinite(m.value)
    ]
    if not rows:
        return None
    alt = altair()
    order = [ranking_title(name) for name in _best_first(result)]
    names = ["attention", "other method", "random order"]
    y = alt.Y("ranking:N", title=None, sort=order).axis(labelLimit=220, grid=True)
    colour = alt.Color("kind:N", title=None).scale(domain=names, range=[ATTENTION, RIVAL, FLOOR]).legend(orient="top")
    chart = alt.Chart()
    bars = chart.mark_rule(size=2.5).encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour)
    dots = chart.mark_point(size=80, filled=True, opacity=1).encode(
        y=y,
        x=alt.X("area:Q", title="area between the curves").scale(zero=True).axis(tickCount=4),
        color=colour,
        shape=alt.Shape("kind:N", title=None).scale(domain=names, range=["diamond", "circle", "cross"]),
        tooltip=[
            alt.Tooltip("ranking:N"),
            alt.Tooltip("operator:N"),
            alt.Tooltip("shown:N", title="area"),
            alt.Tooltip("n:Q"),
        ],
    )
    panels = list(dict.fromkeys(row["operator"] for row in rows))
    wide = 540 if len(panels) == 1 else 200
    drawn = alt.layer(bars, dots, data=alt_data(rows)).properties(width=wide, height=max(22 * len(order), 60))
    caption = (
        "The probability lost without a method's first words minus that lost without its last words, averaged over the "
        "shares removed. Further right is better; bars are intervals. If a method's interval includes that of random "
        "order, it has not been shown to say anything about this model."
    )
    return declare(
        "perturbation-areas",
        result.check,
        caption,
        drawn.facet(column=alt.Column("operator:N", title=None, sort=panels)),
    )


def removal_curves(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The probability lost by the share of words removed, for attention, random orders and the best other methods."""
    best = [name for name in _best_first(result) if name not in _KINDS][:_SHOWN]
    colours = {"attention": ATTENTION, **dict(zip(best, (RIVAL, MECHANICAL, MOST, BAR), strict=False)), "random": FLOOR}
    rows = [
        {
            "ranking": ranking_title(str(m.by["ranking"])),
            "operator": str(m.by["operator"]),
            "order": _ORDERS[str(m.by["direction"])],
            "share": float(m.by["share"]),
            "lost": m.value,
            **_ends(m),
        }
        for m in result.measurements
        if m.name == "lost" and m.by["ranking"] in colours and math.isfinite(m.value)
    ]
    if not rows:
        return None
    alt = altair()
    present = {row["ranking"] for row in rows}
    drawn_in = {ranking_title(name): colour for name, colour in colours.items() if ranking_title(name) in present}
    colour = (
        alt.Color("ranking:N", title=None)
        .scale(domain=list(drawn_in), range=list(drawn_in.values()))
        .legend(orient="top", columns=3, labelLimit=0, symbolType="stroke", symbolStrokeWidth=2.5, symbolOpacity=1)
    )
    x = alt.X("share:Q", title="words removed").axis(format="%", tickCount=5)
    y = alt.Y("lost:Q", title="probability lost").axis(tickCount=5)
    tooltip = [
        alt.Tooltip("ranking:N"),
        alt.Tooltip("operator:N"),
        alt.Tooltip("order:N"),
        alt.Tooltip("share:Q", format="~%"),
        alt.Tooltip("shown:N"),
        alt.Tooltip("n:Q"),
    ]
    chart = alt.Chart()
    layers = alt.layer(
        chart.mark_line(size=2).encode(x=x, y=y, color=colour),
        chart.mark_rule(size=1.5, opacity=0.5).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_point(size=30, filled=True, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip),
        data=alt_data(rows),
    ).properties(width=310, height=190)
    caption = (
        "The probability that the predicted label loses as heatcheck removes words. With the most relevant words "
        "first, the line of a faithful method rises at once; with the least relevant first, it rises late. Shown are "
        f"attention, random order and the {len(best)} best other methods."
    )
    faceted = layers.facet(
        row=alt.Row("order:N", title=None, sort=list(_ORDERS.values())), column=alt.Column("operator:N", title=None)
    )
    return declare("perturbation-curves", result.check, caption, faceted)


def _best_first(result: CheckResult) -> list[str]:
    """Rankings by size, in the order of their area."""
    by = overall(result)
    found = [m for m in result.measurements if m.name == "area" and m.by.get("operator") == by]
    found.sort(key=lambda m: -m.value)
    return [str(m.by["ranking"]) for m in found if not str(m.by["ranking"]).endswith("(signed)")]


def _ends(m: Measurement) -> dict[str, Any]:
    """The interval (or the value twice if there is none), also as text."""
    return {
        "low": m.low if math.isfinite(m.low) else m.value,
        "high": m.high if math.isfinite(m.high) else m.value,
        "shown": f"{number(m.value)} {interval(m)}",
        "n": m.n,
    }
