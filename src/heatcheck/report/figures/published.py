"""Figure of a study: each of our numbers against the published one, with the line on which both are equal."""

import math
from collections.abc import Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import FLOOR, HONEST, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.study_view import StudyView
from heatcheck.report.study_wording import STATES, class_name, model_name, quantity_name, with_interval
from heatcheck.results import Row, StudyResult
from heatcheck.results.written import number

SIDE = 330  # pixels of a panel, which is a square
_LOOKS = {
    "inside the seed interval": (MOST, "circle"),
    "outside": (RIVAL, "diamond"),
    "not comparable": (FLOOR, "cross"),
    "one seed only": (HONEST, "triangle-up"),
}
_SHARES = "shares, correlations and distances"
_OTHERS = "other numbers, on a logarithmic scale"


def ours_against_theirs(found: StudyResult, view: StudyView) -> Figure | None:
    """A scatter of all numbers that were published, those up to 1 in one panel, larger ones in another."""
    whose, rows = "the paper", [_row(row, row.paper, row.comparison, found, view) for row in found.rows]
    if not any(rows):
        whose = view.rerun.whose
        rows = [_row(row, row.rerun, row.rerun_comparison, found, view) for row in found.rows]
    points = [row for row in rows if row]
    if not points:
        return None
    panels = {
        _SHARES: [row for row in points if max(abs(row["ours"]), abs(row["theirs"])) <= 1.05],
        _OTHERS: [
            row for row in points if max(row["ours"], row["theirs"]) > 1.05 and min(row["ours"], row["theirs"]) > 0
        ],
    }
    states = [state for state in _LOOKS if any(row["state"] == state for row in points)]
    drawn = [_panel(of, states, whose, title) for title, of in panels.items() if of]
    if not drawn:
        return None
    shown = sum(map(len, panels.values()))
    counts = ", ".join(f"{sum(row['state'] == state for row in points)} {state}" for state in states)
    caption = (
        f"A point on the diagonal is a number of ours that equals {whose}'s; above it, ours is larger. "
        "Vertical bars are "
        "the 95% intervals of our means over seeds. “Inside” means that the published number is within the interval of "
        f"one further seed. The {len(points)} numbers are: {counts}."
    )
    if shown < len(points):
        caption += f" {len(points) - shown} do not fit these axes and are in the tables only."
    return declare("published", "published", caption, altair().concat(*drawn, columns=2, spacing=40))


def _row(row: Row, theirs: float | None, comparison: str, found: StudyResult, view: StudyView) -> dict[str, Any] | None:
    state = next((words for key, words in STATES.items() if key == comparison), None)
    if theirs is None or state is None or not math.isfinite(row.value) or row.key in view.chosen:
        return None
    labels: Sequence[str] = next((m.labels for m in found.models if (m.task, m.encoder) == (row.task, row.encoder)), ())
    low, high = (end if math.isfinite(end) else row.value for end in (row.low, row.high))
    what = ", ".join(filter(None, [quantity_name(row, labels, view), class_name(row.of_class, labels)]))
    return {
        "what": what,
        "model": f"{row.task}, {model_name(row.encoder, row.attention)}",
        "ours": round(row.value, 5),
        "low": round(low, 5),
        "high": round(high, 5),
        "theirs": round(theirs, 5),
        "state": state,
        "written": with_interval(row),
        "published": number(theirs),
    }


def _panel(rows: Sequence[dict[str, Any]], states: Sequence[str], whose: str, title: str) -> Any:
    alt = altair()
    values = [float(row[key]) for row in rows for key in ("ours", "theirs")]
    logarithmic = title == _OTHERS
    if logarithmic:
        span = [min(values) / 1.3, max(values) * 1.3]
    else:
        span = [math.floor(10 * min(0.0, *values)) / 10, math.ceil(10 * max(0.1, *values)) / 10]
    rows = [{**row, "low": max(row["low"], span[0]), "high": min(row["high"], span[1])} for row in rows]
    scale = alt.Scale(domain=span, nice=False, zero=False, **({"type": "log"} if logarithmic else {}))
    x = alt.X("theirs:Q", title=whose, scale=scale).axis(tickCount=5)
    y = alt.Y("ours:Q", title="ours", scale=scale).axis(tickCount=5)
    looks = {state: _LOOKS[state] for state in states}
    colour = alt.Color("state:N", title=None).scale(domain=states, range=[look[0] for look in looks.values()])
    shape = alt.Shape("state:N", title=None).scale(domain=states, range=[look[1] for look in looks.values()])
    chart = alt.Chart(alt_data(rows))
    diagonal = alt.Chart(alt_data([{"theirs": end, "ours": end} for end in span]))
    layers = [
        diagonal.mark_line(strokeDash=[5, 4], color=FLOOR, strokeWidth=1.5).encode(x=x, y=y),
        chart.mark_rule(size=1.5, opacity=0.45).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_point(filled=True, size=60, opacity=0.9).encode(
            x=x,
            y=y,
            color=colour.legend(orient="top", labelLimit=0, columns=2),
            shape=shape,
            tooltip=[
                alt.Tooltip("model:N"),
                alt.Tooltip("what:N"),
                alt.Tooltip("written:N", title="ours"),
                alt.Tooltip("published:N", title="published"),
                alt.Tooltip("state:N"),
            ],
        ),
    ]
    return alt.layer(*layers).properties(width=SIDE, height=SIDE, title=title)
