"""The figures of a study of the copy task: how many runs still fail after each step, and every run's curve."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import ATTENTION, FLOOR, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_copy import EIGHT, KINDS, SEQUENCES
from heatcheck.results import Model

PUBLISHED_STEPS = 200
_LOOKS = {
    SEQUENCES["copy_permutation"]: (ATTENTION, [1, 0]),
    SEQUENCES["copy_distinct"]: (RIVAL, [8, 3]),
    SEQUENCES["copy_iid"]: (MOST, [2, 2]),
}
_POINTS = 100  # of a small curve


def copy_survival(models: Sequence[Model]) -> Figure | None:
    """The share of runs that do not copy yet, one line per kind of sequence, with its pointwise interval."""
    rows = [row for model in models if "not yet:step" in model.examples for row in _falling(model)]
    if not rows:
        return None
    alt = altair()
    names = [name for name in _LOOKS if any(row["sequences"] == name for row in rows)]
    scale = {"domain": names}
    colour = alt.Color("sequences:N", title=None).scale(**scale, range=[_LOOKS[name][0] for name in names])
    legend = {"orient": "top", "labelLimit": 0, "symbolType": "stroke", "symbolSize": 400, "symbolOpacity": 1}
    x = alt.X("step:Q", title="steps of training").scale(nice=False).axis(tickCount=8, format=",d")
    y = alt.Y("surviving:Q", title="runs that do not copy yet").scale(domain=[0, 1]).axis(tickCount=5, format="%")
    tooltip = [
        alt.Tooltip("sequences:N"),
        alt.Tooltip("step:Q", format=",d"),
        alt.Tooltip("surviving:Q"),
        alt.Tooltip("low:Q"),
        alt.Tooltip("high:Q"),
        alt.Tooltip("runs:Q"),
    ]
    base = alt.Chart(alt_data(rows))
    band = base.mark_area(interpolate="step-after", opacity=0.15).encode(
        x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=2.2).encode(
        x=x,
        y=y,
        color=colour.legend(**legend),
        strokeDash=alt.StrokeDash("sequences:N", title=None).scale(**scale, range=[_LOOKS[name][1] for name in names]),
        tooltip=tooltip,
    )
    layers = [band, line]
    if max(row["step"] for row in rows) > PUBLISHED_STEPS:
        published = alt_data([{"step": PUBLISHED_STEPS, "words": "published"}])
        rule = alt.Chart(published).mark_rule(color=FLOOR, strokeDash=[4, 4]).encode(x=alt.X("step:Q"))
        words = alt.Chart(published).mark_text(align="left", dx=4, color=FLOOR, fontSize=11)
        layers += [rule, words.encode(x=alt.X("step:Q"), y=alt.YValue(10), text=alt.Text("words:N"))]
    drawn = alt.layer(*layers).properties(width=WIDTH - 70, height=300)
    caption = (
        "Share of runs that have not copied yet, where copying means more than .95 of the tokens right. These are "
        "Kaplan–Meier curves with pointwise 95% intervals and right-censoring. The published runs end at the dashed "
        "line. Runs that fall to the right of it failed in the paper’s terms and learned later."
    )
    return declare("copy-survival", "time_to_learn", caption, drawn)


def copy_accuracies(models: Sequence[Model]) -> Figure | None:
    """Tokens right over training, one line per run: columns are kinds of sequences, rows are kinds of attention."""
    rows = [
        {"sequences": SEQUENCES[model.task], "runs with": words, **point}
        for model in models
        if model.task in SEQUENCES
        for kind, words in KINDS.items()
        if f"accuracy:{kind}" in model.examples
        for point in _lines(model.examples["steps"], model.examples[f"accuracy:{kind}"])
    ]
    caption = (
        "Share of tokens right on fresh sequences over training, one line per run. The rows are learned weights, "
        "uniform weights, and no context at all. The last shows how well the decoder does without attention."
    )
    return _small_lines("copy-accuracies", "time_to_learn", caption, rows, "sequences", "runs with")


def lottery_accuracies(models: Sequence[Model]) -> Figure | None:
    """Tokens right over training for eight heads on one body, by how each did alone."""
    rows = [
        {"heads": words, **point}
        for model in models
        for kind, words in EIGHT.items()
        if f"steps:{kind}" in model.examples
        for point in _lines(model.examples[f"steps:{kind}"], model.examples[f"accuracy:{kind}"])
    ]
    caption = (
        "Share of tokens right over training, one line per draw of eight heads on the same body. The columns are heads "
        "that fail alone, seven of these and one that learns alone, and random heads that were not tried alone."
    )
    return _small_lines("lottery-accuracies", "lottery_of_heads", caption, rows, "heads", None)


def _falling(model: Model) -> Rows:
    names = ("step", "surviving", "low", "high")
    points = [(0.0, 1.0, 1.0, 1.0)]
    points += zip(*(model.examples[f"not yet:{name}"].tolist() for name in names), strict=True)
    points.append((float(model.examples["steps"][-1]), *points[-1][1:]))
    facts = {"sequences": SEQUENCES[model.task], "runs": len(model.examples["until"])}
    return [{**facts, **{n: round(float(v), 4) for n, v in zip(names, point, strict=True)}} for point in points]


def _lines(steps: Any, accuracy: Any) -> Rows:
    """Every run, thinned to what a small panel can show; the last point is always kept."""
    shown = np.unique(np.linspace(0, len(steps) - 1, min(_POINTS, len(steps))).astype(int))
    return [
        {"run": run, "step": int(steps[at]), "right": round(float(of_run[at]), 3)}
        for run, of_run in enumerate(accuracy)
        for at in shown
    ]


def _small_lines(name: str, check: str, caption: str, rows: Rows, column: str, row: str | None) -> Figure | None:
    if not rows:
        return None
    alt = altair()
    columns = list(dict.fromkeys(one[column] for one in rows))
    placed = {"column": alt.Column(f"{column}:N", title=None, sort=columns).header(labelLimit=0)}
    if row is not None:
        lines = list(dict.fromkeys(one[row] for one in rows))
        placed["row"] = alt.Row(f"{row}:N", title=None, sort=lines).header(
            labelLimit=0, labelOrient="left", labelFontSize=11
        )
    drawn = (
        alt.Chart(alt_data(rows))
        .mark_line(opacity=0.45, strokeWidth=1.2, color=ATTENTION)
        .encode(
            x=alt.X("step:Q", title="steps").scale(nice=False).axis(tickCount=4, format=",d", labelFlush=True),
            y=alt.Y("right:Q", title="tokens right").scale(domain=[0, 1]).axis(values=[0, 0.5, 1]),
            detail=alt.Detail("run:N"),
            tooltip=[alt.Tooltip("run:N"), alt.Tooltip("step:Q"), alt.Tooltip("right:Q")],
        )
        .properties(width=(WIDTH - 140) // max(3, len(columns)), height=110)
        .facet(**placed, spacing=14)
    )
    return declare(name, check, caption, drawn)
