"""What a reader sees of the check `log_odds`: the model's weights compared with those of a bag of words."""

import math
from collections.abc import Mapping

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import FLOOR, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import interval, number

_WEIGHTS = {
    "log_odds": "weights of the bag of words",
    "uniform": "uniform weights",
    "shuffled": "those of the bag of words, shuffled",
}
_CHANCE = ("uniform", "shuffled")


def decisions_that_change(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One row per replacement: the share of decisions that it changes."""
    rows = [
        {
            "of": _WEIGHTS.get(str(m.by.get("weights"))) or f"{m.by.get('words')} words at {m.by.get('places')} places",
            "kind": "chance" if m.by.get("weights") in _CHANCE or m.by.get("words") == "random" else "bag of words",
            "value": m.value,
            "low": m.low if math.isfinite(m.low) else m.value,
            "high": m.high if math.isfinite(m.high) else m.value,
            "shown": f"{number(m.value)} {interval(m)}",
        }
        for m in result.measurements
        if m.name == "flips" and math.isfinite(m.value)
    ]
    if not rows:
        return None
    alt = altair()
    width = WIDTH - 420
    y = alt.Y("of:N", sort=None, title=None).axis(labelLimit=260, grid=True)
    kinds = {"domain": ["bag of words", "chance"]}
    colour = alt.Color("kind:N", title=None).scale(**kinds, range=[RIVAL, FLOOR]).legend(orient="top")
    shape = alt.Shape("kind:N", title=None).scale(**kinds, range=["circle", "cross"])
    x = alt.X("value:Q", title="share of texts whose decision changes").scale(zero=True).axis(tickCount=5)
    chart = alt.Chart()
    drawn = alt.layer(
        chart.mark_rule(size=2.5).encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour),
        chart.mark_point(size=85, filled=True, opacity=1).encode(y=y, x=x, color=colour, shape=shape),
        chart.mark_text(align="left", fontSize=11).encode(y=y, x=alt.XValue(width + 8), text=alt.Text("shown:N")),
        data=alt_data(rows),
    ).properties(width=width, height=max(26 * len(rows), 60))
    caption = (
        "Further right, more decisions change when these weights or words replace the model's own. If those of the bag "
        "of words are no further left than chance, they have nothing to do with the model's. Bars are 95% intervals."
    )
    return declare("log-odds-decisions", result.check, caption, drawn)


_QUANTITIES = (
    Quantity(
        "jsd",
        "JSD between the model's weights and these",
        high="The model's weights differ a lot from these.",
        low="The model's weights nearly equal these.",
        unit="nats",
        check="log_odds",
    ),
    Quantity(
        "change",
        "mean change of the probability",
        high="The replacement moves the probability a lot.",
        low="The replacement hardly moves the probability.",
        unit="probability",
        check="log_odds",
    ),
    Quantity(
        "flips",
        "share of texts whose decision changes",
        high="The replacement changes many decisions.",
        low="The replacement changes few decisions.",
        unit="share of texts",
        check="log_odds",
    ),
)

VIEW = CheckView(
    "Weights and words of a bag of words",
    place=160,
    figures=(decisions_that_change,),
    quantities=_QUANTITIES,
)
