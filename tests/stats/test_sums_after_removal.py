"""Removing weights from the top of a ranking: against adding up by hand, exact fractions, and scipy."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from heatcheck import stats
from heatcheck.errors import BadInput


def by_hand(weights, values, bias, scores, emptied):
    """One row, one removal at a time, everything added up anew."""
    order = sorted(range(len(weights)), key=lambda t: (-scores[t], t))
    found = []
    for gone in range(1, len(weights) + 1):
        left = order[gone:]
        mass = sum(weights[t] for t in left)
        if mass > 0:
            mean = sum(weights[t] / mass * values[t] for t in left)
        else:
            mean = values.mean(0) if emptied == "uniform" else np.zeros_like(bias)
        found.append(mean + bias)
    return np.array(found)


def random_case(seed, items, columns=3):
    draw = np.random.default_rng(seed)
    weights = draw.dirichlet(np.full(items, 0.3), size=6)
    scores = draw.integers(0, 4, size=(6, items)).astype(float)  # with ties
    return weights, draw.normal(size=(6, items, columns)), draw.normal(size=(6, columns)), scores


@pytest.mark.parametrize("emptied", ["bias", "uniform"])
@pytest.mark.parametrize("items", [1, 2, 3, 17])
def test_equal_to_adding_up_by_hand(items, emptied):
    weights, values, bias, scores = random_case(items, items)
    if items > 2:
        weights[0, 1:] = 0.0  # all on one item
        weights[0, 0] = 1.0
    curve = stats.removal_curve(weights, values, bias, scores, emptied=emptied)
    alone = stats.without_each(weights, values, bias, emptied=emptied)
    for row in range(len(weights)):
        expected = by_hand(weights[row], values[row], bias[row], scores[row], emptied)
        np.testing.assert_allclose(curve[row], expected, atol=1e-12)
        for item in range(items):
            only = np.zeros(items)
            only[item] = 1.0
            first = by_hand(weights[row], values[row], bias[row], only, emptied)[0]
            np.testing.assert_allclose(alone[row, item], first, atol=1e-12)


def test_nearly_all_weight_gone_keeps_its_digits():
    """1 minus what is gone has no digit left here; what remains is added up from the far end."""
    weights = np.array([[1.0 - 3e-18, 1e-18, 2e-18, 1e-30]])
    weights /= weights.sum()
    values = np.array([[[5.0], [1.0], [-2.0], [7.0]]])
    expected = []
    for left in ([1, 2, 3], [1, 3], [3]):  # removed by weight: 0, 2, 1
        mass = sum(Fraction(float(weights[0, t])) for t in left)
        expected.append(float(sum(Fraction(float(weights[0, t])) * int(values[0, t, 0]) for t in left) / mass))
    curve = stats.removal_curve(weights, values, np.zeros((1, 1)), weights)
    np.testing.assert_allclose(curve[0, :3, 0], expected, rtol=1e-14)
    assert 1.0 - weights[0, 0] == 0.0
    np.testing.assert_allclose(stats.without_each(weights, values, np.zeros((1, 1)))[0, 0, 0], expected[0], rtol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_first_change_is_where_the_curve_changes(seed):
    weights, values, bias, scores = random_case(seed, 12)
    valid = np.random.default_rng(seed).random(weights.shape) < 0.7
    valid[:, 0] = True
    decided = (np.where(valid, weights, 0)[..., None] * values).sum(1).argmax(-1)
    found = stats.first_change(weights, values, bias, scores, decided, valid)
    for row, real in enumerate(valid):
        curve = by_hand(weights[row, real], values[row, real], bias[row], scores[row, real], "bias")
        changed = np.flatnonzero(curve.argmax(-1) != decided[row])
        assert found.removals[row] == (changed[0] + 1 if len(changed) else np.inf)
        if len(changed):
            best = sorted(np.flatnonzero(real), key=lambda t: (-scores[row, t], t))[: changed[0] + 1]
            assert found.weight[row] == pytest.approx(weights[row, best].sum() / weights[row, real].sum())
        else:
            assert np.isnan(found.weight[row])


def test_some_change_and_some_never_do():
    """Or the test above would say nothing."""
    found = [
        stats.first_change(weights, values, bias, scores, np.zeros(6, int)).removals
        for weights, values, bias, scores in (random_case(seed, 12) for seed in range(5))
    ]
    never = np.isinf(np.concatenate(found))
    assert 3 < never.sum() < 27


def test_of_equal_scores_the_earlier_goes_first():
    even = np.full((1, 3), 1 / 3)
    curve = stats.removal_curve(even, np.array([[[1.0], [2.0], [4.0]]]), np.zeros((1, 1)), np.zeros((1, 3)))
    assert curve[0, :, 0].tolist() == pytest.approx([3.0, 4.0, 0.0])


def test_of_equal_outputs_the_first_is_decided():
    """As argmax has it, so as the model itself decides."""
    one = np.ones((2, 1))
    values = np.array([[[-1.0, 0.0]], [[0.0, 1.0]]])
    found = stats.first_change(one, values, np.zeros((2, 2)), one, np.array([1, 1]))
    assert found.removals.tolist() == [1.0, 1.0]  # nothing left: both outputs 0, and the first is taken
    assert np.isinf(stats.first_change(one, -values, np.zeros((2, 2)), one, np.array([0, 0])).removals).all()


def test_rows_in_blocks_are_rows_in_one(monkeypatch):
    weights, values, bias, scores = random_case(3, 9)
    whole = stats.first_change(weights, values, bias, scores, np.zeros(6, int))
    monkeypatch.setattr("heatcheck.stats.sums_after_removal._NUMBERS_AT_ONCE", 40)
    again = stats.first_change(weights, values, bias, scores, np.zeros(6, int))
    np.testing.assert_array_equal(np.stack(whole), np.stack(again))


def test_a_long_text_is_one_sort_and_one_sum():
    """Adding up anew after each of 200,000 removals would take hours."""
    draw = np.random.default_rng(0)
    weights = draw.dirichlet(np.ones(200_000), size=1)
    values = draw.normal(size=(1, 200_000, 2)) + np.array([0.01, 0.0])
    found = stats.first_change(weights, values, np.zeros((1, 2)), weights, np.array([0]))
    assert 1 < found.removals[0] <= 200_000


def test_scores_must_be_numbers():
    with pytest.raises(BadInput, match="must be finite to be ranked"):
        stats.best_first(np.array([[1.0, np.nan]]), np.ones((1, 2), bool))


@pytest.mark.parametrize("n", [6, 7, 20, 101])
def test_the_interval_of_a_median_is_scipys(n):
    values = np.random.default_rng(n).normal(size=n)
    found = stats.median_interval(values)
    theirs = scipy.stats.quantile_test(values, p=0.5).confidence_interval(0.95)
    assert (found.value, found.low, found.high, found.n) == (np.median(values), theirs.low, theirs.high, n)


def test_too_few_for_a_median_and_values_without_end():
    assert stats.median_interval(np.arange(5.0)) == (2.0, -np.inf, np.inf, 5)
    assert stats.median_interval(np.array([0.1] * 3 + [np.inf] * 5)).value == np.inf
    for wrong in (np.array([]), np.array([1.0, np.nan])):
        with pytest.raises(BadInput, match="median"):
            stats.median_interval(wrong)


def test_evenness_is_entropy_over_its_most():
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=5)
    expected = scipy.stats.entropy(weights, axis=1) / np.log(7)
    np.testing.assert_allclose(stats.evenness(weights), expected)
