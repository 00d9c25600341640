"""What a reader sees of the check `counterfactual`: how different weights with the same answer can be."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from heatcheck.report.compared_values import Compared
from heatcheck.report.counterfactual_places import Place, first_of_each_scale, is_beside, places
from heatcheck.report.figures.distribution import MEAN, Style, alt_data, histogram
from heatcheck.report.figures.figure import (
    FLOOR,
    MECHANICAL,
    MOST,
    RIVAL,
    WIDTH,
    Figure,
    altair,
    by_class,
    declare,
    heading,
)
from heatcheck.report.figures.largest_weight import by_largest_weight
from heatcheck.report.figures.several_models import encoded, row_of
from heatcheck.report.figures.shapes import mean_of
from heatcheck.report.shared_words import KINDS
from heatcheck.report.table import Table, known_columns, pivot, with_n
from heatcheck.report.view import CheckView, Results
from heatcheck.report.wording import said
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import interval, number, shown

_Places: TypeAlias = dict[tuple[str, str, str], dict[str, Measurement]]  # logits, ε, class or "" -> by name


def counterfactual_tables(result: CheckResult) -> list[Table]:
    """The largest JSD with its baselines, as a share of what is possible, and by class."""
    at: _Places = defaultdict(dict)
    for m in result.measurements:
        if "epsilon" in m.by:
            at[str(m.by["logits"]), said(m.by["epsilon"]), str(m.by.get("class", ""))][m.name] = m
    everywhere = {m.name: m for m in result.measurements if m.name in ("floor", "most") and "class" not in m.by}
    beside = {name: column for name, column in _BESIDE_JSD.items() if is_beside(result, name)}
    return [_jsd(at, everywhere, beside), _shares(at), _jsd_by_class(at)]


_BESIDE_JSD = {
    "upper": "upper bound",
    "floor": "floor",
    "null": "shuffled relevances",
    "most": "largest, any answer",
    "gap": "missed by the published search",
}


def _jsd(at: _Places, everywhere: dict[str, Measurement], beside: Mapping[str, str]) -> Table:
    """One row per JSD, with all its baselines."""
    overall = {place: found | everywhere for place, found in at.items() if place[2] == "" and "jsd" in found}
    extra = known_columns(
        {
            column: {place: number(m.value) if (m := found.get(name)) else "" for place, found in overall.items()}
            for name, column in beside.items()
        }
    )
    return Table(
        "The largest JSD (nats) of weights that move the output by at most ε, with its baselines",
        ("logits", "ε", "JSD", "95% interval", *extra, "n"),
        [
            (
                *_where(place),
                number(found["jsd"].value),
                interval(found["jsd"]),
                *(cells[place] for cells in extra.values()),
                f"{found['jsd'].n:,}",
            )
            for place, found in overall.items()
        ],
    )


def _shares(at: _Places) -> Table:
    return Table(
        "U: the same JSD as a share of the largest one for any answer; 1 means no constraint at all",
        ("logits", "ε", "U", "95% interval", "U, shuffled relevances", "n"),
        [
            (
                *_where(place),
                number(found["U"].value),
                interval(found["U"]),
                shown(found.get("U_null")),
                f"{found['U'].n:,}",
            )
            for place, found in at.items()
            if place[2] == "" and "U" in found
        ],
    )


def _jsd_by_class(at: _Places) -> Table:
    cells = [
        (label, f"ε = {epsilon}, {KINDS.get(('logits', logits), logits)}", with_n(found["jsd"]))
        for (logits, epsilon, label), found in at.items()
        if label and "jsd" in found
    ]
    return pivot("The largest JSD by class", "class", cells)


def _where(place: tuple[str, str, str]) -> tuple[str, str]:
    return KINDS.get(("logits", place[0]), place[0]), place[1]


_SPAN = (0.0, 0.7)  # ln 2 is the most that two distributions can differ
_BINS = 40  # as published
_FLOOR, _NULL, _MOST, _UPPER = (
    "floor: every model reaches it",
    "null: shuffled relevances",
    "largest for any answer",
    "upper bound of the mean",
)
_SHORT = {_FLOOR: "floor", _NULL: "null", _MOST: "largest", _UPPER: "upper bound"}
_STYLES = {
    "mean": MEAN,
    _FLOOR: Style(FLOOR, (6, 4)),
    _NULL: Style(MECHANICAL, (2, 2)),
    _MOST: Style(MOST, (10, 3, 2, 3)),
    _UPPER: Style(RIVAL, (4, 3)),
}


def jsd_histogram(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The largest JSD per text, with one row per predicted class and one column per scale of the logits."""
    found = [(place, result.per_example[place.name("jsd")]) for place in first_of_each_scale(result)]
    found = [(place, values) for place, values in found if np.isfinite(values).any()]
    if not found:
        return None
    beside = [_beside(result, place) for place, _ in found]
    used = {"mean"}.union(*beside)
    styles = {name: style for name, style in _STYLES.items() if name in used}
    parts = list(by_class(result, "jsd", found[0][1], predicted))
    rows = []
    for label, here in parts:
        panels = [
            histogram(
                values[here & np.isfinite(values)],
                {name: mean_of(of_texts[here]) for name, of_texts in {"mean": values, **others}.items()},
                styles,
                span=_SPAN,
                bins=_BINS,
                title=f"{heading(label, int(np.isfinite(values[here]).sum()))}; {place.scale}",
                axis=_axis(place) if label == parts[-1][0] else None,
                width=WIDTH if len(found) == 1 else (WIDTH - 60) // 2,
            )
            for (place, values), others in zip(found, beside, strict=True)
        ]
        rows.append(altair().hconcat(*panels, spacing=30))
    means = "; ".join(
        f"{place.scale}: mean "
        + ", ".join([number(mean_of(values)), *(f"{_SHORT[n]} {number(mean_of(v))}" for n, v in others.items())])
        for (place, values), others in zip(found, beside, strict=True)
    )
    floor = "Every model reaches the floor. " if _FLOOR in used else ""
    caption = (
        "Further right, the weights of a text can be more different with the same answer: 0.69 is entirely "
        "other words. "
        "The output moves by at most ε; 0 is the same heatmap. A large JSD is no evidence by itself. "
        f"{floor}A JSD that shuffled "
        f"relevances reach too says nothing about this model. {means[0].upper()}{means[1:]}."
    )
    return declare("counterfactual-histogram", result.check, caption, altair().vconcat(*rows, spacing=14))


