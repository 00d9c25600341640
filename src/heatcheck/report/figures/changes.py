"""What each treatment changes: a forest plot per number, in which further right is always better."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import HONEST, MECHANICAL, altair
from heatcheck.report.figures.shapes import Rows
from heatcheck.results.treatments import Difference, TreatedRow

THAN = {"change": "untreated models", "beyond": "equally sharp weights"}  # short: a legend must fit a phone
WIDE = 215  # pixels of a panel
SIGNED = "datum.value == 0 ? '0' : format(datum.value, '+~g')"


def changes_of(rows: Sequence[TreatedRow], titles: Mapping[str, str], lower_is_better: str) -> Any | None:
    """One panel per number that could be asked, one row per treatment; None if there is none.

    Args:
        titles: of the panels, by line.
        lower_is_better: the line whose axis is turned round.
    """
    drawn = {line: _marks(rows, line) for line in titles}
    panels = [
        _panel(marks, titles[line], turned=line == lower_is_better, order=[row.name for row in rows])
        for line, marks in drawn.items()
        if marks
    ]
    if not panels:
        return None
    return (
        altair()
        .concat(*panels, columns=len(panels) if len(panels) < 4 else 2, spacing=24)
        .resolve_scale(color="shared", shape="shared")
    )


def _marks(rows: Sequence[TreatedRow], line: str) -> Rows:
    """A mark for each difference that is known."""
    found: Rows = []
    for row in rows:
        for kind, words in THAN.items():
            one: Difference | None = getattr(row.cell(line), kind)
            if one is not None and math.isfinite(one.value):
                ends = {
                    end: at if math.isfinite(at) else one.value for end, at in (("low", one.low), ("high", one.high))
                }
                found.append({"treatment": row.name, "than": words, "value": one.value, **ends})
    return found


def _panel(marks: Rows, title: str, *, turned: bool, order: Sequence[str]) -> Any:
    alt = altair()
    kinds = list(THAN.values())
    y = alt.Y("treatment:N", title=None, sort=list(order)).axis(grid=True, labelLimit=140)
    beside = alt.YOffset("than:N", sort=kinds)
    scale = alt.Scale(reverse=turned, nice=True)
    colour = alt.Color("than:N", title="compared with").scale(domain=kinds, range=[HONEST, MECHANICAL])
    legend = alt.Legend(orient="top", labelLimit=0, columns=1)
    base = alt.Chart(alt_data(marks))
    x = alt.X("value:Q", title="difference").scale(scale).axis(tickCount=3, labelExpr=SIGNED)
    ends = base.mark_rule(size=2.5).encode(
        x=alt.X("low:Q").scale(scale), x2=alt.X2("high:Q"), y=y, yOffset=beside, color=colour.legend(legend)
    )
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x,
        y=y,
        yOffset=beside,
        color=colour.legend(legend),
        shape=alt.Shape("than:N", title="compared with").scale(domain=kinds, range=["circle", "square"]).legend(legend),
        tooltip=[
            alt.Tooltip("treatment:N"),
            alt.Tooltip("than:N"),
            *(alt.Tooltip(f"{name}:Q", format="+.3f") for name in ("value", "low", "high")),
        ],
    )
    none = alt.Chart(alt_data([{"at": 0}])).mark_rule(strokeDash=[5, 4], size=1.5).encode(x=alt.X("at:Q").scale(scale))
    return alt.layer(none, ends, dots).properties(width=WIDE, height=alt.Step(13), title=title)
