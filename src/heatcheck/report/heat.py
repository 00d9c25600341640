"""A text as a heatmap that needs no script: its words, shaded in eleven steps."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from heatcheck.results.written import number


class Word(NamedTuple):
    """A word of a heatmap."""

    text: str
    level: int
    title: str


class Heatmap(NamedTuple):
    """One text under several weights."""

    head: str
    pair: str
    words: str  # for those who cannot see the shading
    rows: list[tuple[str, list[Word]]]
    found: str


def shaded(words: Sequence[str], scores: Sequence[float | None]) -> list[Word]:
    """Words scaled to the largest score of their text.

    >>> [word.level for word in shaded(["a", "fine", "film"], [0.1, 0.4, None])]
    [2, 10, 0]
    """
    sizes = [abs(score) if score is not None and math.isfinite(score) else 0.0 for score in scores]
    largest = max(sizes, default=0.0) or 1.0
    return [
        Word(word, round(10 * size / largest), "no score" if score is None else number(score))
        for word, size, score in zip(words, sizes, scores, strict=True)
    ]
