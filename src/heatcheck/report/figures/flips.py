"""Survival of decisions as weights are removed, and the number of removals until they flip."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.flips_tables import ranking_name
from heatcheck.results import CheckResult
from heatcheck.results.written import number

STEPS = 100  # of a curve
DASHED = (6, 4)
_LOOKS = {
    "attention": Style(ATTENTION),
    "attention ascending": Style(ATTENTION, (2, 3)),
    "gradient": Style(MOST),
    "gradient (signed)": Style(MOST, DASHED),
    "gradient x attention": Style(RIVAL),
    "gradient x attention (signed)": Style(RIVAL, DASHED),
    "random": Style(FLOOR, (1, 2)),
}


def looks(rankings: Iterable[str]) -> dict[str, Style]:
    """A style per ranking, by its name: one colour per family, dashes for rankings with a sign."""
    return {
        ranking_name(name): _LOOKS.get(name, Style(MECHANICAL, DASHED if name.endswith("(signed)") else (1, 0)))
        for name in rankings
    }


def survival(fractions: Float[np.ndarray, " example"], steps: int = STEPS) -> Float[np.ndarray, " item"]:
    """The share of decisions that are unchanged after removing 0, 1/steps, … 1 of the tokens; NaN never flips.

    >>> survival(np.array([0.5, 1.0, np.nan]), steps=2).round(2)
    array([1.  , 0.67, 0.33])
    """
    ends = np.sort(np.where(np.isnan(fractions), np.inf, fractions))
    places = np.arange(steps + 1) / steps
    # A fraction k/T that lies on a step has been removed there: a hair is added so that rounding does not hide it.
    return np.asarray(1.0 - np.searchsorted(ends, places + 1e-9, side="right") / len(ends))


def curve(ranking: str, shares: Float[np.ndarray, " item"]) -> Rows:
    """Rows of one curve; steps without a change are left out, except for the last."""
    steps = len(shares) - 1
    return [
        {"ranking": ranking_name(ranking), "x": round(at / steps, 4), "y": round(float(share), 4)}
        for at, share in enumerate(shares)
        if at in (0, steps) or share != shares[at - 1]
    ]


def box(ranking: str, values: Float[np.ndarray, " example"]) -> Rows:
    """Quartiles, median and the middle 90% of the texts that flip; one row, or none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return []
    ends = np.quantile(known, (0.05, 0.25, 0.5, 0.75, 0.95)).round(4).tolist()
    never = 1 - len(known) / len(values)
    facts = {"ranking": ranking_name(ranking), "never": f"never {never:.0%}", "texts": len(known)}
    return [{**facts, **dict(zip(("low", "q1", "median", "q3", "high"), ends, strict=True))}]


def curve_layer(styles: Mapping[str, Style], *, unit: str, small: bool = False) -> Any:
    """Step lines, one per ranking."""
    alt = altair()
    names = list(styles)
    axis: dict[str, Any] = {"values": [0, 0.5, 1]} if small else {"tickCount": 5, "format": "%"}
    return (
        alt.Chart()
        .mark_line(interpolate="step-after", strokeWidth=1.6 if small else 2)
        .encode(
            x=alt.X("x:Q", title=f"{unit} removed").scale(domain=[0, 1]).axis(**axis),
            y=alt.Y("y:Q", title="still decided" if small else "decisions that still stand")
            .scale(domain=[0, 1])
            .axis(**axis),
            color=alt.Color("ranking:N", title=None)
            .scale(domain=names, range=[style.colour for style in styles.values()])
            .legend(orient="top", columns=3, labelLimit=0, symbolType="stroke", symbolSize=400),
            strokeDash=alt.StrokeDash("ranking:N", title=None).scale(
                domain=names, range=[list(style.dash) for style in styles.values()]
            ),
            tooltip=[alt.Tooltip("ranking:N"), alt.Tooltip("x:Q", format=".0%"), alt.Tooltip("y:Q", format=".0%")],
        )
    )


