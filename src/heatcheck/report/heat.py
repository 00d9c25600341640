"""A text as a heatmap that needs no script: its words, shaded in eleven steps; weights are all on one scale."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from heatcheck.results.written import decimals


class Word(NamedTuple):
    """A word of a heatmap."""

    text: str
    level: int
    title: str


class HeatRow(NamedTuple):
    """One heatmap of the example, and the answer that goes with it."""

    who: str
    words: list[Word]
    answer: str = ""  # "positive 0.87"; empty where no answer goes with it
    percent: float = 0.0  # of a bar
    scores: bool = False  # of another method, on a scale of their own and in another hue


class Heatmap(NamedTuple):
    """One text under several weights, all on the one scale of weights."""

    head: str
    pair: str
    words: str  # for those who cannot see the shading
    rows: list[tuple[str, list[Word]]]
    found: str


LEVELS = 10  # of shades, without the paper
DARKEST = 7  # shade of the largest score of a method whose scores have no scale


def shade_of(weight: float) -> int:
    """The shade of a weight: the same in every heatmap of every page, so that shades of rows and texts can be compared.

    Ten times the square root, because most weights are small: the steps are 0, .01, .04, .09, … .81, 1.

    >>> [shade_of(weight) for weight in (0.0, 0.01, 0.04, 0.25, 1.0)]
    [0, 1, 2, 5, 10]
    """
    return min(LEVELS, round(LEVELS * math.sqrt(max(0.0, weight)))) if math.isfinite(weight) else 0


def weighed(words: Sequence[str], weights: Sequence[float | None]) -> list[Word]:
    """Words with their weights, on the one scale.

    >>> [(word.level, word.title) for word in weighed(["a", "fine", "film"], [0.1, 0.4, None])]
    [(3, '.10'), (6, '.40'), (0, '')]
    """
    return [
        Word(word, 0 if weight is None else shade_of(weight), "" if weight is None else short(weight))
        for word, weight in zip(words, weights, strict=False)
    ]


def by_size(words: Sequence[str], scores: Sequence[float | None]) -> list[Word]:
    """Words with scores of another method, on a scale of their own; a minus stands before those against the answer.

    >>> [(word.level, word.title) for word in by_size(["a", "fine", "film"], [-0.5, 2.0, None])]
    [(2, '−.50'), (7, '2.00'), (0, '')]
    """
    known = [abs(score) for score in scores if score is not None and math.isfinite(score)]
    largest = max(known, default=0.0) or 1.0
    return [
        Word(word, 0, "")
        if score is None or not math.isfinite(score)
        else Word(word, min(LEVELS, round(DARKEST * abs(score) / largest)), short(score))
        for word, score in zip(words, scores, strict=False)
    ]


def short(weight: float) -> str:
    """Two decimals without the zero before them, or nothing for what is no number.

    >>> short(0.371), short(1.0), short(0.002), short(-0.25), short(float("nan"))
    ('.37', '1.00', '.00', '−.25', '')
    """
    return decimals(weight, ".2f").replace("0.", ".", 1) if math.isfinite(weight) else ""
