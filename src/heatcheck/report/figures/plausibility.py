"""Agreement of methods with human rationales, each beside both kinds of chance."""

import math
from collections.abc import Mapping
from typing import Any

from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, RIVAL, Figure, altair, declare
from heatcheck.report.wording import spaced
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import interval, number

_LOOKS = {
    "attention": (ATTENTION, "diamond"),
    "other method": (RIVAL, "circle"),
    "random scores": (FLOOR, "cross"),
    "random spans": (MECHANICAL, "triangle-up"),
}
_HARD = {"rationale": "top k", "average": "macro"}
_PANELS: dict[str, tuple[str, Mapping[str, str]]] = {
    "AUPRC": ("auprc", {}),
    "F1 of words, top k": ("token_f1", _HARD),
    "F1 of spans, top k": ("iou_f1", _HARD),
}


def agreement_with_people(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One row per method, one panel per measure."""
    alt = altair()
    rows = [row for panel in _PANELS for row in _rows(result, panel)]
    if not rows:
        return None
    order = list(dict.fromkeys(row["explanation"] for row in rows))
    y = alt.Y("explanation:N", title=None, sort=order).axis(labelLimit=220, grid=True)
    kinds = list(_LOOKS)
    colours, shapes = ([look[at] for look in _LOOKS.values()] for at in (0, 1))
    colour = alt.Color("kind:N", title=None).scale(domain=kinds, range=colours).legend(orient="top", labelLimit=0)
    chart = alt.Chart()
    ends = chart.mark_rule(size=2.5).encode(y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour)
    dots = chart.mark_point(size=95, filled=True, opacity=1).encode(
        y=y,
        x=alt.X("value:Q", title="mean over texts").scale(zero=True).axis(tickCount=4),
        color=colour,
        shape=alt.Shape("kind:N", title=None).scale(domain=kinds, range=shapes),
        tooltip=[
            alt.Tooltip("explanation:N"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("panel:N"),
            alt.Tooltip("shown:N", title="mean"),
            alt.Tooltip("n:Q"),
        ],
    )
    layers = alt.layer(ends, dots, data=alt.Data(values=rows)).properties(width=200, height=max(34 * len(order), 60))
    drawn = layers.facet(column=alt.Column("panel:N", title=None, sort=list(_PANELS))).resolve_scale(x="independent")
    caption = (
        "Agreement with people's marks; bars are intervals. A plausible method is far to the right of both kinds of "
        "chance in its row. All are means over the same texts, so a difference can be significant although intervals "
        "overlap: see P. This says nothing about why the model decided."
    )
    return declare("plausibility-agreement", result.check, caption, drawn)


def _rows(result: CheckResult, panel: str) -> list[dict[str, Any]]:
    name, how = _PANELS[panel]
    found = {tuple(sorted(m.by.items())): m for m in result.measurements if m.name == name}

    def one(**by: str) -> Measurement | None:
        return found.get(tuple(sorted({**by, **how}.items())))

    rows = []
    for explainer in map(str, result.facts.get("explainers", ())):
        marks = {
            "attention" if explainer == "attention" else "other method": one(explainer=explainer),
            "random scores": one(explainer="random"),
            "random spans": one(explainer="random spans", matched=explainer),
        }
        rows += [
            {
                "explanation": spaced(explainer),
                "kind": kind,
                "panel": panel,
                "value": round(m.value, 5),
                "low": round(m.low if math.isfinite(m.low) else m.value, 5),
                "high": round(m.high if math.isfinite(m.high) else m.value, 5),
                "shown": f"{number(m.value)} {interval(m)}",
                "n": m.n,
            }
            for kind, m in marks.items()
            if m is not None and math.isfinite(m.value)
        ]
    return rows
