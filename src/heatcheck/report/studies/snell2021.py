"""Page and figures for Snell et al. 2021: how long models need to learn to copy, and which heads start luckily."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from heatcheck.report.figures.distribution import alt_data
from heatcheck.report.figures.figure import FLOOR, MECHANICAL, MOST, RIVAL, WIDTH, Figure, altair, declare
from heatcheck.report.figures.shapes import Rows
from heatcheck.report.study_quantities import RIGHT, study_quantity
from heatcheck.report.study_view import Chapter, StudyView
from heatcheck.report.study_wording import models_in_order, two_digits, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Model, Row, StudyResult
from heatcheck.results.written import NOTHING

SEQUENCES = {
    "copy_permutation": "permutations of all symbols",
    "copy_distinct": "distinct symbols, not all",
    "copy_iid": "symbols with repetition",
}
KINDS = {"learned": "learned weights", "uniform": "uniform weights", "none": "no context"}
ALONE = {"good": "good", "bad": "bad", "neither": "neither"}
EIGHT = {"bad": "eight bad", "one good": "seven bad, one good", "random": "eight random"}

PUBLISHED_STEPS = 200
_LOOKS = {
    SEQUENCES["copy_permutation"]: (MECHANICAL, [1, 0]),
    SEQUENCES["copy_distinct"]: (RIVAL, [8, 3]),
    SEQUENCES["copy_iid"]: (MOST, [2, 2]),
}
_POINTS = 100  # of a small curve


def tables_of_copy(found: StudyResult) -> list[Table]:
    """Tables of how many runs copy by when, and how much of that needs attention."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    tasks = [task for task in SEQUENCES if (task, "elimination") in rows]
    if not tasks:
        return []
    ends = sorted({int(row.by["steps"]) for row in found.rows if row.name == "failed"})
    return [
        Table(
            "Share of runs that do not copy yet (never above .95 right), with the exact 95% interval",
            ("sequences", *(f"after {end:,} steps" for end in ends), "paper", "steps until half copy", "runs"),
            [
                (
                    SEQUENCES[task],
                    *(_cell(rows.get((task, f"failed:{end}"))) for end in ends),
                    _paper(rows.get((task, f"failed:{ends[0]}"))),
                    _steps(rows.get((task, "half_by"))),
                    str(rows[task, f"failed:{ends[-1]}"].seeds),
                )
                for task in tasks
            ],
        ),
        Table(
            "Share of tokens right, mean over runs with its 95% t interval, and the share by elimination alone",
            ("sequences", "runs with", *(f"after {end:,} steps" for end in ends), "by elimination", "runs"),
            [
                (
                    SEQUENCES[task],
                    words,
                    *(_cell(rows.get((task, f"copied:{kind}:{end}"))) for end in ends),
                    two_digits(rows[task, "elimination"].value),
                    str(rows[task, f"copied:{kind}:{ends[-1]}"].seeds),
                )
                for task in tasks
                for kind, words in KINDS.items()
                if (task, f"copied:{kind}:{ends[-1]}") in rows
            ],
        ),
        Table(
            "Share of positions whose largest weight is on the symbol to copy, or always just before or after it",
            ("sequences", *(f"after {end:,} steps" for end in ends), "runs"),
            [
                (
                    SEQUENCES[task],
                    *(_cell(rows.get((task, f"aligned:{end}"))) for end in ends),
                    str(rows[task, f"aligned:{ends[-1]}"].seeds),
                )
                for task in tasks
            ],
        ),
    ]


