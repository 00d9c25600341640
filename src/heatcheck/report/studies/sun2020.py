"""Page and figures for Sun & Lu 2020: attention scores divided by a scale λ, and how well they find polar words."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MECHANICAL, MOST, RIVAL, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_columns import Columns, in_columns
from heatcheck.report.study_quantities import RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, Rerun, StudyView
from heatcheck.report.study_wording import two_digits, with_half, with_interval
from heatcheck.results import Row, StudyResult, key

_AUC = {
    "auc:polar": ("attention score, polar", ATTENTION, "diamond"),
    "auc:positive": ("positive only", MOST, "triangle-up"),
    "auc:negative": ("negative only", MECHANICAL, "triangle-down"),
    "auc:polarity": ("|polarity|, polar", RIVAL, "circle"),
}
_MASS = {
    "mass:polar": ("on polar words", ATTENTION, "diamond"),
    "mass:chance": ("if uniform", FLOOR, "stroke"),
}
_GROUPS = {"positive": MOST, "negative": MECHANICAL, "neutral": FLOOR}
_PANEL, _HEIGHT = 330, 210
_SMALL, _COLUMNS = 190, 3

TABLES = in_columns(
    Columns(
        "Do scores separate polar words from neutral ones? (AUC; 1 is perfect, ½ is chance)",
        {
            "auc:polar": "attention score",
            "auc:positive": "of positive words",
            "auc:negative": "of negative words",
            "auc_apart": "difference of these two",
            "same_side": "higher one on the side of V·W",
            "auc:polarity": "|polarity|",
            "auc:start": "attention score, untrained",
            "auc_lost": "lost compared with λ = 10, seed by seed",
        },
    ),
    Columns(
        "Weight on the polar words of test texts, and accuracy",
        {
            "mass:polar": "weight",
            "mass:chance": "if uniform",
            "right:train": "accuracy, train",
            "right:dev": "dev",
            "right:test": "test",
            "loss": "loss, last epoch",
        },
    ),
    Columns(
        "Mean scores of each group of words",
        {
            "mean_a:positive": "a, positive",
            "mean_a:negative": "negative",
            "mean_a:neutral": "neutral",
            "mean_s:positive": "s, positive",
            "mean_s:negative": "negative ",
            "mean_s:neutral": "neutral ",
            "v_dot_w": "V·W",
        },
    ),
)


def scales_in_short(rows: Iterable[Row]) -> str:
    """The AUC of attention scores at every λ, one sentence per task."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.quantity == "auc:polar":
            found.setdefault(row.task, []).append(row)
    told = []
    for task, of_task in found.items():
        of_task.sort(key=lambda row: float(row.by["scale"]))
        numbers = "; ".join(f"{row.encoder}: {with_half(row)}" for row in of_task)
        best = max(of_task, key=lambda row: row.value)
        told.append(
            f"On {task}, attention scores separate polar from neutral words best at {best.encoder} "
            f"(AUC {two_digits(best.value)}; ½ is chance). {numbers}."
        )
    return " ".join(told)


def auc_by_scale(found: StudyResult) -> Figure | None:
    """AUC and weight over λ, one row per task."""
    tasks = list(dict.fromkeys(row.task for row in found.rows if row.quantity == "auc:polar"))
    if not tasks:
        return None
    lines = [
        altair()
        .hconcat(
            _over_scales(found, task, _AUC, title=f"{task}: polar or neutral?", axis="AUC", line=0.5),
            _over_scales(found, task, _MASS, title=f"{task}: weight", axis="share of the weight", line=None),
            spacing=30,
        )
        .resolve_scale(color="independent", shape="independent")
        for task in tasks
    ]
    caption = (
        "Left: how well a score separates polar words from neutral ones, by the λ that divides the attention scores. "
        "The dashed line is chance. Right: the share of a test text's weight on its polar words, and the share under "
        "uniform weights. Means over seeds with their 95% intervals. All these models may have the same accuracy: see "
        "the table."
    )
    chart = altair().vconcat(*lines, spacing=18).resolve_scale(color="independent", shape="independent")
    return declare("auc-by-scale", "scale", caption, chart)


def scores_over_training(found: StudyResult) -> Figure | None:
    """Mean attention score of each group of words over training, one panel per λ."""
    curves: dict[tuple[str, str], Rows] = {}
    for row in found.rows:
        if row.name == "mean_a" and "epoch" in row.by:
            point = {"epoch": row.by["epoch"], "words": row.by["words"], **_ends(row)}
            curves.setdefault((row.task, row.encoder), []).append(point)
    if not curves:
        return None
    panels = [_curve(f"{task}, {model}", points) for (task, model), points in curves.items()]
    caption = (
        "Mean attention score of each group of words over training, with its 95% interval over seeds. Each panel has "
        "its own axis. If polar words rise above neutral ones, the weights can be read as a list of words that matter. "
        "If the groups stay where they started, they cannot."
    )
    chart = altair().concat(*panels, columns=_COLUMNS, spacing={"row": 18, "column": 24})
    return declare("scores-over-training", "scale", caption, chart)


