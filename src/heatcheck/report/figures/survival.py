"""Parts of figures about flips: the share of decisions that stand as weights are removed, and removals until a flip."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from heatcheck.report.figures.distribution import Style
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, altair
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.wording import spaced

STEPS = 100  # of a curve
DASHED = (6, 4)
_LOOKS = {
    "attention": Style(ATTENTION),
    "attention ascending": Style(ATTENTION, (2, 3)),
    "gradient": Style(MOST, (12, 3)),
    "gradient (signed)": Style(MOST, DASHED),
    "gradient x attention": Style(RIVAL, (12, 3, 2, 3)),
    "gradient x attention (signed)": Style(RIVAL, DASHED),
    "random": Style(FLOOR, (1, 2)),
}


def ranking_name(name: str) -> str:
    """
    >>> ranking_name("gradient x attention (signed)"), ranking_name("leave_one_out"), ranking_name("random")
    ('gradient × attention (signed)', 'leave one out', 'random order')
    """
    return "random order" if name == "random" else spaced(name).replace(" x ", " × ")


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


def curve_layer(styles: Mapping[str, Style], *, unit: str, small: bool = False, labelled: bool = False) -> Any:
    """Step lines, one per ranking; without a legend where they are labelled."""
    alt = altair()
    names = list(styles)
    axis: dict[str, Any] = {"values": [0, 0.5, 1]} if small else {"tickCount": 5, "format": "%"}
    legend = alt.Legend(orient="top", columns=3, labelLimit=0, symbolType="stroke", symbolSize=400)
    dashes = [list(style.dash) for style in styles.values()]
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
            .legend(None if labelled else legend),
            strokeDash=alt.StrokeDash("ranking:N", title=None)
            .scale(domain=names, range=dashes)
            .legend(None if labelled else legend),
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
