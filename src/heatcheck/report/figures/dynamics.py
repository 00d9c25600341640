"""Attention, relevance and their agreement during training: small multiples, and texts with a slider."""

from collections.abc import Mapping
from typing import Any

from heatcheck.report.dynamics_tables import at_last, pair_name, pairs_in, when
from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.results import CheckResult, Measurement
from heatcheck.results.written import number

_AGREED, _FLOOR = "agreement A", "the second shuffled"
_LOOKS = {
    _AGREED: Style(ATTENTION),
    _FLOOR: Style(FLOOR, (6, 4)),
    "evenness of the weights": Style(MOST),
    "accuracy: learned weights": Style(ATTENTION),
    "accuracy: uniform weights": Style(RIVAL, (6, 4)),
    "accuracy: bag of words": Style(MOST, (2, 2)),
    "the commonest label": Style(FLOOR, (6, 4)),
}
_FITS = {"learned": "learned weights", "uniform": "uniform weights", "proxy": "bag of words"}
COLUMNS = 3
WIDEST = 46  # characters of a title over a panel


def agreement_over_training(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """One panel per pair with its floor, then the evenness of the weights and the accuracy of the models."""
    pairs = pairs_in(result)
    if not pairs:
        return None
    panels = [(pair_name(pair), _agreement_rows(result, pair)) for pair in pairs]
    panels += [("evenness of the weights", _evenness_rows(result)), ("accuracy", _accuracy_rows(result))]
    alt = altair()
    wide = (WIDTH - 150) // COLUMNS
    drawn = [
        _panel(rows, title, wide, bottom=at >= len(panels) - COLUMNS, left=at % COLUMNS == 0)
        for at, (title, rows) in enumerate(panels)
    ]
    chart = alt.concat(*drawn, columns=COLUMNS, spacing=18).resolve_scale(color="shared", strokeDash="shared")
    first = at_last(result, "A", pairs[0])
    floor = at_last(result, "A_floor", pairs[0])
    caption = (
        "How often the first's highest word is among the second's top words during training: means over seeds and "
        "texts with 95% intervals. The dashed line shows the same with shuffled second scores. The axis is "
        f"logarithmic and shows steps plus one, so that the start is visible. At the end, {pair_name(pairs[0])} agree "
        f"in {number(first.value)} of the texts ({number(floor.value)} by chance). Agreement above chance starts "
        f"{when(result)}."
    )
    return declare("dynamics-agreement", result.check, caption, chart)


def _rows(found: list[Measurement], line: str) -> Rows:
    return [
        {
            "line": line,
            "x": int(m.by["step"]) + 1,
            "step": int(m.by["step"]),
            "y": round(m.value, 4),
            # Off the axis there is nothing to see: an interval of few seeds may be wider than what is possible.
            "low": round(max(m.low, 0.0), 4),
            "high": round(min(m.high, 1.0), 4),
        }
        for m in found
        if "at" not in m.by
    ]


def _agreement_rows(result: CheckResult, pair: tuple[str, ...]) -> Rows:
    def of(name: str) -> list[Measurement]:
        return [m for m in result.measurements if m.name == name and tuple(m.by.get("pair", ())) == pair]

    return [*_rows(of("A"), _AGREED), *_rows(of("A_floor"), _FLOOR)]


def _evenness_rows(result: CheckResult) -> Rows:
    return _rows([m for m in result.measurements if m.name == "evenness"], "evenness of the weights")


def _accuracy_rows(result: CheckResult) -> Rows:
    rows = [
        row
        for fit, words in _FITS.items()
        for row in _rows(
            [m for m in result.measurements if m.name == "accuracy" and m.by.get("fit") == fit], f"accuracy: {words}"
        )
    ]
    prior = next((m.value for m in result.measurements if m.name == "prior"), None)
    steps = sorted({row["step"] for row in rows})
    if prior is None or not steps:
        return rows
    level = round(prior, 4)
    ends = [{"x": at + 1, "step": at, "y": level, "low": level, "high": level} for at in (steps[0], steps[-1])]
    return [*rows, *({"line": "the commonest label", **end} for end in ends)]


def _panel(rows: Rows, title: str, width: int, *, bottom: bool, left: bool) -> Any:
    alt = altair()
    names = list(_LOOKS)
    x = alt.X("x:Q", title="steps of training + 1" if bottom else None).scale(type="log", nice=False)
    x = x.axis(values=[1, 10, 100, 1000, 10_000, 100_000], format="~s", grid=False)
    scale = alt.Scale(domain=[0, 1])
    colour = (
        alt.Color("line:N", title=None)
        .scale(domain=names, range=[style.colour for style in _LOOKS.values()])
        .legend(orient="bottom", columns=3, labelLimit=0, symbolType="stroke", symbolSize=400, symbolOpacity=1)
    )
    dash = alt.StrokeDash("line:N", title=None).scale(
        domain=names, range=[list(style.dash) for style in _LOOKS.values()]
    )
    base = alt.Chart(alt_data(rows))
    band = base.mark_area(opacity=0.18).encode(
        x=x, y=alt.Y("low:Q", title=None).scale(scale), y2=alt.Y2("high:Q"), color=colour
    )
    line = base.mark_line(strokeWidth=2, point={"size": 14}).encode(
        x=x,
        y=alt.Y("y:Q", title="share" if left else None).scale(scale).axis(tickCount=5),
        color=colour,
        strokeDash=dash,
        tooltip=[
            alt.Tooltip("line:N"),
            alt.Tooltip("step:Q"),
            alt.Tooltip("y:Q"),
            alt.Tooltip("low:Q"),
            alt.Tooltip("high:Q"),
        ],
    )
    return (band + line).properties(width=width, height=150, title=_lines(title))


def _lines(title: str) -> str | list[str]:
    """The title in two lines if it is wider than a panel.

    >>> _lines("attention and relevance")
    'attention and relevance'
    >>> _lines("leave-one-out influence and final relevance under uniform weights")
    ['leave-one-out influence and', 'final relevance under uniform weights']
    """
    first, word, second = title.partition(" and ")
    return [first + word.rstrip(), second] if len(title) > WIDEST else title


def texts_over_training(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """A few texts with words shaded by weight and by relevance, at a step that the reader chooses."""
    texts = result.facts.get("shown_texts", [])
    steps = list(result.facts.get("steps", []))
    if not texts or not steps:
        return None
    alt = altair()
    chosen = alt.param(
        name="checkpoint",
        value=len(steps) - 1,
        bind=alt.binding_range(min=0, max=len(steps) - 1, step=1, name="training checkpoint: "),
    )
    drawn = [_text(text, steps) for text in texts]
    chart = alt.vconcat(*drawn, spacing=14).add_params(chosen).resolve_scale(color="independent")
    caption = (
        "The words of some texts at one training checkpoint. The rows show their weights, their relevances for the "
        "right label, and their relevances in a model trained with uniform weights. Each row is shaded from its "
        "smallest to its largest value at any checkpoint. Move the slider to see which of the three comes first. "
        f"Checkpoints are after {', '.join(f'{step:,}' for step in steps)} steps."
    )
    return declare("dynamics-texts", result.check, caption, chart)


_KINDS = {"attention": "weight", "relevance": "relevance", "uniform_relevance": "relevance (uniform)"}


def _text(text: Mapping[str, Any], steps: list[int]) -> Any:
    """One text at the chosen checkpoint, with one row per quantity and one box per word."""
    alt = altair()
    rows: Rows = []
    for kind, words in _KINDS.items():
        least = min(map(min, text[kind]))
        span = (max(map(max, text[kind])) - least) or 1.0
        rows += [
            {
                "at": at,
                "step": step,
                "kind": words,
                "place": place,
                "word": word,
                "value": text[kind][at][place],
                "shade": round((text[kind][at][place] - least) / span, 3),
            }
            for at, step in enumerate(steps)
            for place, word in enumerate(text["words"])
        ]
    base = alt.Chart(alt_data(rows)).transform_filter("datum.at == checkpoint")
    x = alt.X("place:O", title=None).axis(None)
    y = alt.Y("kind:N", title=None, sort=list(_KINDS.values())).axis(labelLimit=160)
    boxes = base.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("shade:Q", title=None).scale(domain=[0, 1], range=["#f4f1ea", ATTENTION]).legend(None),
        tooltip=[alt.Tooltip("word:N"), alt.Tooltip("kind:N"), alt.Tooltip("step:Q"), alt.Tooltip("value:Q")],
    )
    room = (WIDTH - 170) // len(text["words"]) - 4
    said = base.mark_text(fontSize=10, limit=room, color="#1b1b1b").encode(x=x, y=y, text=alt.Text("word:N"))
    return (boxes + said).properties(width=WIDTH - 170, height=72, title=f"labelled {text['label']}")