def _over_scales(
    found: StudyResult,
    task: str,
    looks: Mapping[str, tuple[str, str, str]],
    *,
    title: str,
    axis: str,
    line: float | None,
) -> Any:
    alt = altair()
    places = {quantity: 10 ** (0.06 * (at - (len(looks) - 1) / 2)) for at, quantity in enumerate(looks)}
    rows = [
        {
            "λ": row.by["scale"],
            "at": row.by["scale"] * places[row.quantity],  # side by side, so that no interval hides another
            "of": looks[row.quantity][0],
            **_ends(row, clip=True),
        }
        for row in found.rows
        if row.task == task and row.quantity in looks and not row.bin
    ]
    names, colours, shapes = (list(part) for part in zip(*looks.values(), strict=True))
    known = sorted({row["λ"] for row in rows})
    x = alt.X("at:Q", title="λ").scale(type="log", domain=[known[0] / 1.6, known[-1] * 1.6], nice=False)
    x = x.axis(values=known, format="~g", labelFlush=False)
    y = alt.Y("value:Q", title=axis).scale(domain=[0, 1])
    legend = {"orient": "top", "columns": 2, "labelLimit": 0, "symbolOpacity": 1}
    colour = alt.Color("of:N", title=None, sort=names).scale(domain=names, range=colours).legend(**legend)
    shape = alt.Shape("of:N", title=None, sort=names).scale(domain=names, range=shapes).legend(**legend)
    chart = alt.Chart(alt_data(rows))
    layers = [
        chart.mark_line(size=1.5, opacity=0.5).encode(x=x, y=y, color=colour),
        chart.mark_rule(size=2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_point(size=45, filled=True, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("λ:Q"),
                alt.Tooltip("of:N"),
                alt.Tooltip("shown:N", title=axis),
                alt.Tooltip("seeds:Q"),
            ],
        ),
    ]
    if line is not None:
        layers.insert(0, alt.Chart().mark_rule(color=FLOOR, strokeDash=[5, 4]).encode(y=alt.datum(line)))
    return alt.layer(*layers).properties(width=_PANEL, height=_HEIGHT, title=title)


def _curve(title: str, points: Sequence[Mapping[str, Any]]) -> Any:
    alt = altair()
    names = list(_GROUPS)
    colour = alt.Color("words:N", title=None, sort=names).scale(domain=names, range=list(_GROUPS.values()))
    colour = colour.legend(orient="top", symbolOpacity=1)  # of area and line alike, or the band's opacity would win
    x = alt.X("epoch:Q", title="epoch").axis(tickCount=4)
    chart = alt.Chart(alt_data(points))
    return alt.layer(
        chart.mark_area(opacity=0.2).encode(x=x, y=alt.Y("low:Q", title="mean a"), y2=alt.Y2("high:Q"), color=colour),
        chart.mark_line(size=1.8).encode(
            x=x,
            y=alt.Y("value:Q"),
            color=colour,
            tooltip=[
                alt.Tooltip("words:N"),
                alt.Tooltip("epoch:Q"),
                alt.Tooltip("shown:N", title="mean a"),
                alt.Tooltip("seeds:Q"),
            ],
        ),
    ).properties(width=_SMALL, height=120, title=title)


def _ends(row: Row, *, clip: bool = False) -> dict[str, Any]:
    """A mean with its interval, cut to 0 and 1 if asked."""
    low, high = (end if math.isfinite(end) else row.value for end in (row.low, row.high))
    if clip:
        low, high = max(low, 0.0), min(high, 1.0)
    numbers = {"value": row.value, "low": low, "high": high}
    return {
        **{name: float(f"{number:.5g}") for name, number in numbers.items()},
        "shown": with_interval(row),
        "seeds": row.seeds,
    }


def row_name(row: Row, labels: Sequence[str]) -> str | None:
    """The name of the AUC that is not about attention."""
    return "AUC of |polarity|, polar words" if row.by.get("words") == "polarity" and row.name == "auc" else None


QUANTITIES = (
    study_quantity("right", "accuracy on {}", *RIGHT),
    study_quantity("loss", "loss at the end of training", "the model has learned little", "the model has learned much"),
    study_quantity(
        "auc",
        "AUC of the attention score, {} words",
        "scores separate them from neutral words",
        "½: no better than chance",
    ),
    study_quantity(
        "auc_lost", "AUC lost compared with λ = 10", "scores separate worse at this λ", "they separate as well"
    ),
    study_quantity(
        "auc_apart", "difference between the AUC of both polarities", "scores find one polarity", "they find both alike"
    ),
    study_quantity("same_side", "how often the higher one is on the side of V·W", "V·W predicts which", "it does not"),
    study_quantity("mean_a", "mean attention score, {} words", "such words get weight", "such words get none"),
    study_quantity("mean_s", "mean polarity score", "such words support the label", "such words oppose it"),
    study_quantity("v_dot_w", "V·W", "attention is on the positive side", "attention is on the negative side"),
)
VIEW = StudyView(
    done=(
        (
            ("auc",),
            "The models have word vectors only, with attention scores a = e·V/λ and polarity scores s = e·W. They were "
            "trained at each λ with the same seeds. Then every word’s scores were compared with whether the word goes "
            "with a label.",
        ),
    ),
    in_short=scales_in_short,
    rerun=Rerun("earlier run", "our own earlier run of one seed"),
    kinds={
        "accuracy at a scale λ": key("right"),
        "loss": key("loss"),
        "AUC of scores, polar against neutral words": key("auc"),
        "weight on polar words": key("mass"),
        "mean attention score of a group of words": key("mean_a"),
    },
    row_name=row_name,
    chapters=(
        Chapter(
            "scale",
            (TABLES,),
            (auc_by_scale, scores_over_training),
            title="Attention scores and the scale λ that divides them",
            reading="Training raises the score of a word that already speaks for the label. The gradient of the loss "
            "with respect to a score is the weight times how much more the word says than the whole text. So words "
            "that go with a label should end above neutral words. With a small λ, the softmax commits before the words "
            "mean anything. With a large λ, no score moves far from its start. Accuracy shows neither effect.",
        ),
    ),
    shown={"loss": "loss at the end of training", "right:test": "accuracy"},
    unpublished={
        "auc:polar": "AUC of the attention score, polar and neutral words",
        "auc:polarity": "AUC of |polarity|",
        "mass:polar": "weight on polar words",
    },
    quantities=QUANTITIES,
)
