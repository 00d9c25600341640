"""Agreement between methods per text, beside chance and the mechanical floor."""

import math
from collections.abc import Mapping

import numpy as np

from heatcheck.report.examples import explainer_order
from heatcheck.report.figures.distribution import MEAN, Style, histogram
from heatcheck.report.figures.figure import (
    FLOOR,
    MECHANICAL,
    Figure,
    altair,
    by_class,
    declare,
    heading,
    overall,
)
from heatcheck.report.figures.shapes import mean_of
from heatcheck.report.wording import pair_of, said, spaced
from heatcheck.results import CheckResult
from heatcheck.results.written import interval, number

_BINS = 40


def tau_histogram(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Agreement per text, beside chance and the mechanical floor."""
    pair = ("attention", "gradient")
    values = next(
        (v for p in (pair, pair[::-1]) if (v := result.per_example.get(f"tau:{p[0]}|{p[1]}")) is not None), None
    )
    if values is None or not np.isfinite(values).any():
        return None
    floors = {
        "random floor": [m for m in overall(result, "tau") if set(pair_of(m)) == {"attention", "random"}],
        **{
            f"mechanical floor: {spaced(str(m.by.get('kind', 'shuffled relevances')))}": [m]
            for m in overall(result, "tau_mechanical_floor")
            if set(pair_of(m)) == set(pair)
        },
    }
    lines = {name: m.value for name, found in floors.items() for m in found if math.isfinite(m.value)}
    styles = {"mean": MEAN} | {
        name: Style(FLOOR, (6, 4)) if name == "random floor" else Style(MECHANICAL, (2, 2 + 2 * at))
        for at, name in enumerate(lines)
    }
    parts = list(by_class(result, "tau", values, predicted))
    panels = [
        histogram(
            values[here],
            {"mean": float(values[here].mean()), **lines},
            styles,
            span=(-1.0, 1.0),
            bins=_BINS,
            title=heading(label, int(here.sum())),
            axis="Kendall τ between attention and gradient, per text" if label == parts[-1][0] else None,
            height=130 if label else 190,
        )
        for label, here in parts
    ]
    known = values[np.isfinite(values)]
    reads = "; ".join(f"{name} {number(at)}" for name, at in lines.items())
    caption = (
        "Agreement of attention and gradient on the ranking of words, per text: 1 is the same order, 0 no relation. "
        f"Mean {number(float(known.mean()))} over {len(known):,} texts{'; ' + reads if reads else ''}."
    )
    if "gradient" in result.facts.get("without_floor", {}):
        caption += (
            " There is no mechanical floor. A word also acts through the hidden states of other words, so its gradient "
            "is not a multiple of its weight."
        )
    return declare("agreement-histogram", result.check, caption, altair().vconcat(*panels, spacing=14))


def tau_differences(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """How much more the other methods agree with each other than with attention, per text."""
    found = []
    for m in overall(result, "tau_difference"):
        of, minus = ([str(name) for name in m.by[key]] for key in ("of", "minus"))
        values = result.per_example.get(f"difference:{'|'.join(of)}-{'|'.join(minus)}", np.array([]))
        known = values[np.isfinite(values)]
        if len(known):
            found.append((f"τ({said(of)}) minus τ({said(minus)})", known))
    if not found:
        return None
    styles = {"mean": MEAN, "no difference": Style(FLOOR, (6, 4))}
    widest = max(float(np.abs(values).max()) for _, values in found)
    span = (-1.0, 1.0) if widest <= 1 else (-2.0, 2.0)
    panels = [
        histogram(
            values,
            {"mean": mean_of(values), "no difference": 0.0},
            styles,
            span=span,
            bins=_BINS,
            title=f"{name}: mean {number(mean_of(values))}, n = {len(values):,}",
            axis="difference of the two Kendall τ, per text" if name == found[-1][0] else None,
        )
        for name, values in found
    ]
    caption = (
        "How much more gradient and leave-one-out agree with each other than with attention: to the right of zero they "
        "agree more. In a model without context, part of this is mechanical, because both contain the weights as a "
        "factor."
    )
    return declare("agreement-differences", result.check, caption, altair().vconcat(*panels, spacing=14))


def tau_matrix(result: CheckResult, _: Mapping[str, str]) -> Figure | None:
    """Agreement of every pair of methods: if the others disagree too, attention's disagreement means less."""
    alt = altair()
    cells = [
        {
            "row": spaced(row),
            "column": spaced(column),
            "tau": m.value,
            "shown": number(m.value),
            "interval": interval(m),
            "n": m.n,
        }
        for m in overall(result, "tau")
        if len(pair_of(m)) == 2 and math.isfinite(m.value)
        for row, column in (pair_of(m), pair_of(m)[::-1])
    ]
    if not cells:
        return None
    order = [spaced(name) for name in explainer_order({name for m in overall(result, "tau") for name in pair_of(m)})]
    place = {
        "x": alt.X("column:N", title=None, sort=order).axis(orient="top", labelAngle=-30, domain=False, ticks=False),
        "y": alt.Y("row:N", title=None, sort=order).axis(domain=False, ticks=False, labelLimit=220),
    }
    chart = alt.Chart(alt.Data(values=cells))
    squares = chart.mark_rect(cornerRadius=3, stroke="#888888", strokeWidth=0.5).encode(
        **place,
        color=alt.Color("tau:Q", title="mean τ", legend=None).scale(domain=[0, 1], scheme="blues", clamp=True),
        tooltip=[
            alt.Tooltip("row:N"),
            alt.Tooltip("column:N"),
            alt.Tooltip("shown:N", title="mean τ"),
            alt.Tooltip("interval:N"),
            alt.Tooltip("n:Q"),
        ],
    )
    text = chart.mark_text(fontSize=12).encode(
        **place,
        text=alt.Text("shown:N"),
        color=alt.when("datum.tau > 0.55").then(alt.value("#ffffff")).otherwise(alt.value("#111111")),
    )
    size = len(order)
    drawn = alt.layer(squares, text).properties(width=max(90 * size, 200), height=max(38 * size, 90))
    caption = (
        "Mean Kendall τ of every pair; darker means more agreement. Compare the first row with the others: if the "
        "other methods do not agree among themselves, attention cannot agree with all of them."
    )
    return declare("agreement-matrix", result.check, caption, drawn)
