"""What a reader sees of the check `perturbation`: methods ranked by word removal, and the curves behind the ranking."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.compared_values import Compared, only_attention
from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, BAR, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.several_models import dots, ranked
from heatcheck.report.measurement_words import of_quantity
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView, Results
from heatcheck.report.wording import ranking_title
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import alone, interval, number, shown


def perturbation_tables(result: CheckResult) -> list[Table]:
    """First the methods that rank words without a sign, as a heatmap does; then those with a sign."""
    return [
        _league(
            result, "by size", "Methods that rank words without a sign, by the area between the curves, best first"
        ),
        _league(result, "with sign", "Methods with a sign, by the area between the curves, best first"),
    ]


def overall_operator(result: CheckResult) -> str:
    """The removal operator of the ranking: "both" if there are several, which stands for their mean."""
    operators = [str(name) for name in result.settings.get("operators", ())]
    return operators[0] if len(operators) == 1 else "both"


def _league(result: CheckResult, league: str, caption: str) -> Table:
    operators = [str(name) for name in result.settings.get("operators", ())]
    by = overall_operator(result)
    ranks = [
        m
        for m in result.measurements
        if m.name == "rank" and m.by.get("among") == league and m.by.get("operator") == by
    ]
    ranks.sort(key=lambda m: (m.value, str(m.by["ranking"])))
    several = operators if len(operators) > 1 else []
    return Table(
        caption,
        (
            "method",
            "rank",
            "area",
            "area minus random",
            *(f"area, {name}" for name in several),
            "AOPC, most relevant first",
            "AOPC, least relevant first",
            "n",
        ),
        [_row(result, m, by, several) for m in ranks],
        dense=True,
    )


def _row(result: CheckResult, rank: Measurement, by: str, operators: list[str]) -> tuple[str, ...]:
    ranking = str(rank.by["ranking"])

    def cell(name: str, operator: str, *, ends: bool = False) -> str:
        found = [
            m
            for m in result.measurements
            if m.name == name and m.by.get("ranking") == ranking and m.by.get("operator") == operator
        ]
        return (shown if ends else alone)(found[0] if found else None)

    place, best, worst = (of_quantity("rank", part) for part in (rank.value, rank.low, rank.high))
    return (
        ranking_title(ranking),
        f"{place} [{best}, {worst}]" if rank.n > 1 else place,
        cell("area", by, ends=True),
        cell("above_random", by, ends=True),
        *(cell("area", operator) for operator in operators),
        cell("aopc", by),
        cell("aopc_least", by),
        f"{rank.n:,}",
    )


_KINDS = {"attention": "attention", "random": "random order"}
_ORDERS = {"MoRF": "most relevant first (MoRF)", "LeRF": "least relevant first (LeRF)"}
_DASHES = ((1, 0), (12, 3), (9, 3, 2, 3), (4, 2), (2, 4))  # attention, the best others, random: apart in grey
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
    step = 22 if len(order) < 16 else 15
    drawn = alt.layer(bars, dots, data=alt_data(rows)).properties(width=wide, height=max(step * len(order), 60))
    caption = (
        "Further right is better: the method's first words cost more probability than its last ones. The area is that "
        "difference, averaged over the shares removed; bars are intervals. If a method's interval includes "
        "that of random "
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
    dashes = [list(_DASHES[list(colours).index(name)]) for name in colours if ranking_title(name) in present]
    dash = alt.StrokeDash("ranking:N", title=None).scale(domain=list(drawn_in), range=dashes)
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
        chart.mark_line(size=2).encode(x=x, y=y, color=colour, strokeDash=dash),
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
    by = overall_operator(result)
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


def compared_areas(results: Results, names: Sequence[str]) -> Figure | None:
    """The area between the two orders of removal, ranking by ranking."""
    rows = ranked(results, "area")
    caption = (
        "How much more the answer loses without the words ranked first than without those ranked last, ranking by "
        "ranking; bars are intervals. Higher is better. Compare each model with its own random order."
    )
    return dots(rows, names, "compare-perturbation", "perturbation", caption, "area between the curves")


_QUANTITIES = (
    Quantity(
        "lost",
        "probability lost",
        high="The predicted label loses much probability once these words are gone.",
        low="The predicted label keeps its probability once these words are gone.",
        unit="probability",
    ),
    Quantity(
        "area",
        "area between the two removal curves (most relevant first minus least relevant first)",
        high="The ranking's first words cost far more probability than its last words.",
        low="The ranking's first words cost no more probability than its last words.",
        unit="probability",
    ),
    Quantity(
        "aopc",
        "probability lost, most relevant words first, mean over the shares removed (AOPC)",
        high="Removing the ranking's first words costs much probability.",
        low="Removing the ranking's first words costs little probability.",
        unit="probability",
    ),
    Quantity(
        "aopc_least",
        "probability lost, least relevant words first, mean over the shares removed",
        high="Removing the ranking's last words costs much probability.",
        low="Removing the ranking's last words costs little probability.",
        unit="probability",
    ),
    Quantity(
        "above_random",
        "area minus the area of random orders",
        high="The ranking has a larger area than random orders.",
        low="The ranking has no larger area than random orders.",
        unit="probability",
    ),
    Quantity(
        "rank",
        "rank by area (1 is the best)",
        high="Many other methods have a larger area.",
        low="Few other methods have a larger area.",
        format="g",
    ),
)

VIEW = CheckView(
    "Ranking of methods by word removal",
    place=40,
    reading="heatcheck removes words in the order of each method, a share at a time. It starts with the most "
    "relevant words; then, on the full text again, with the least relevant ones. The score is the difference between "
    "the two. Removing words surprises any model, and the difference cancels that. Each rank has its own interval: "
    "where two intervals overlap, these texts cannot tell the methods apart. Methods that know the sign of a word's "
    "part have their own table, because an attention heatmap has none.",
    tables=perturbation_tables,
    figures=(areas, removal_curves),
    quantities=_QUANTITIES,
    compared=(Compared("area", "area between the two orders of removal: {}", only_attention),),
    comparison_figures=(compared_areas,),
)
