"""What counts as equal, and orders of what does."""

import numpy as np
import pytest

from heatcheck import stats


def test_rounding_makes_no_difference_and_more_than_rounding_does():
    own = np.array([[0.7, 0.2, 0.2 * (1 + 1e-7), 0.1, 0.1 * (1 + 1e-5)]])
    found = stats.level_ties(own)
    assert found[0, 1] == found[0, 2] == 0.2
    np.testing.assert_array_equal(found[0, [0, 3, 4]], own[0, [0, 3, 4]])


def test_what_is_nothing_beside_the_largest_is_tied_with_nothing():
    """One-hot weights: what a softmax leaves to the other words is no order of them."""
    assert stats.level_ties(np.array([[1.0, 3e-13, 0.0, -1e-11]])).tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert stats.level_ties(np.array([[1.0, 3e-8, 2e-8]])).tolist() == [[1.0, 3e-8, 2e-8]]


def test_opposite_signs_of_one_size_stay_opposite():
    assert stats.level_ties(np.array([[-0.3, 0.3 + 1e-12, 0.5]])).tolist() == [[-0.3, 0.3, 0.5]]


def test_many_small_steps_never_join_what_is_far_apart():
    """2,000 words of nearly the same weight: neighbours are equal, the first and the last are not."""
    steps = 1 + 4e-7 * np.arange(2000.0)[None]
    found = stats.level_ties(steps)
    assert np.abs(found / steps - 1).max() <= 1e-6
    assert 500 < len(np.unique(found)) < 1000


def test_no_ties_no_change():
    scores = np.random.default_rng(0).normal(size=(50, 30))
    np.testing.assert_array_equal(stats.level_ties(scores), scores)
    assert not stats.has_ties(scores).any()


def test_random_keys_give_every_tied_item_its_turn():
    scores, generator = np.array([[1.0, 0.5, 0.5, 0.5, 0.2]]), np.random.default_rng(0)
    orders = np.concatenate(
        [stats.best_first(scores, np.ones((1, 5), bool), generator.random((1, 5))) for _ in range(3000)]
    )
    assert (orders[:, 0] == 0).all()
    assert (orders[:, 4] == 4).all()
    assert np.bincount(orders[:, 1])[1:4] / 3000 == pytest.approx([1 / 3] * 3, abs=0.04)


def test_keys_decide_between_equal_choices():
    flat, count = np.ones((1, 4)), np.array([2])
    assert stats.highest(flat, count, keys=np.array([[4, 1, 3, 2]])).tolist() == [[False, True, False, True]]
    assert stats.best_window(flat, count, keys=np.array([[4, 3, 1, 0]])).tolist() == [[False, False, True, True]]
    one = np.array([[0.0, 9.0, 0.0, 0.0]])
    assert stats.best_window(one, count, keys=np.array([[4, 3, 1, 0]])).tolist() == [[False, True, True, False]]
