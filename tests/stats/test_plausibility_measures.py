"""Areas, hard choices and spans: by hand, by brute force, and as scikit-learn has them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from heatcheck import stats
from heatcheck.errors import BadInput

rows = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=14)
marks = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=16)


def eraser_area(score, gold):
    """What ERASER's code computes of one text."""
    precision, recall, _ = metrics.precision_recall_curve(gold, score)
    return metrics.auc(recall, precision)


def spans(marked):
    """Half-open runs, one step at a time."""
    found, start = [], None
    for place, mark in enumerate([*marked, False]):
        if mark and start is None:
            start = place
        elif not mark and start is not None:
            found.append((start, place))
            start = None
    return found


def overlap(one, other):
    a, b = set(range(*one)), set(range(*other))
    return len(a & b) / len(a | b)


# Areas ---------------------------------------------------------------------------------------------------------------


def test_the_area_by_hand():
    """Four words, the first and the third marked, ranked as they stand.

    Points (recall, precision): (0, 1), (½, 1), (½, ½), (1, ⅔), (1, ½): ½·1 + ½·(½ + ⅔)/2 = 19/24.
    """
    score, gold = np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[True, False, True, False]])
    assert stats.precision_recall_area_each(score, gold) == pytest.approx([19 / 24])
    assert stats.average_precision_each(score, gold) == pytest.approx([(1 + 2 / 3) / 2])
    assert stats.precision_recall_area_each(-score, gold) == pytest.approx([(0 + 1 / 2) / 4 + (1 / 3 + 1 / 2) / 4])


@given(rows)
def test_the_area_is_that_of_scikit_learn(row):
    score, gold = (np.array(column) for column in zip(*row, strict=True))
    found = stats.precision_recall_area_each(score[None], gold[None])[0]
    if not gold.any():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(eraser_area(score, gold))


def test_without_a_marked_word_the_published_area_is_a_half_and_ours_is_none():
    gold = np.zeros(4, dtype=bool)
    with pytest.warns(UserWarning, match="No positive class found"):
        assert eraser_area(np.arange(4), gold) == 0.5
    assert np.isnan(stats.precision_recall_area_each(np.arange(4)[None], gold[None]))


@pytest.mark.parametrize("marked", [1, 3, 7])
def test_trapezoids_reward_ties_and_steps_do_not(marked):
    score, gold = np.ones((1, 10)), (np.arange(10) < marked)[None]
    assert stats.precision_recall_area_each(score, gold) == pytest.approx([(1 + marked / 10) / 2])
    assert stats.average_precision_each(score, gold) == pytest.approx([marked / 10])


# Hard choices --------------------------------------------------------------------------------------------------------


@given(rows, st.integers(0, 16))
def test_the_highest_and_the_best_window_by_brute_force(row, count):
    score = np.array([value for value, _ in row], dtype=float)
    items = len(score)
    size = min(count, items)
    ranked = sorted(range(items), key=lambda place: (-score[place], place))[:size]
    chosen = stats.highest(score[None], np.array([count]))[0]
    assert np.flatnonzero(chosen).tolist() == sorted(ranked)
    sums = [score[start : start + size].sum() for start in range(items - size + 1)]
    window = stats.best_window(score[None], np.array([count]))[0]
    start = int(np.argmax(sums))
    assert np.flatnonzero(window).tolist() == list(range(start, start + size))


def test_rounding_does_not_choose_the_window():
    """Twenty equal weights: every window of three is as good, whatever the sums of tenths round to."""
    score = np.full((1, 20), 0.1)
    assert np.flatnonzero(stats.best_window(score, np.array([3]))[0]).tolist() == [0, 1, 2]


def test_rows_have_their_own_counts():
    score = np.array([[3.0, 2.0, 1.0]] * 3)
    assert stats.highest(score, np.array([1, 2, 3])).sum(axis=1).tolist() == [1, 2, 3]
    assert stats.best_window(score, np.array([1, 2, 3])).sum(axis=1).tolist() == [1, 2, 3]


# Spans ---------------------------------------------------------------------------------------------------------------


