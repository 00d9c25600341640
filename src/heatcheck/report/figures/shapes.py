"""Distributions as rows of data for a figure: bars, outlines, quartiles and lines.

Counts and densities are computed here, so that the page is no larger for two million texts than for two hundred.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

Span: TypeAlias = tuple[float, float]
Rows: TypeAlias = list[dict[str, Any]]

BANDS = 4  # of the largest weight, as published
FEW = 10  # below this a density would be invented: each text is drawn as it is

POINTS = 60  # of a violin's outline
_HALF = 0.1  # of a violin's height, on an axis from 0 to 1 with bands of a quarter


class Violins(NamedTuple):
    """The parts of a violin plot: texts in each quarter of the largest weight, on an axis of that weight."""

    outlines: Rows
    quartiles: Rows
    singles: Rows  # each text, where a quarter has few
    lines: Rows
    counts: Rows


def bars(values: Float[np.ndarray, " example"], *, span: Span, bins: int) -> Rows:
    """Counts of texts over a span; values that rounding moves past the edge are in the last bar."""
    counts, edges = np.histogram(np.clip(values, *span), bins=bins, range=span)
    return [
        {"left": round(float(edges[at]), 4), "right": round(float(edges[at + 1]), 4), "texts": int(count)}
        for at, count in enumerate(counts)
        if count
    ]


def in_use(values: Float[np.ndarray, " example"], lines: Iterable[float], *, full: Span, step: float = 0.1) -> Span:
    """The part of an axis that has values or lines, in whole steps: no empty half, and none cut off.

    >>> in_use(np.array([0.12, 0.55]), [0.0], full=(-1.0, 1.0)), in_use(np.array([np.nan]), [], full=(0.0, 0.7))
    ((0.0, 0.6), (0.0, 0.7))
    """
    known = [*values[np.isfinite(values)].tolist(), *(at for at in lines if np.isfinite(at))]
    if not known:
        return full
    low = max(full[0], math.floor(min(known) / step + 1e-9) * step)
    high = min(full[1], math.ceil(max(known) / step - 1e-9) * step)
    return (round(low, 6), round(high, 6)) if high > low else (round(low, 6), round(low + step, 6))


def dots(
    x: Float[np.ndarray, " example"], y: Float[np.ndarray, " example"], *, spans: tuple[Span, Span], bins: int = 40
) -> Rows:
    """A scatter of text counts, each at the mean of its texts, so that a single text keeps its exact place."""
    places = [
        np.clip((bins * (values - low) / (high - low)).astype(np.int64), 0, bins - 1)
        for values, (low, high) in zip((x, y), spans, strict=True)
    ]
    cell = places[0] * bins + places[1]
    counts = np.bincount(cell)
    filled = np.flatnonzero(counts)
    means = [(np.bincount(cell, values)[filled] / counts[filled]).round(4).tolist() for values in (x, y)]
    return [
        {"x": at, "y": height, "texts": count}
        for at, height, count in zip(*means, counts[filled].tolist(), strict=True)
    ]


def lines_at(places: Mapping[str, float]) -> Rows:
    """One row per line; lines without a finite place are left out."""
    return [{"at": round(at, 5), "line": name} for name, at in places.items() if np.isfinite(at)]


def violins_of(
    values: Float[np.ndarray, " example"],
    largest: Float[np.ndarray, " example"],
    beside: Mapping[str, Float[np.ndarray, " example"]],
    *,
    span: Span,
    points: int = POINTS,
) -> Violins:
    """The values of the texts in each quarter of the largest weight, and the means of other values of these texts."""
    found = Violins([], [], [], [], [])
    for number, here in enumerate(bands(largest)):
        part = np.clip(values[here], *span)
        if not len(part):
            continue
        middle = (number + 0.5) / BANDS
        found.counts.append({"y": middle, "n": f"n = {len(part):,}"})
        found.lines.extend(
            {**line, "low": round(middle - 0.115, 4), "high": round(middle + 0.115, 4)}
            for line in lines_at({name: mean_of(other[here]) for name, other in beside.items()})
        )
        if len(part) < FEW:
            found.singles.extend({"x": round(float(value), 4), "y": middle} for value in part)
            continue
        grid, density = outline(part, smallest=(span[1] - span[0]) / 200, points=points)
        found.outlines.extend(
            {"x": x, "low": round(middle - half, 4), "high": round(middle + half, 4), "band": number}
            for x, half in zip(grid.round(4).tolist(), (_HALF * density).tolist(), strict=True)
        )
        for at, share in zip(np.quantile(part, (0.25, 0.5, 0.75)).tolist(), (25, 50, 75), strict=True):
            half = max(_HALF * float(np.interp(at, grid, density)), 0.03)
            ends = {"low": round(middle - half, 4), "high": round(middle + half, 4)}
            found.quartiles.append({"x": round(at, 4), **ends, "quartile": f"{share}% are below"})
    return found


def bands(largest: Float[np.ndarray, " example"]) -> list[np.ndarray]:
    """The texts with their largest weight in each quarter of 0 to 1; the last quarter includes 1.

    >>> [band.tolist() for band in bands(np.array([0.1, 0.25, 1.0]))]
    [[0], [1], [], [2]]
    """
    number = np.clip((largest * BANDS).astype(np.int64), 0, BANDS - 1)
    return [np.flatnonzero(number == band) for band in range(BANDS)]


def outline(
    values: Float[np.ndarray, " example"], *, smallest: float, points: int = POINTS
) -> tuple[Float[np.ndarray, " item"], Float[np.ndarray, " item"]]:
    """A Gaussian density between the smallest and the largest value, its peak at 1.

    Silverman's bandwidth, but at least `smallest`, for equal values.
    """
    low, high = float(values.min()), float(values.max())
    spread = min(float(values.std()), float(np.subtract(*np.quantile(values, (0.75, 0.25)))) / 1.34)
    width = max(0.9 * (spread or float(values.std())) * len(values) ** -0.2, smallest)
    if high - low < smallest:
        low, high = low - smallest, high + smallest
    grid = np.linspace(low, high, points)
    # By counts on a fine mesh: the cost does not grow with the texts.
    counts, edges = np.histogram(values, bins=512, range=(low, high))
    centres = (edges[:-1] + edges[1:]) / 2
    density = np.exp(-0.5 * ((grid[:, None] - centres) / width) ** 2) @ counts
    return grid, density / density.max()


def mean_of(values: Float[np.ndarray, " example"]) -> float:
    """The mean of the defined values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