def jsd_by_largest_weight(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """The largest JSD by the largest weight, with one panel per predicted class."""
    found = places(result)
    if not found:
        return None
    place = found[0]
    beside = _beside(result, place)
    beside.pop(_UPPER, None)  # the violins show attained values
    drawn = by_largest_weight(
        result,
        "jsd",
        predicted,
        span=_SPAN,
        axis=_axis(place),
        column=place.name("jsd"),
        beside=beside,
        styles=_STYLES,
    )
    if drawn is None:
        return None
    caption = (
        f"The same by the largest weight of each text ({place.scale}): flat weights at the bottom, one heavy word at "
        "the top; lines inside are quartiles. In every model, flatter weights allow a larger JSD. Violins that only "
        "follow the lines beside them show the shape of the weights and nothing else."
    )
    return declare("counterfactual-by-largest-weight", result.check, caption, drawn.chart)


def _axis(place: Place) -> str:
    return f"largest JSD at ε = {place.epsilon} (nats)"


def _beside(result: CheckResult, place: Place) -> dict[str, Float[np.ndarray, " example"]]:
    """The baselines of each text's JSD, if they are known for every text."""
    measured = np.isfinite(result.per_example[place.name("jsd")])
    found = {}
    for line, quantity, name in (
        (_FLOOR, "floor", "floor"),
        (_NULL, "null", place.name("null")),
        (_MOST, "most", "most"),
        (_UPPER, "upper", place.name("upper")),
    ):
        values = result.per_example.get(name)
        if values is not None and is_beside(result, quantity) and np.isfinite(values[measured]).all():
            found[line] = values
    return found


def jsd_by_epsilon(results: Results, names: Sequence[str]) -> Figure | None:
    """The largest JSD by how far the output may move, beside that of shuffled relevances."""
    alt = altair()
    lines = {"jsd": "measured", "null": "relevances shuffled"}
    rows = [
        {
            **row_of(model, m, lines[m.name], KINDS.get(("logits", str(m.by["logits"])), str(m.by["logits"]))),
            "epsilon": float(m.by["epsilon"]),
        }
        for model, result in results.items()
        for m in result.measurements
        if m.name in lines and "epsilon" in m.by and "class" not in m.by and math.isfinite(m.value)
    ]
    if len({row["model"] for row in rows}) < 2:
        return None
    looks = encoded(names, rows)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    x = alt.X("epsilon:Q", title="ε: how far the output may move").scale(type="log", padding=14)
    x = x.axis(values=sorted({row["epsilon"] for row in rows}), format="~g")
    y = alt.Y("value:Q", title="largest JSD (nats)").scale(domain=[0, 0.7])
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("what:N"),
        alt.Tooltip("epsilon:Q"),
        alt.Tooltip("shown:N", title="mean JSD"),
        alt.Tooltip("n:Q"),
    ]
    faint = (
        alt.Opacity("what:O", title=None, sort=list(lines.values()))
        .scale(domain=list(lines.values()), range=[1, 0.4])
        .legend(orient="top")
    )
    chart = alt.Chart()
    layers = alt.layer(
        chart.mark_line(size=2).encode(x=x, y=y, **looks.lines, detail=alt.Detail("what:N"), opacity=faint),
        chart.mark_rule(size=2).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=looks.colour, opacity=faint),
        chart.mark_point(size=70, filled=True).encode(x=x, y=y, **looks.points, opacity=faint, tooltip=tooltip),
        data=alt_data(rows),
    ).properties(width=(WIDTH - 90) // max(2, len(panels)), height=230)
    caption = (
        "How different the weights of a text can be while the output moves by ε at most. Means over texts with their "
        "intervals. The faint points are the null, with the relevances shuffled among the words. A JSD that is no "
        "smaller than its own null says nothing about that model."
    )
    drawn = layers.facet(column=alt.Column("panel:N", title=None, sort=panels))
    return declare("compare-counterfactual", "counterfactual", caption, drawn)


_METHODS = {
    "exact": "The JSD shown is the largest there is: no search can find more.",
    "bracket": "With more than two labels, heatcheck brackets the largest JSD. It found weights that reach the JSD "
    "shown, and no weights can pass the upper bound.",
    "search": "This model's read-out is not linear, so the JSD shown is what a search found. There may be more, and a "
    "search that finds little proves nothing.",
}

_QUANTITIES = (
    Quantity(
        "jsd",
        "largest JSD of weights that keep the answer",
        high="Some very different weights keep the answer; compare floor and shuffled relevances.",
        low="The most different weights found that keep the answer are similar to those shown.",
        unit="nats",
    ),
    Quantity(
        "upper",
        "upper bound on that JSD",
        high="The bound leaves room for very different weights with the same answer.",
        low="No very different weights keep the answer.",
        unit="nats",
    ),
    Quantity(
        "floor",
        "JSD that every model reaches (floor)",
        high="The shape of the heatmap alone guarantees very different weights with the same answer.",
        low="The shape of the heatmap alone guarantees only similar weights with the same answer.",
        unit="nats",
    ),
    Quantity(
        "most",
        "JSD of the most different weights, whatever the answer",
        high="Some weights differ very much from those shown, whatever the answer.",
        low="No weights differ much from those shown, whatever the answer.",
        unit="nats",
    ),
    Quantity(
        "null",
        "largest JSD of weights that keep the answer, relevances shuffled (null)",
        high="With shuffled relevances, too, some very different weights keep the answer.",
        low="With shuffled relevances, only similar weights were found to keep the answer.",
        unit="nats",
    ),
    Quantity(
        "U",
        "share of the possible difference that keeps the answer (U)",
        high="Some weights nearly as different as possible keep the answer.",
        low="The most different weights found that keep the answer are similar to those shown.",
        unit="share",
    ),
    Quantity(
        "U_upper",
        "upper bound on U",
        high="The bound leaves room for weights nearly as different as possible.",
        low="No very different weights keep the answer.",
        unit="share",
    ),
    Quantity(
        "U_null",
        "U with the relevances shuffled",
        high="With shuffled relevances, too, some weights nearly as different as possible keep the answer.",
        low="With shuffled relevances, only similar weights were found to keep the answer.",
        unit="share",
    ),
    Quantity(
        "gap",
        "JSD that the published search misses",
        high="The published search misses much of the possible difference.",
        low="The published search finds weights nearly as different as possible.",
        unit="nats",
    ),
)

VIEW = CheckView(
    "Different weights, same answer",
    place=70,
    reading="A large JSD alone says nothing. Every model with a linear read-out has other weights with "
    "exactly the same answer. Weights on as many words as there are labels are enough. Compare the JSD with the null, "
    "where the relevances are shuffled among the words. If it is no smaller than the null, the shape of the weights "
    "explains all of it. With two labels there is also a floor that every such model reaches. One number does tell "
    "models apart without any search: q, the share of shuffles that keep the answer.",
    methods=_METHODS,
    tables=counterfactual_tables,
    figures=(jsd_histogram, jsd_by_largest_weight),
    quantities=_QUANTITIES,
    compared=(Compared("jsd", "largest JSD of weights that keep the answer: {}"),),
    comparison_figures=(jsd_by_epsilon,),
)
