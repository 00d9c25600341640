"""Agreement of scores and selections with human rationales: AUPRC, top words, spans, and randomly placed spans.

Items that are not valid are as if they were not there: two items on either side of one are neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Real

from heatcheck.errors import BadInput
from heatcheck.stats.scores import finite_scores, real_items
from heatcheck.stats.ties import best_first, tie_groups

_EQUAL = 1e-12  # window sums that differ by less, as a share of the largest, differ by rounding only


def precision_recall_area_each(
    score: Real[np.ndarray, "example item"],
    gold: Bool[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """Area under the precision-recall curve of each row by trapezoids from (0, 1), as ERASER's code has it (AUPRC).

    Between two points the curve is taken to be straight, so ties are rewarded: equal scores everywhere give
    (1 + share of gold) / 2. `average_precision_each` takes steps instead and gives the share. NaN without gold.

    >>> gold = np.array([[True, False, True, False]] * 2)
    >>> precision_recall_area_each(np.array([[4, 3, 2, 1], [1, 1, 1, 1]]), gold).round(4)
    array([0.7917, 0.75  ])
    """
    valid = real_items(score, valid)
    descending = -finite_scores("score", score, valid, padding=-np.inf)
    wanted = gold & valid
    order = np.argsort(descending, axis=1)
    hits = np.take_along_axis(wanted, order, axis=1)
    first, last = tie_groups(np.take_along_axis(descending, order, axis=1))
    found = np.pad(hits.cumsum(axis=1), ((0, 0), (1, 0)))  # among as many of the highest
    before = np.where(first > 0, np.take_along_axis(found, first, axis=1) / np.maximum(first, 1), 1.0)
    after = np.take_along_axis(found, last + 1, axis=1) / (last + 1)
    area = np.full(len(wanted), np.nan)
    np.divide((hits * (before + after) / 2).sum(axis=1), wanted.sum(axis=1), out=area, where=wanted.any(axis=1))
    return area


def highest(
    score: Real[np.ndarray, "example item"],
    count: Integer[np.ndarray, " example"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    keys: Real[np.ndarray, "example item"] | None = None,
) -> Bool[np.ndarray, "example item"]:
    """Which items are among the `count` highest of their row; of equal ones the smallest key first, or the first item.

    >>> highest(np.array([[0.2, 0.5, 0.2, 0.1]]), np.array([2]))
    array([[ True,  True, False, False]])
    """
    valid = real_items(score, valid)
    order = best_first(finite_scores("score", score, valid, padding=-np.inf), valid, keys)
    chosen = np.empty(valid.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(valid.shape[1]) < count[:, None], axis=1)
    return np.asarray(chosen & valid)


def best_window(
    score: Real[np.ndarray, "example item"],
    count: Integer[np.ndarray, " example"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    keys: Real[np.ndarray, "example item"] | None = None,
) -> Bool[np.ndarray, "example item"]:
    """The `count` neighbouring items of each row with the highest sum.

    Of equal windows the one whose first item has the smallest key, or the first.

    >>> best_window(np.array([[0.5, 0.0, 0.3, 0.3]]), np.array([2]))
    array([[False, False,  True,  True]])
    """
    valid = real_items(score, valid)
    order = _real_first(valid)
    packed = np.take_along_axis(finite_scores("score", score, valid, padding=0.0), order, axis=1)
    length = valid.sum(axis=1)
    size = np.clip(count, 0, length)[:, None]
    sums = np.pad(packed.cumsum(axis=1), ((0, 0), (1, 0)))
    start = np.arange(sums.shape[1])[None]
    inside = start + size <= length[:, None]
    end = np.where(inside, start + size, 0)
    window = np.where(inside, np.take_along_axis(sums, end, axis=1) - sums, -np.inf)
    slack = _EQUAL * np.abs(sums).max(axis=1, keepdims=True)
    as_good = window >= window.max(axis=1, keepdims=True) - slack
    order_of = start if keys is None else np.pad(np.take_along_axis(keys, order, axis=1), ((0, 0), (0, 1)))
    best = np.where(as_good, order_of, np.inf).argmin(axis=1)[:, None]
    place = np.arange(valid.shape[1])[None]
    chosen = np.empty(valid.shape, dtype=bool)
    np.put_along_axis(chosen, order, (place >= best) & (place < best + size), axis=1)
    return np.asarray(chosen & valid)


class SpanMatches(NamedTuple):
    """Counts, one a row."""

    matched: Int[np.ndarray, " example"]
    predicted: Int[np.ndarray, " example"]
    gold: Int[np.ndarray, " example"]


def match_spans(
    predicted: Bool[np.ndarray, "example item"],
    gold: Bool[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
    *,
    threshold: float = 0.5,
) -> SpanMatches:
    """How many runs of predicted items overlap a gold run by at least `threshold` of their union (IOU).

    Two that match the same span would each have to hold half of it and so touch, and runs do not touch: from ½ on
    no span is matched twice. Spans that may touch, as ERASER's format allows, can be: two halves of one gold span both
    match it, and its recall comes out as 2.

    >>> gold = np.array([[True, True, True, False, True]])
    >>> match_spans(np.array([[True, True, False, False, True]]), gold)
    SpanMatches(matched=array([2]), predicted=array([2]), gold=array([2]))
    """
    if not 0.5 <= threshold <= 1:
        raise BadInput(f"threshold must be between 0.5 and 1, not {threshold}.")
    valid = real_items(predicted, valid)
    order = _real_first(valid)
    said, true = (_Runs.of(np.take_along_axis(marks & valid, order, axis=1)) for marks in (predicted, gold))
    # What shares half of a run holds one of the two items in its middle.
    overlap = np.zeros(len(said.row))
    for middle in ((said.start + said.end - 1) // 2, (said.start + said.end) // 2):
        other = true.at[said.row, middle]
        hit = other >= 0
        ours, theirs = (said.start[hit], said.end[hit]), (true.start[other[hit]], true.end[other[hit]])
        shared = np.minimum(ours[1], theirs[1]) - np.maximum(ours[0], theirs[0])
        union = ours[1] - ours[0] + theirs[1] - theirs[0] - shared
        overlap[hit] = np.maximum(overlap[hit], shared / union)
    rows = len(valid)
    matched = np.bincount(said.row[overlap >= threshold], minlength=rows)
    return SpanMatches(matched, np.bincount(said.row, minlength=rows), np.bincount(true.row, minlength=rows))


def scatter_runs(
    marked: Bool[np.ndarray, "example item"],
    generators: Sequence[np.random.Generator],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Int[np.ndarray, "example item"]:
    """Where each item of a row comes from when its marked runs, whole, go to random places and the rest is shuffled.

    As many runs of the same lengths as before, never two touching; every such placing is as likely. Padding stays.
    Each row has its own generator, so that no row depends on the others.

    >>> marked = np.array([[True, True, False, False, True, False]])
    >>> order = scatter_runs(marked, [np.random.default_rng(4)])
    >>> order.tolist(), np.take_along_axis(marked, order, axis=1).astype(int).tolist()
    ([[5, 4, 2, 3, 0, 1]], [[0, 1, 0, 0, 1, 1]])
    """
    valid = real_items(marked, valid)
    real = _real_first(valid)
    packed = np.take_along_axis(marked & valid, real, axis=1)
    length = valid.sum(axis=1)
    keys, shuffle = np.full((2, len(valid), valid.shape[1] + 1), np.inf)
    for row, (generator, items) in enumerate(zip(generators, length, strict=True)):
        keys[row, : items + 1], shuffle[row, : items + 1] = generator.random((2, items + 1))
    # Each run takes the item behind it along, the last one maybe an item that is not there. So no two runs touch, and
    # all orders of these pieces and of the single items are as likely.
    joins = np.pad(packed, ((0, 0), (1, 0)))
    piece = np.maximum.accumulate(np.where(joins, 0, np.arange(joins.shape[1])), axis=1)
    order = np.argsort(np.take_along_axis(keys, piece, axis=1), axis=1, kind="stable")
    in_run = np.take_along_axis(np.pad(packed, ((0, 0), (0, 1))), order, axis=1)[:, :-1]
    # What comes last is in no run, whichever item it is: leave it out, and deal the others that are in none anew.
    place = np.arange(valid.shape[1])[None]
    single = ~packed & (place < length[:, None])
    dealt = np.argsort(np.where(single, shuffle[:, :-1], np.inf), axis=1, kind="stable")
    nth = np.maximum(np.cumsum(~in_run, axis=1) - 1, 0)
    comes_from = np.where(in_run, order[:, :-1], np.take_along_axis(dealt, nth, axis=1))
    comes_from = np.where(place < length[:, None], comes_from, place)
    found = np.empty_like(comes_from)
    np.put_along_axis(found, real, np.take_along_axis(real, comes_from, axis=1), axis=1)
    return found


class _Runs(NamedTuple):
    """All runs of marked items, row after row."""

    row: Int[np.ndarray, " run"]
    start: Int[np.ndarray, " run"]
    end: Int[np.ndarray, " run"]
    at: Int[np.ndarray, "example item"]  # the run that an item is in; -1: none

    @classmethod
    def of(cls, marked: Bool[np.ndarray, "example item"]) -> "_Runs":
        steps = np.diff(np.pad(marked.astype(np.int8), ((0, 0), (1, 1))), axis=1)
        row, start = np.nonzero(steps == 1)
        _, end = np.nonzero(steps == -1)
        opened = np.cumsum(steps[:, :-1].ravel() == 1).reshape(marked.shape) - 1
        return cls(row, start, end, np.where(marked, opened, -1))


def _real_first(valid: Bool[np.ndarray, "example item"]) -> Int[np.ndarray, "example item"]:
    """The places of each row with the real items first, as they stood."""
    return np.argsort(~valid, axis=1, kind="stable")
