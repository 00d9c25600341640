"""What a reader sees of the check `plausibility`: agreement with people's marks, beside random scores and spans."""

import math
from collections.abc import Mapping
from typing import Any

from heatcheck.report.compared_values import Compared, only_attention
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, RIVAL, Figure, altair, declare
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.report.wording import said, spaced
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import alone, interval, number, shown

RANDOM, SPANS = "random", "random spans"


def plausibility_tables(result: CheckResult) -> list[Table]:
    """Areas, choices of words, and the published definitions."""
    explainers = [str(name) for name in result.facts.get("explainers", ())]
    return [_areas(result, explainers), _hard(result, explainers), _published(result, explainers)]


def _areas(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    for name in explainers:
        own = _find(result, "auprc", explainer=name)
        share = _find(result, "P", explainer=name)
        if own is None:
            continue
        rows.append(
            (
                spaced(name),
                number(own.value),
                interval(own),
                *_chances(result, "auprc", name),
                shown(share),
                f"{own.n:,}",
            )
        )
    columns = ("method", "AUPRC", "95% interval", "random scores", "random spans", "P", "n")
    title = (
        "How high each method ranks the marked words; P goes from the better kind of chance (0) to full agreement (1)"
    )
    return Table(title, columns, rows)


def _hard(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    for kind in ("top k", "window"):
        for name in explainers:
            how = {"rationale": kind, "average": "macro"}
            found = [_find(result, measure, explainer=name, **how) for measure in ("token_f1", "iou_f1")]
            cells = [
                (shown(own), *_chances(result, measure, name, **how))
                for measure, own in zip(("token_f1", "iou_f1"), found, strict=True)
            ]
            if any(found):
                rows.append((f"{spaced(name)}, {kind}", *cells[0], *cells[1]))
    chance = ("random scores", "random spans")
    columns = ("method", "F1 of words", *chance, "F1 of spans", *chance)
    share = result.facts.get("share_of_words")
    size = f"{share:.0%} of the words of each text" if isinstance(share, float) else "as many words as people mark"
    origin = said(result.settings.get("share", ""))
    title = f"Choosing {size} ({origin}): the highest words, or the best run of words; means over texts"
    return Table(title, columns, rows, dense=True)


def _published(result: CheckResult, explainers: list[str]) -> Table:
    rows = []
    who = [{"explainer": name} for name in [*explainers, RANDOM]]
    for by in who:
        areas = [_find(result, name, **by) for name in ("auprc", "average_precision")]
        spans = [
            _find(result, "iou_f1", **by, rationale="top k", average=average)
            for average in ("macro as published", "macro", "micro")
        ]
        if any(areas):
            rows.append((spaced(by["explainer"]), *map(alone, (*areas, *spans))))
    columns = (
        "method",
        "AUPRC, trapezoids (published)",
        "average precision",
        "F1 of spans, from mean precision and recall (published)",
        "mean F1 of spans",
        "F1 of all spans",
    )
    return Table("The same agreement by the published definitions and by alternatives", columns, rows)


def _find(result: CheckResult, name: str, **by: str) -> Measurement | None:
    """The measurement with exactly these facts."""
    return next((m for m in result.measurements if m.name == name and dict(m.by) == by), None)


def _chances(result: CheckResult, name: str, explainer: str, **how: str) -> tuple[str, str]:
    chance = _find(result, name, explainer=RANDOM, **how)
    spans = _find(result, name, explainer=SPANS, matched=explainer, **how)
    return alone(chance), alone(spans)


_LOOKS = {
    "attention": (ATTENTION, "diamond"),
    "other method": (RIVAL, "circle"),
    "random scores": (FLOOR, "cross"),
    "random spans": (MECHANICAL, "triangle-up"),
}
_TOP_K = {"rationale": "top k", "average": "macro"}
_PANELS: dict[str, tuple[str, Mapping[str, str]]] = {
    "AUPRC": ("auprc", {}),
    "F1 of words, top k": ("token_f1", _TOP_K),
    "F1 of spans, top k": ("iou_f1", _TOP_K),
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
        "A plausible method stands far to the right of both kinds of chance in its row. The axes show agreement with "
        "people's marks; bars are intervals. All are means over the same texts, so a difference can be "
        "significant although intervals "
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
            "attention" if explainer == result.heatmap else "other method": one(explainer=explainer),
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


_QUANTITIES = (
    Quantity(
        "P",
        "agreement with people beyond chance, relative to full agreement (P)",
        high="The heatmap marks almost exactly the words that people marked.",
        low="The heatmap agrees with people's marks hardly more than chance does.",
        unit="share",
    ),
    Quantity(
        "auprc",
        "AUPRC (area under the precision-recall curve)",
        high="The explanation scores marked words above others.",
        low="The explanation scores marked words no higher than others; compare chance.",
    ),
    Quantity(
        "average_precision",
        "average precision (the same area, computed in steps)",
        high="The explanation scores marked words above others.",
        low="The explanation scores marked words no higher than others; compare chance.",
    ),
    Quantity(
        "token_f1",
        "F1 of words",
        high="The explanation marks mostly the words that people marked.",
        low="The explanation marks few of the words that people marked.",
    ),
    Quantity(
        "iou_f1",
        "F1 of spans that overlap by half",
        high="The explanation's spans mostly overlap people's spans by half or more.",
        low="The explanation's spans rarely overlap people's spans by half.",
    ),
    Quantity(
        "auprc_gain",
        "AUPRC above chance",
        high="The explanation agrees with people more than chance does.",
        low="The explanation agrees with people no more than chance does.",
    ),
    Quantity(
        "token_f1_gain",
        "F1 of words above chance",
        high="The explanation agrees with people more than chance does.",
        low="The explanation agrees with people no more than chance does.",
    ),
    Quantity(
        "iou_f1_gain",
        "F1 of spans above chance",
        high="The explanation agrees with people more than chance does.",
        low="The explanation agrees with people no more than chance does.",
    ),
    Quantity(
        "room",
        "gap between chance and full agreement",
        high="Chance agrees little with people's marks.",
        low="Chance agrees with people's marks almost fully, so P says little.",
        check="plausibility",
    ),
    Quantity(
        "marked",
        "share of the words that people marked",
        high="People marked most of the words.",
        low="People marked few of the words.",
        unit="share of words",
    ),
)

VIEW = CheckView(
    "Agreement with human rationales",
    place=190,
    reading="People marked the words that support the label. This check asks only whether a heatmap marks the "
    "same words. A plausible heatmap may have no part in the answer, and a faithful one may please nobody. Compare "
    "every number with both kinds of chance. Random scores show what guessing finds. Random spans move the heatmap's "
    "own runs of words to random places, so that long runs earn nothing by themselves.",
    held="the scores, the words and the human marks; this check does not use the model's answer",
    tables=plausibility_tables,
    figures=(agreement_with_people,),
    quantities=_QUANTITIES,
    compared=(Compared("auprc", "AUPRC with human rationales: {}", only_attention),),
)