def tables_of_lottery(found: StudyResult) -> list[Table]:
    """Tables of heads tried alone, and of draws of eight."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    alone = [(words, rows["lottery", f"alone:{kind}"]) for kind, words in ALONE.items() if _has(rows, f"alone:{kind}")]
    eight = [(words, rows["lottery", f"eight:{kind}"]) for kind, words in EIGHT.items() if _has(rows, f"eight:{kind}")]
    tables = []
    if alone:
        shares = [(words, with_interval(row), str(row.seeds)) for words, row in alone]
        tables.append(Table("Heads tried alone on one body", ("alone, a head is", "share", "heads"), shares))
    if eight:
        shares = [(words, with_interval(row), str(row.seeds)) for words, row in eight]
        tables.append(Table("Eight heads on the same body: share that copies", ("heads", "share", "draws"), shares))
    return tables


def copy_in_short(rows: Iterable[Row]) -> str:
    """The share of runs that fail, by step, as a sentence; nothing without copied sequences."""
    failed: dict[str, list[Row]] = {}
    for row in rows:
        if row.name == "failed" and row.task in SEQUENCES:
            failed.setdefault(row.task, []).append(row)
    parts = [
        f"{SEQUENCES[task]}: " + ", then ".join(f"{_cell(row)} after {row.by['steps']:,} steps" for row in of_task)
        for task, of_task in failed.items()
    ]
    return f"Share of runs that do not copy yet: {'; '.join(parts)}." if parts else ""


def _has(rows: dict[tuple[str, str], Row], quantity: str) -> bool:
    return ("lottery", quantity) in rows


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


def _paper(row: Row | None) -> str:
    return NOTHING if row is None or row.paper is None else two_digits(row.paper)


def _steps(row: Row | None) -> str:
    """
    >>> _steps(None)
    'not reached'
    """
    if row is None:
        return "not reached"
    high = f"{row.high:,.0f}" if math.isfinite(row.high) else "∞"
    return f"{row.value:,.0f} [{row.low:,.0f}, {high}]"


def copy_survival(found: StudyResult) -> Figure | None:
    """The share of runs that do not copy yet, one line per kind of sequence, with its pointwise interval."""
    rows = [row for model in models_in_order(found) if "not yet:step" in model.examples for row in _falling(model)]
    if not rows:
        return None
    alt = altair()
    names = [name for name in _LOOKS if any(row["sequences"] == name for row in rows)]
    scale = {"domain": names}
    legend = {"orient": "top", "labelLimit": 0, "symbolType": "stroke", "symbolSize": 400, "symbolOpacity": 1}
    colour = alt.Color("sequences:N", title=None).scale(**scale, range=[_LOOKS[name][0] for name in names])
    colour = colour.legend(**legend)  # of area and line alike, or the band's opacity would win
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
        color=colour,
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


def copy_accuracies(found: StudyResult) -> Figure | None:
    """Tokens right over training, one line per run: columns are kinds of sequences, rows are kinds of attention."""
    rows = [
        {"sequences": SEQUENCES[model.task], "runs with": words, **point}
        for model in models_in_order(found)
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


def lottery_accuracies(found: StudyResult) -> Figure | None:
    """Tokens right over training for eight heads on one body, by how each did alone."""
    rows = [
        {"heads": words, **point}
        for model in models_in_order(found)
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
        .mark_line(opacity=0.45, strokeWidth=1.2, color=RIVAL)
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


def sequences_read(found: StudyResult) -> tuple[str, str, str] | None:
    """How many sequences a run is trained and evaluated on, for the header."""
    fresh, evaluated = found.settings.get("batch_size"), found.settings.get("evaluated_on")
    if fresh is None or evaluated is None:
        return None
    return ("sequences", f"{fresh:,} fresh ones per step", f"{evaluated:,} per evaluation")


QUANTITIES = (
    study_quantity("copied", "tokens right", *RIGHT),
    study_quantity(
        "elimination", "tokens right by elimination alone", "many need no attention", "few can be had without attention"
    ),
    study_quantity(
        "failed", "runs that do not copy after {} steps", "most runs have not learned", "most runs have learned"
    ),
    study_quantity("bad", "runs with few tokens right", "many runs are far from copying", "few runs are"),
    study_quantity(
        "half_by", "steps until half of the runs copy", "copying is learned late", "copying is learned early"
    ),
    study_quantity(
        "aligned", "positions whose largest weight is at the symbol", "the weights point at it", "they point elsewhere"
    ),
    study_quantity(
        "alone", "share of heads of this kind, alone", "most heads are of this kind", "few heads are of this kind"
    ),
    study_quantity("eight", "share of draws of eight heads that copy", "most draws learn", "few draws learn"),
)
VIEW = StudyView(
    done=(
        (
            ("failed",),
            "Runs that differ only in their seed were trained side by side on fresh sequences and evaluated at every "
            "tenth step. They have learned weights, uniform weights, or no context from the attention.",
        ),
        (
            ("alone",),
            "Single heads were trained on one shared body of parameters, then eight of them together on the same body.",
        ),
    ),
    in_short=copy_in_short,
    texts=sequences_read,
    about_published=(
        (
            ("failed",),
            "Our number is a share of runs with its exact 95% interval (Clopper & Pearson). The statement says whether "
            "the published share is in that interval. The paper gives the share in words (about half, always), not as "
            "a count.",
        ),
    ),
    chapters=(
        Chapter("time_to_learn", (tables_of_copy,), (copy_survival, copy_accuracies), title="Time to learn to copy"),
        Chapter("lottery_of_heads", (tables_of_lottery,), (lottery_accuracies,), title="A lottery of heads"),
    ),
    shown={"failed:200": "runs that do not copy within 200 steps"},
    unpublished={
        "failed:2000": "runs that do not copy within 2,000 steps",
        "half_by": "steps until half of the runs copy",
        "copied:none:2000": "tokens right without context, 2,000 steps",
        "elimination": "tokens right by elimination alone",
        "eight:bad": "share of draws that copy: eight heads that fail alone",
        "eight:one good": "the same: seven of these and a good one",
        "eight:random": "the same: eight random heads",
    },
    quantities=QUANTITIES,
)
