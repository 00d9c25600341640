"""The probability lost without a ranking's top words, and with these words alone, by their number."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, BAR, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.lexicon import BY
from heatcheck.report.wording import spaced
from heatcheck.results import CheckResult
from heatcheck.results.written import interval, number

_SIDES = {"comprehensiveness": "without them (comprehensiveness)", "sufficiency": "with them only (sufficiency)"}
_RIVALS = (RIVAL, MECHANICAL, MOST, BAR)
_SIGNED = " (signed)"
_DASHED, _DOTTED = (6, 4), (2, 3)


def losses_by_share(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One line per ranking, one panel per removal operator and side."""
    rows = _rows(result)
    if not rows:
        return None
    alt = altair()
    styles = _styles(list(dict.fromkeys(row["ranking"] for row in rows)), result)
    names = list(styles)
    look = {
        "color": alt.Color("ranking:N", title=None)
        .scale(domain=names, range=[style.colour for style in styles.values()])
        .legend(orient="top", columns=4, labelLimit=0, symbolType="stroke", symbolStrokeWidth=2.5, symbolOpacity=1),
        "strokeDash": alt.StrokeDash("ranking:N", title=None).scale(
            domain=names, range=[list(style.dash) for style in styles.values()]
        ),
    }
    shares = sorted({row["share"] for row in rows})
    x = (
        alt.X("share:Q", title="words by the ranking, share of the text")
        .scale(type="log", nice=False)
        .axis(values=shares, format="~%", labelOverlap=True, grid=False)
    )
    y = alt.Y("lost:Q", title="probability lost").axis(tickCount=5)
    chart = alt.Chart()
    drawn = alt.layer(
        chart.mark_line(size=2).encode(x=x, y=y, **look),
        chart.mark_rule(size=1.5, opacity=0.6).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=look["color"]),
        chart.mark_point(size=34, filled=True, opacity=1).encode(
            x=x,
            y=y,
            color=look["color"],
            tooltip=[
                alt.Tooltip("ranking:N"),
                alt.Tooltip("operator:N"),
                alt.Tooltip("share:Q", format="~%"),
                alt.Tooltip("shown:N"),
                alt.Tooltip("n:Q"),
            ],
        ),
        data=alt_data(rows),
    )
    drawn = drawn.properties(width=310, height=210).facet(
        row=alt.Row("side:N", title=None, sort=list(_SIDES.values())),
        column=alt.Column("operator:N", title=None),
    )
    caption = (
        "Above: the probability that the predicted label loses without a ranking's top words; higher is better. "
        "Below: the same with these words alone; lower is better. Both are by the share of words. Bars are "
        "intervals. Random orders are dashed: a line close to them says nothing about the words. Dotted lines know "
        "which words speak for the answer; an attention heatmap does not."
    )
    return declare("eraser-by-share", result.check, caption, drawn)


def _rows(result: CheckResult) -> list[dict[str, Any]]:
    """Measurements at a share of the words."""
    return [
        {
            "ranking": _name(str(m.by.get("ranking", ""))),
            "operator": str(m.by.get("operator", "removal")),
            "side": _SIDES[m.name],
            "share": float(m.by["share"]),
            "lost": m.value,
            "low": m.low if math.isfinite(m.low) else m.value,
            "high": m.high if math.isfinite(m.high) else m.value,
            "shown": f"{number(m.value)} {interval(m)}",
            "n": m.n,
        }
        for m in result.measurements
        if m.name in _SIDES and isinstance(m.by.get("share"), float | int) and math.isfinite(m.value)
    ]


def _styles(rankings: Sequence[str], result: CheckResult) -> dict[str, Style]:
    """One colour per explainer; dotted lines are rankings with a sign."""
    audited = _name(str(result.settings.get("explainer", "attention")))
    colours = {audited: ATTENTION, _name("random"): FLOOR}
    rivals = dict.fromkeys(name.removesuffix(_SIGNED) for name in rankings)
    for at, name in enumerate(name for name in rivals if name not in colours):
        colours[name] = _RIVALS[at % len(_RIVALS)]

    def style(name: str) -> Style:
        dash = _DASHED if name == _name("random") else _DOTTED if name.endswith(_SIGNED) else (1, 0)
        return Style(colours[name.removesuffix(_SIGNED)], dash)

    return {name: style(name) for name in rankings}


def _name(ranking: str) -> str:
    return BY.get(("ranking", ranking), spaced(ranking))
