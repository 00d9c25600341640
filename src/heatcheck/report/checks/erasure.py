"""What a reader sees of the check `erasure`: the effect of removing each method's top words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.compared_values import Compared, only_attention
from heatcheck.report.figures.figure import ATTENTION, FLOOR, RIVAL, Figure, altair, declare
from heatcheck.report.figures.several_models import dots, ranked
from heatcheck.report.shared_words import KINDS
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView, Results
from heatcheck.report.wording import said, spaced
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number, shown


def erasure_tables(result: CheckResult) -> list[Table]:
    """K for each way of removing words, beside the room that the best other method leaves."""
    room = {m.by.get("operator"): m for m in result.measurements if m.name == "room"}
    rows = []
    for m in result.measurements:
        if m.name == "K":
            beside = room.get(m.by.get("operator"))
            rows.append(
                (
                    said(m.by.get("operator")),
                    number(m.value),
                    interval(m),
                    shown(beside),
                    f"{m.n:,}",
                )
            )
    columns = ("words removed by", "K", "95% interval", "best other method minus random words", "n")
    caption = (
        f"K: the effect of {spaced(result.heatmap)}'s words, from random words (0) to the best other method's words (1)"
    )
    return [Table(caption, columns, rows)]


def erasure_effects(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The effect of removing each method's top words, by removal operator."""
    alt = altair()
    audited = str(result.settings.get("explainer", "attention"))  # a card can be about another heatmap
    kinds = {audited: spaced(audited), "random": "random order"}
    rows: list[dict[str, Any]] = [
        {
            "ranking": KINDS.get(("ranking", str(m.by.get("ranking"))), spaced(str(m.by.get("ranking", "")))),
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
        "Further right, the answer changes more when heatcheck removes the words that a method ranks highest. Bars are "
        "intervals. A heatmap that highlights words that matter is near the best other method, and far from random."
    )
    return declare("erasure-effects", result.check, caption, drawn)


def compared_effects(results: Results, names: Sequence[str]) -> Figure | None:
    """The effect of removing words, ranking by ranking."""
    rows = ranked(results, "effect", drop=("best rival", "best signed rival"))
    caption = (
        "How much the answer changes when the words ranked highest are removed, ranking by ranking; bars are "
        "intervals. Compare a model's attention with the other methods and the random order of the same model. A model "
        "whose answers change more under every ranking is only more sensitive to removal."
    )
    return dots(rows, names, "compare-erasure", "erasure", caption, "mean change of the probability")


_QUANTITIES = (
    Quantity(
        "K",
        "removal effect beyond random words, relative to the best other method's (K)",
        high="Removing the highlighted words moves the answer as much as removing the best other method's.",
        low="Removing the highlighted words moves the answer hardly more than removing random words.",
        unit="share",
    ),
    Quantity(
        "K_signed",
        "K compared with the best method with a sign",
        high="Removing the highlighted words moves the answer as much as removing the best signed method's.",
        low="Removing the highlighted words moves the answer hardly more than removing random words.",
        unit="share",
    ),
    Quantity(
        "effect",
        "mean change of the probability",
        high="Removing the ranking's top words moves the probability a lot.",
        low="Removing the ranking's top words hardly moves the probability.",
        unit="probability",
    ),
    Quantity(
        "beyond_random",
        "change of the probability beyond random words",
        high="Removing the ranking's top words moves the probability far more than removing random words.",
        low="Removing the ranking's top words moves the probability no more than removing random words.",
        unit="probability",
    ),
    Quantity(
        "room",
        "effect of the best other method's words minus that of random words",
        high="The best other method's words move the answer far more than random words.",
        low="The best other method's words hardly beat random words, so K says little.",
        unit="probability",
    ),
)

VIEW = CheckView(
    "Removing the highlighted words",
    place=20,
    tables=erasure_tables,
    figures=(erasure_effects,),
    quantities=_QUANTITIES,
    compared=(Compared("effect", "change of the probability without the words ranked first: {}", only_attention),),
    comparison_figures=(compared_effects,),
)
