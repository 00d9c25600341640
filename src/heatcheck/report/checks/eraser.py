"""What a reader sees of the check `eraser`: what an answer loses without a ranking's top words, or with only those."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.cells import named
from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, BAR, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.shared_words import KINDS
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.report.wording import said, spaced
from heatcheck.results import CheckResult, Quantity
from heatcheck.results.written import alone, interval, number, shown

_SIDES = ("comprehensiveness", "sufficiency")


def eraser_tables(result: CheckResult) -> list[Table]:
    """The means over the shares, attention compared with each other ranking, and human rationales."""
    audited = str(result.settings.get("explainer", "attention"))
    return [_means(result), _differences(result, audited), _rationales(result)]


def _means(result: CheckResult) -> Table:
    """Means by the code's definition, as a share of what all words add, and by the paper's definition."""
    code = [m for m in named(result.measurements, "aopc_comprehensiveness") if m.by.get("definition") == "code"]
    rows = []
    for m in (m for m in code if m.by.get("logits") == "published"):
        of = {"ranking": m.by["ranking"], "operator": m.by["operator"], "logits": "published"}
        means = [_cell(result, f"aopc_{side}", **of, definition="code") for side in _SIDES]
        shares = [_cell(result, f"normalised_{side}", plain=True, **of) for side in _SIDES]
        paper = [_cell(result, f"aopc_{side}", plain=True, **of, definition="paper") for side in _SIDES]
        rows.append((_name(str(m.by["ranking"])), said(m.by["operator"]), *means, *shares, *paper, f"{m.n:,}"))
    return Table(
        "Mean over the shares (AOPC, as in the published code); high comprehensiveness and low sufficiency are good",
        (
            "ranking",
            "removed by",
            *_SIDES,
            *(f"{side}, 1 is the empty input" for side in _SIDES),
            *(f"{side} by Eq. 3" for side in _SIDES),
            "n",
        ),
        rows,
        dense=True,
    )


def _differences(result: CheckResult, audited: str) -> Table:
    rows = []
    for m in named(result.measurements, "comprehensiveness_difference"):
        if m.by.get("logits") == "published":
            of = {"pair": m.by["pair"], "operator": m.by["operator"]}
            cells = (
                _cell(result, f"{side}_difference", **of, logits=logits)
                for logits in ("published", "standardised")
                for side in _SIDES
            )
            rows.append((said(m.by["pair"][1]), said(m.by["operator"]), *cells, f"{m.n:,}"))
    return Table(
        f"{said(audited).capitalize()} minus each other ranking, per text; it is better if comprehensiveness is "
        "above 0 and sufficiency below 0",
        (
            "other ranking",
            "removed by",
            *_SIDES,
            *(f"{side}, {KINDS['logits', 'standardised']}" for side in _SIDES),
            "n",
        ),
        rows,
    )


def _rationales(result: CheckResult) -> Table:
    share = result.facts.get("rationale_share")
    rows = [
        (
            _name(str(m.by["ranking"])),
            said(m.by["operator"]),
            *(_cell(result, side, **{key: m.by[key] for key in ("ranking", "operator", "share")}) for side in _SIDES),
            f"{m.n:,}",
        )
        for m in named(result.measurements, "comprehensiveness")
        if m.by.get("share") == "rationale"
    ]
    many = f" ({share:.1%} of the words)" if isinstance(share, float) else ""
    return Table(
        f"With as many words as people mark on average{many}, and with the words that people marked",
        ("ranking", "removed by", *_SIDES, "n"),
        rows,
    )


def _cell(result: CheckResult, name: str, *, plain: bool = False, **by: object) -> str:
    """The number with its interval, or alone; a dash if it was not measured."""
    found = [m for m in named(result.measurements, name) if all(m.by.get(key) == value for key, value in by.items())]
    return (alone if plain else shown)(found[0] if found else None)


_PANELS = {"comprehensiveness": "without them (comprehensiveness)", "sufficiency": "with them only (sufficiency)"}
_RIVALS = (RIVAL, MECHANICAL, MOST, BAR)
_SIGNED = " (signed)"
_DASHED, _DOTTED = (6, 4), (2, 3)
_SOLID = ((12, 3), (9, 3, 2, 3), (4, 2), (14, 3, 2, 3, 2, 3))  # of other methods: apart without their colours, too


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
        row=alt.Row("side:N", title=None, sort=list(_PANELS.values())),
        column=alt.Column("operator:N", title=None),
    )
    caption = (
        "A good ranking is high above (its words gone) and low below (its words alone). Both show the probability that "
        "the predicted label loses, by the share of words. Bars are "
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
            "side": _PANELS[m.name],
            "share": float(m.by["share"]),
            "lost": m.value,
            "low": m.low if math.isfinite(m.low) else m.value,
            "high": m.high if math.isfinite(m.high) else m.value,
            "shown": f"{number(m.value)} {interval(m)}",
            "n": m.n,
        }
        for m in result.measurements
        if m.name in _PANELS and isinstance(m.by.get("share"), float | int) and math.isfinite(m.value)
    ]


def _styles(rankings: Sequence[str], result: CheckResult) -> dict[str, Style]:
    """One colour per explainer; dotted lines are rankings with a sign."""
    audited = _name(str(result.settings.get("explainer", "attention")))
    colours = {audited: ATTENTION, _name("random"): FLOOR}
    dashes: dict[str, tuple[int, ...]] = {audited: (1, 0)}
    rivals = dict.fromkeys(name.removesuffix(_SIGNED) for name in rankings)
    for at, name in enumerate(name for name in rivals if name not in colours):
        colours[name], dashes[name] = _RIVALS[at % len(_RIVALS)], _SOLID[at % len(_SOLID)]

    def style(name: str) -> Style:
        dash = _DASHED if name == _name("random") else _DOTTED if name.endswith(_SIGNED) else dashes[name]
        return Style(colours[name.removesuffix(_SIGNED)], dash)

    return {name: style(name) for name in rankings}


def _name(ranking: str) -> str:
    return KINDS.get(("ranking", ranking), spaced(ranking))


# Words for facts of measurements.
_KINDS = {
    ("definition", "code"): "as in the published code",
    ("definition", "paper"): "as in the paper's Eq. 3",
    ("share", "rationale"): "as many words as people mark",
}

_QUANTITIES = (
    Quantity(
        "comprehensiveness",
        "probability lost without the ranking's words (comprehensiveness)",
        high="The predicted label loses much probability without these words.",
        low="The predicted label keeps its probability without these words.",
        unit="probability",
    ),
    Quantity(
        "sufficiency",
        "probability lost with the ranking's words alone (sufficiency)",
        high="The predicted label loses much probability with these words alone.",
        low="The predicted label keeps its probability with these words alone.",
        unit="probability",
    ),
    Quantity(
        "aopc_comprehensiveness",
        "comprehensiveness, mean over the shares removed (AOPC)",
        high="The predicted label loses much probability without the ranking's top words.",
        low="The predicted label keeps its probability without the ranking's top words.",
        unit="probability",
    ),
    Quantity(
        "aopc_sufficiency",
        "sufficiency, mean over the shares kept (AOPC)",
        high="The predicted label loses much probability with the top words alone.",
        low="The predicted label keeps its probability with the top words alone.",
        unit="probability",
    ),
    Quantity(
        "normalised_comprehensiveness",
        "comprehensiveness (AOPC) as a share of what all words add",
        high="Removing the top words loses most of what all words add.",
        low="Removing the top words loses little of what all words add.",
        unit="share",
    ),
    Quantity(
        "normalised_sufficiency",
        "sufficiency (AOPC) as a share of what all words add",
        high="The top words alone lose most of what all words add.",
        low="The top words alone lose little of what all words add.",
        unit="share",
    ),
    Quantity(
        "comprehensiveness_difference",
        "comprehensiveness (AOPC), the first minus the second",
        high="The model loses more without the first ranking's words than without the second's.",
        low="The model loses less without the first ranking's words than without the second's.",
        unit="probability",
    ),
    Quantity(
        "sufficiency_difference",
        "sufficiency (AOPC), the first minus the second",
        high="The first ranking's words alone lose more probability than the second's.",
        low="The first ranking's words alone lose less probability than the second's.",
        unit="probability",
    ),
    Quantity(
        "null_difference",
        "probability lost without any words (what all words add)",
        high="The words together add much to the predicted label's probability.",
        low="The words together add little to the predicted label's probability.",
        unit="probability",
    ),
)

VIEW = CheckView(
    "Removing or keeping only the highlighted words (ERASER)",
    place=30,
    reading="A rationale is the top share of a text's words by some ranking. Comprehensiveness is the probability "
    "that the predicted label loses without the rationale. Sufficiency is what it loses when only the rationale is "
    "left. A good rationale has high comprehensiveness and low sufficiency. Models were not trained on half-empty "
    "texts, so part of every loss is mere surprise. Random orders suffer it too, so compare with them. A negative "
    "sufficiency means that the other words spoke against the answer.",
    tables=eraser_tables,
    figures=(losses_by_share,),
    quantities=_QUANTITIES,
    kinds=_KINDS,
)