@given(marks, st.sampled_from([0.5, 0.6, 1.0]))
def test_spans_match_by_brute_force_and_never_twice(row, threshold):
    predicted, gold = (np.array(column) for column in zip(*row, strict=True))
    found = stats.match_spans(predicted[None], gold[None], threshold=threshold)
    said, true = spans(predicted), spans(gold)
    matches = [[overlap(one, other) >= threshold for other in true] for one in said]
    assert [counts[0] for counts in found] == [sum(map(any, matches)), len(said), len(true)]
    assert all(sum(column) <= 1 for column in zip(*matches, strict=True)), "no gold span is found twice"
    assert all(sum(row) <= 1 for row in matches)


def test_what_is_half_of_a_span_matches_it():
    gold = np.array([[True, True, True, True, False]])
    for predicted, matched in [([1, 1, 0, 0, 0], 1), ([0, 0, 1, 1, 0], 1), ([0, 1, 1, 0, 0], 1), ([1, 0, 0, 0, 0], 0),
                               ([0, 0, 1, 1, 1], 0), ([1, 1, 1, 1, 1], 1)]:  # fmt: skip
        assert stats.match_spans(np.array([predicted]) == 1, gold).matched.tolist() == [matched]


def test_the_published_recall_can_be_two():
    """Spans that touch, which ERASER's format allows and runs cannot do: both halves match, one span is there."""
    gold, predicted = [(0, 4)], [(0, 2), (2, 4)]
    matched = sum(max(overlap(one, other) for other in gold) >= 0.5 for one in predicted)
    assert matched / len(gold) == 2
    as_marks = np.array([[True] * 4])
    assert stats.match_spans(as_marks, as_marks).matched.tolist() == [1]


def test_a_threshold_at_which_spans_could_match_twice_is_refused():
    some = np.array([[True, False]])
    for threshold in (0.4, 0.0, 1.1):
        with pytest.raises(BadInput, match=f"threshold must be .* not {threshold}"):
            stats.match_spans(some, some, threshold=threshold)


# Spans put elsewhere -------------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 5))
def test_scattered_runs_keep_their_number_and_lengths(row, seed):
    marked = np.array([row])
    order = stats.scatter_runs(marked, [np.random.default_rng(seed)])
    assert sorted(order[0].tolist()) == list(range(len(row))), "every item is somewhere"
    placed = np.take_along_axis(marked, order, axis=1)[0]
    lengths = [[end - start for start, end in spans(one)] for one in (marked[0], placed)]
    assert sorted(lengths[0]) == sorted(lengths[1])
    for start, end in spans(placed):
        assert all(later == earlier + 1 for earlier, later in pairwise(order[0, start:end])), "runs stay whole"


def test_every_placing_is_as_likely():
    """Runs of two and of one among seven items: 4·5/2 placings of two pieces, in either order."""
    marked = np.array([[True, True, False, False, True, False, False]] * 12_000)
    generators = [np.random.default_rng(seed) for seed in range(len(marked))]
    order = stats.scatter_runs(marked, generators)
    counts = Counter(map(tuple, np.take_along_axis(marked, order, axis=1).tolist()))
    assert len(counts) == 20
    expected = len(marked) / 20
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 45  # χ², 19 degrees: p = .0007
    rest = Counter(
        tuple(row[~mark]) for row, mark in zip(order, np.take_along_axis(marked, order, axis=1), strict=True)
    )
    assert len(rest) == 24, "the others are in every order too"


def test_a_row_does_not_depend_on_its_batch():
    generator = np.random.default_rng(0)
    marked = generator.random((6, 12)) < 0.4
    valid = np.arange(12) < generator.integers(3, 13, size=(6, 1))
    together = stats.scatter_runs(marked, [np.random.default_rng(n) for n in range(6)], valid)
    for row in range(6):
        alone = stats.scatter_runs(marked[row, valid[row]][None], [np.random.default_rng(row)])[0]
        assert together[row, valid[row]].tolist() == alone.tolist()
        assert together[row, ~valid[row]].tolist() == np.flatnonzero(~valid[row]).tolist(), "padding stays"