def box_layers(styles: Mapping[str, Style], *, unit: str, small: bool = False) -> dict[str, Any]:
    """Whiskers, boxes, medians and the share that never flips, one line per ranking."""
    alt = altair()
    names = list(styles)
    y = alt.Y("ranking:N", title=None, sort=names).axis(labelLimit=230, labelFontSize=9 if small else 11)
    colour = alt.Color("ranking:N").scale(domain=names, range=[style.colour for style in styles.values()]).legend(None)
    title = f"share of the {unit} removed at the flip"
    axis: dict[str, Any] = {"values": [0, 0.5, 1]} if small else {"tickCount": 5, "format": "%"}
    x = alt.X("low:Q", title="share removed" if small else title).scale(domain=[0, 1]).axis(**axis)
    tooltip = [
        alt.Tooltip("ranking:N"),
        alt.Tooltip("q1:Q"),
        alt.Tooltip("median:Q"),
        alt.Tooltip("q3:Q"),
        alt.Tooltip("never:N"),
        alt.Tooltip("texts:Q"),
    ]
    chart = alt.Chart()
    return {
        "whiskers": chart.mark_rule(size=1.5).encode(x=x, x2=alt.X2("high:Q"), y=y, color=colour),
        "boxes": chart.mark_bar(height=6 if small else 14, opacity=0.55).encode(
            x=alt.X("q1:Q"), x2=alt.X2("q3:Q"), y=y, color=colour, tooltip=tooltip
        ),
        "medians": chart.mark_tick(thickness=2.5, size=8 if small else 18).encode(
            x=alt.X("median:Q"), y=y, color=colour
        ),
    }


def survival_curves(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The share of unchanged decisions as more weights are removed, one line per ranking."""
    rankings = _rankings(result)
    if not rankings:
        return None
    unit = str(result.facts.get("removed", "tokens"))
    rows = [row for name in rankings for row in curve(name, survival(result.per_example[f"fraction:{name}"]))]
    drawn = curve_layer(looks(rankings), unit=unit).properties(data=alt_data(rows), width=WIDTH - 60, height=300)
    caption = (
        f"The share of unchanged decisions after removing the weights of each ranking's top {unit}. A line that falls "
        f"faster finds {unit} that the decision depends on sooner. Every text counts: one that never flips stays "
        "unchanged to the end. Dashed rankings know the sign, which no attention heatmap shows: compare attention with "
        "the solid lines. Random order is the first of several."
    )
    return declare("flips-survival", result.check, caption, drawn)


def fraction_boxes(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """The share of weights removed at the flip, over the texts that flip."""
    alt = altair()
    rankings = _rankings(result)
    rows = [row for name in rankings for row in box(name, result.per_example[f"fraction:{name}"])]
    if not rows:
        return None
    unit = str(result.facts.get("removed", "tokens"))
    shown = [name for name in rankings if any(row["ranking"] == ranking_name(name) for row in rows)]
    width = WIDTH - 330
    layers = box_layers(looks(shown), unit=unit)
    names = list(looks(shown))
    layers["never"] = (
        alt.Chart()
        .mark_text(align="left", fontSize=11)
        .encode(x=alt.XValue(width + 8), y=alt.Y("ranking:N", sort=names), text=alt.Text("never:N"))
    )
    drawn = alt.layer(*layers.values(), data=alt_data(rows)).properties(width=width, height=30 * len(rows))
    share = next((m for m in result.measurements if m.name == "sign_share" and m.by == {"over": "all"}), None)
    told = (
        f" The sign alone explains {number(share.value)} of the gap between attention and signed gradient × attention."
        if share
        else ""
    )
    caption = (
        f"The share of the {unit} whose weights must be removed until the decision flips, over texts that flip. Boxes "
        "show the median and the middle half, lines the middle 90%. Boxes cover different texts if the share that "
        f"never flips differs; the curves above always cover all texts.{told}"
    )
    return declare("flips-fractions", result.check, caption, drawn)


def _rankings(result: CheckResult) -> Sequence[str]:
    return [str(name) for name in result.facts.get("rankings", ()) if f"fraction:{name}" in result.per_example]
