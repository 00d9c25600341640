"""What a reader sees of the check `dynamics`: attention, relevance and their agreement during training."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import Style, alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.measurement_words import counted, of_quantity, pair_of
from heatcheck.report.table import Table
from heatcheck.report.view import CheckView
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import interval, number, shown

_NAMES = {
    "final attention": "final attention",
    "final uniform relevance": "final relevance under uniform weights",
    "uniform relevance": "relevance under uniform weights",
    "proxy relevance": "bag of words",
    "log-odds": "log-odds",
}


def pairs_in(result: CheckResult) -> list[tuple[str, ...]]:
    """The pairs that were compared, in the order of the check."""
    return list(dict.fromkeys(pair_of(m) for m in result.measurements if m.name == "A"))


def quantity_name(name: str) -> str:
    return _NAMES.get(name, name)


def pair_name(pair: Sequence[str]) -> str:
    """
    >>> pair_name(("attention", "relevance"))
    'attention and relevance'
    """
    return " and ".join(quantity_name(name) for name in pair)


def at_last(result: CheckResult, name: str, pair: tuple[str, ...]) -> Measurement:
    """A measurement of a pair at the last checkpoint."""
    return result.find(name, pair=list(pair), at="last")


def when(result: CheckResult, pair: tuple[str, ...] | None = None) -> str:
    """In words, the step at which a pair (by default the first) starts to agree above its floor."""
    chosen = pairs_in(result)[0] if pair is None else pair
    found = result.find("starts", pair=list(chosen))
    if math.isinf(found.value):
        return f"not by step {of_quantity('starts', found.low)}"
    low, high = (of_quantity("starts", end) for end in (found.low, found.high))
    return f"by step {high}" if found.low == found.high else f"between steps {low} and {high}"


def dynamics_tables(result: CheckResult) -> list[Table]:
    """One row per pair at the end of training; then ξ."""
    rows = []
    for pair in pairs_in(result):
        best = result.find("A", pair=list(pair), at="max")
        rows.append(
            (
                pair_name(pair),
                *(_at_last(result, name, pair) for name in ("A", "A_floor", "A_above", "tau")),
                f"{number(best.value)} at step {best.by['step']:,}",
                when(result, pair),
                counted(best),
            )
        )
    return [
        Table(
            "A: how often the first's highest word is among the second's top words, at the end of training",
            ("pair", "A", "A, shuffled", "A above shuffled", "τ", "largest A at any checkpoint", "starts", "n"),
            rows,
            dense=True,
        ),
        Table(
            "ξ: the accuracy of independent models once their weights predict the reference’s as well as this does",
            ("predicted by", "accuracy", "95% interval", "at step", "compared with", "n"),
            [
                (
                    quantity_name(str(m.by["foretold_by"])),
                    number(m.value) if m.by["reached"] else f"more than {number(m.value)}",
                    interval(m),
                    f"{m.by['step']:,}" if m.by["reached"] else "never",
                    m.baseline,
                    counted(m),
                )
                for m in result.measurements
                if m.name == "xi"
            ],
        ),
    ]


def _at_last(result: CheckResult, name: str, pair: tuple[str, ...]) -> str:
    """The value with its interval; a dash for a τ that is undefined in every text."""
    found = [m for m in result.measurements if m.name == name and pair_of(m) == pair and m.by.get("at") == "last"]
    return shown(found[0] if found else None)


_AGREED, _FLOOR = "agreement A", "the second shuffled"
_LOOKS = {
    _AGREED: Style(ATTENTION),
    _FLOOR: Style(FLOOR, (6, 4)),
    "evenness of the weights": Style(MOST),
    "accuracy: learned weights": Style(ATTENTION),
    "accuracy: uniform weights": Style(RIVAL, (6, 4)),
    "accuracy: bag of words": Style(MOST, (2, 2)),
    "majority-class baseline": Style(FLOOR, (6, 4)),
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
        "Attention follows what a panel names as soon as its line leaves the dashed floor. Lines show "
        "how often "
        "the first's highest word is among the second's top words: means over seeds and texts with 95% "
        "intervals. The dashed line shows the same with shuffled second scores. The axis is "
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
    return [*rows, *({"line": "majority-class baseline", **end} for end in ends)]


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


_SCORES = {"attention": "weight", "relevance": "relevance", "uniform_relevance": "relevance (uniform)"}


def _text(text: Mapping[str, Any], steps: list[int]) -> Any:
    """One text at the chosen checkpoint, with one row per quantity and one box per word."""
    alt = altair()
    rows: Rows = []
    for kind, words in _SCORES.items():
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
    y = alt.Y("kind:N", title=None, sort=list(_SCORES.values())).axis(labelLimit=160)
    boxes = base.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("shade:Q", title=None).scale(domain=[0, 1], range=["#f4f1ea", ATTENTION]).legend(None),
        tooltip=[alt.Tooltip("word:N"), alt.Tooltip("kind:N"), alt.Tooltip("step:Q"), alt.Tooltip("value:Q")],
    )
    room = (WIDTH - 170) // len(text["words"]) - 4
    said = base.mark_text(fontSize=10, limit=room, color="#1b1b1b").encode(x=x, y=y, text=alt.Text("word:N"))
    return (boxes + said).properties(width=WIDTH - 170, height=72, title=f"labelled {text['label']}")


# Words for facts of measurements.
_KINDS = {
    ("fit", "learned"): "learned weights",
    ("fit", "uniform"): "trained with uniform weights",
    ("fit", "proxy"): "bag of words",
    ("at", "last"): "the last checkpoint",
    ("at", "max"): "the checkpoint with the largest value",
    ("reached", "True"): "reached",
    ("reached", "False"): "not reached",
}

_QUANTITIES = (
    Quantity(
        "A",
        "share of texts in which the first’s highest word is among the second’s top words (A)",
        high="The first's highest word is mostly among the second's top words; compare shuffled scores.",
        low="The first's highest word is rarely among the second's top words; compare shuffled scores.",
        unit="share of texts",
    ),
    Quantity(
        "A_floor",
        "A with the second scores shuffled",
        high="Shuffled scores already agree in many texts.",
        low="Shuffled scores agree in few texts.",
        unit="share of texts",
    ),
    Quantity(
        "A_above",
        "A minus A with shuffled scores",
        high="The two agree far more often than shuffled scores.",
        low="The two agree no more often than shuffled scores.",
        unit="share of texts",
    ),
    Quantity(
        "starts",
        "first step after which A stays above that of shuffled scores",
        high="Agreement rises above that of shuffled scores late in training, or never.",
        low="Agreement rises above that of shuffled scores early in training.",
        unit="steps",
        format=",.0f",
        counts="seeds",
    ),
    Quantity(
        "xi",
        "accuracy of independent models once their weights predict the reference's as well (ξ)",
        high="Independent models must be accurate before their weights predict as well.",
        low="Independent models predict as well while they are still inaccurate.",
        unit="share of texts",
    ),
)

VIEW = CheckView(
    "Attention and relevance during training",
    place=140,
    reading="The hypothesis: attention follows what words say about the label. Then relevances from a model "
    "trained without attention should predict where another model's attention goes. heatcheck retrains the recipe with "
    "learned and with uniform weights, and records both during training. A counts how often the most attended word is "
    "among the words with the highest relevance for the right label. Texts are short, so chance agreement is high: "
    "only the part above shuffled scores counts. Attention that follows relevance is not yet an explanation. It shows "
    "how the weights arise, not what the answer is computed from.",
    tables=dynamics_tables,
    figures=(agreement_over_training, texts_over_training),
    quantities=_QUANTITIES,
    kinds=_KINDS,
)
