"""What a reader sees of the check `agreement`: how alike methods rank words, beside chance and built-in agreement."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from heatcheck.engine import Facts
from heatcheck.report.compared_values import Compared, only_attention
from heatcheck.report.examples import explainer_order
from heatcheck.report.figures.distribution import MEAN, Style, histogram
from heatcheck.report.figures.figure import FLOOR, MECHANICAL, Figure, altair, by_class, declare, heading, overall
from heatcheck.report.figures.several_models import means, outlines
from heatcheck.report.figures.shapes import Span, in_use, mean_of
from heatcheck.report.measurement_words import grouping, pair_of
from heatcheck.report.table import Table, known_columns, pivot, with_n
from heatcheck.report.view import CheckView, Results
from heatcheck.report.wording import said, spaced
from heatcheck.results import CheckResult, Measurement, Quantity
from heatcheck.results.written import interval, number


def agreement_tables(result: CheckResult) -> list[Table]:
    """The heatmap and each other method, overall and by class; then the other methods among themselves."""
    heat, of_pair = result.heatmap, defaultdict(list)
    for m in result.measurements:
        if heat in pair_of(m) and "class" not in m.by:
            of_pair[pair_of(m)].append(m)
    ks = {m.by["k"] for m in result.measurements if "k" in m.by}
    top = f"top {said(ks.pop())} words" if len(ks) == 1 else "top words"
    extra = known_columns(
        {
            column: {
                pair: _joined(m for m in found if m.name == name and m.by.get("correction", correction) == correction)
                for pair, found in of_pair.items()
            }
            for name, column, correction in (
                ("tau_mechanical_floor", "mechanical floor", ""),
                ("tau_above_uniform", "τ above uniform weight", ""),
                ("significant_share", "share of texts with a significant τ", "none"),
                ("significant_share", "the same after Holm correction", "holm"),
                ("top_k_overlap", f"{top} shared", ""),
                ("top_k_distance", f"{top}, distance", ""),
            )
        }
    )
    overall = Table(
        f"{spaced(heat).capitalize()} and each other method{_about_floors(result)}",
        ("other method", "mean τ", "95% interval", *extra, "n"),
        [
            (
                _other(pair, heat),
                number(tau.value),
                interval(tau),
                *(cells[pair] for cells in extra.values()),
                f"{tau.n:,}",
            )
            for pair, found in of_pair.items()
            for tau in found
            if tau.name == "tau"
        ],
    )
    taus = [m for m in result.measurements if m.name == "tau" and "class" in m.by and heat in pair_of(m)]
    by_class = pivot(
        "Mean τ by class", "class", [(str(m.by["class"]), _other(pair_of(m), heat), with_n(m)) for m in taus]
    )
    differences = Table(
        f"How much more the other methods agree with each other than with {spaced(heat)}",
        ("difference", "mean", "95% interval", "n"),
        [
            (grouping(m, result.check), number(m.value), interval(m), f"{m.n:,}")
            for m in result.measurements
            if m.name == "tau_difference" and "class" not in m.by
        ],
    )
    return [overall, by_class, differences]


def _about_floors(result: CheckResult) -> str:
    """How to read the mechanical floors, and which methods have none."""
    floors = any(m.name == "tau_mechanical_floor" for m in result.measurements)
    read = ". A mean τ at or below its mechanical floor says nothing about the words" if floors else ""
    without = [spaced(rival) for rival in result.facts.get("without_floor", {})]
    none = (
        f". There is no mechanical floor for {' and '.join(without)}, because a word also acts through other words’ "
        "hidden states"
    )
    return read + (none if without else "")


def _other(pair: Sequence[str], heat: str) -> str:
    return " and ".join(spaced(name) for name in pair if name != heat)


def _joined(measurements: Iterable[Measurement]) -> str:
    """A cell with one number, or with several variants: '0.120 (uniform), 0.310 (shuffled)'."""
    found = list(measurements)
    if len(found) == 1:
        return number(found[0].value)
    return ", ".join(f"{number(m.value)} ({grouping(m, 'agreement', pair=False)})" for m in found)


_BIN = 0.05  # of τ


def bins_of(span: Span) -> int:
    """Bars of one width, whatever part of the axis is in use.

    >>> bins_of((-1.0, 1.0)), bins_of((0.0, 0.6))
    (40, 12)
    """
    return round((span[1] - span[0]) / _BIN)


def tau_histogram(result: CheckResult, predicted: Mapping[str, str]) -> Figure | None:
    """Agreement per text, beside chance and the mechanical floor."""
    heat = result.heatmap
    pair = (heat, "gradient")
    values = next(
        (v for p in (pair, pair[::-1]) if (v := result.per_example.get(f"tau:{p[0]}|{p[1]}")) is not None), None
    )
    if values is None or not np.isfinite(values).any():
        return None
    floors = {
        "random floor": [m for m in overall(result, "tau") if set(pair_of(m)) == {heat, "random"}],
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
    span = in_use(values, [0.0, *lines.values()], full=(-1.0, 1.0))
    panels = [
        histogram(
            values[here],
            {"mean": float(values[here].mean()), **lines},
            styles,
            span=span,
            bins=bins_of(span),
            title=heading(label, int(here.sum())),
            axis=f"Kendall τ between {spaced(heat)} and gradient, per text" if label == parts[-1][0] else None,
            height=130 if label else 190,
        )
        for label, here in parts
    ]
    known = values[np.isfinite(values)]
    reads = "; ".join(f"{name} {number(at)}" for name, at in lines.items())
    caption = (
        f"Further right, {spaced(heat)} and gradient rank the words of a text more alike: 1 is the same order, 0 no "
        "relation. "
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
    span = in_use(np.concatenate([values for _, values in found]), [0.0], full=(-2.0, 2.0))
    panels = [
        histogram(
            values,
            {"mean": mean_of(values), "no difference": 0.0},
            styles,
            span=span,
            bins=bins_of(span),
            title=f"{name}: mean {number(mean_of(values))}, n = {len(values):,}",
            axis="difference of the two Kendall τ, per text" if name == found[-1][0] else None,
        )
        for name, values in found
    ]
    caption = (
        f"To the right of zero, gradient and leave-one-out agree more with each other than with "
        f"{spaced(result.heatmap)}. In a model without context, part of this is mechanical, because both contain "
        "the weights as a factor."
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
        color=alt.Color("tau:Q", title="mean τ", legend=None).scale(domain=[0, 1], scheme="greens", clamp=True),
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
        "Mean Kendall τ of every pair; a stronger shade means more agreement. Compare the first row with the others: "
        f"if the other methods do not agree among themselves, {spaced(result.heatmap)} cannot agree with all of them."
    )
    return declare("agreement-matrix", result.check, caption, drawn)


def tau_distributions(results: Results, names: Sequence[str]) -> Figure | None:
    """How similarly attention and other methods rank the words of each text."""
    panels = {}
    for rival in ("gradient", "leave_one_out"):
        values = {name: result.per_example.get(f"tau:attention|{rival}") for name, result in results.items()}
        panels[f"attention and {spaced(rival)}"] = {name: of for name, of in values.items() if of is not None}
    caption = (
        "How similarly attention and another method rank the words of each text: 1 is the same order, 0 is no "
        f"relation. Marks on the axis are means. {means(panels)} In a model without context, part of τ is mechanical: "
        "its report has the floor."
    )
    every = [values for of in panels.values() for values in of.values()]
    span = in_use(np.concatenate(every), [0.0], full=(-1.0, 1.0)) if every else (-1.0, 1.0)
    return outlines(panels, names, "compare-agreement", "agreement", caption, span=span, axis="Kendall τ, text by text")


def _not_chance(by: Facts) -> str | None:
    """Words for attention and another method; chance differs from chance by chance."""
    return None if by["pair"][1] == "random" else only_attention(by)


# Words for facts of measurements.
_KINDS = {
    ("correction", "none"): "uncorrected",
}

_QUANTITIES = (
    Quantity(
        "tau",
        "mean Kendall τ",
        high="Both methods rank the words of a text almost alike; 1 is the same order.",
        low="Both methods rank the words in unrelated (0) or opposite (−1) orders.",
    ),
    Quantity(
        "tau_mechanical_floor",
        "τ that the model's structure alone gives (mechanical floor)",
        high="τ stays high with shuffled relevances: much of the agreement is mechanical.",
        low="τ vanishes with shuffled relevances: little of the agreement is mechanical.",
    ),
    Quantity(
        "significant_share",
        "share of texts with a significant τ",
        high="τ is significant in most texts.",
        low="τ is significant in few texts.",
        unit="share of texts",
    ),
    Quantity(
        "tau_above_uniform",
        "mean Kendall τ over the words above uniform weight",
        high="Both methods rank the words above uniform weight almost alike.",
        low="Both methods rank the words above uniform weight in unrelated or opposite orders.",
    ),
    Quantity(
        "tau_difference",
        "mean difference between two Kendall τ",
        high="The first pair of methods agrees more than the second pair.",
        low="The first pair agrees no more than the second (0), or less (below 0).",
    ),
    Quantity(
        "top_k_overlap",
        "overlap of the top words",
        high="Both methods rank mostly the same words at the top.",
        low="Both methods rank mostly different words at the top.",
        unit="share of words",
    ),
    Quantity(
        "top_k_distance",
        "distance between the two lists of top words (0 is the same order)",
        high="The methods differ in their top words or in the order of these.",
        low="The methods have nearly the same top words in the same order.",
    ),
)

VIEW = CheckView(
    "Agreement with other methods",
    place=10,
    tables=agreement_tables,
    figures=(tau_histogram, tau_differences, tau_matrix),
    quantities=_QUANTITIES,
    kinds=_KINDS,
    compared=(Compared("tau", "Kendall τ of {}", _not_chance),),
    comparison_figures=(tau_distributions,),
)
