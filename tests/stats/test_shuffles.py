"""Shuffles are uniform, keep the weights, and depend on nothing but the row itself."""

from collections import Counter
from itertools import permutations

import numpy as np
from scipy.stats import chisquare

from heatcheck.stats.shuffles import shuffled_sums, shuffled_weights

SEEDS = np.array([3, 4, 5], dtype=np.uint64)


def test_every_order_is_equally_likely():
    drawn = shuffled_weights(np.array([[1.0, 2.0, 3.0, 4.0]]), np.ones((1, 4), bool), SEEDS[:1], 24_000)
    counts = Counter(map(tuple, drawn[0].tolist()))
    assert set(counts) == set(permutations([1.0, 2.0, 3.0, 4.0]))
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_consecutive_shuffles_are_independent():
    drawn = shuffled_weights(np.array([[1.0, 2.0, 3.0]]), np.ones((1, 3), bool), SEEDS[:1], 20_000)[0]
    pairs = Counter((tuple(a), tuple(b)) for a, b in zip(drawn[:-1].tolist(), drawn[1:].tolist(), strict=True))
    assert len(pairs) == 36
    assert chisquare(list(pairs.values())).pvalue > 1e-4


def test_sums_are_those_of_the_shuffles():
    rng = np.random.default_rng(0)
    weights, values = rng.random((3, 6)), rng.normal(size=(3, 6, 2))
    valid = np.arange(6) < np.array([6, 4, 1])[:, None]
    sums = shuffled_sums(weights, values, valid, SEEDS, 10)
    drawn = shuffled_weights(weights, valid, SEEDS, 10)
    np.testing.assert_allclose(sums, np.einsum("edt,etl->edl", drawn, values), atol=1e-12)
    np.testing.assert_allclose(np.sort(drawn[1, :, :4]), np.tile(np.sort(weights[1, :4]), (10, 1)))
    assert (drawn[1, :, 4:] == 0).all()
    assert (drawn[2, :, 0] == weights[2, 0]).all()


def test_neither_padding_nor_other_rows_matter():
    rng = np.random.default_rng(0)
    weights, values, valid = rng.random((3, 6)), rng.normal(size=(3, 6, 2)), np.ones((3, 6), bool)
    whole = shuffled_sums(weights, values, valid, SEEDS, 5)
    padded = shuffled_sums(
        np.pad(weights[1:2], ((0, 0), (0, 3)), constant_values=9),
        np.pad(values[1:2], ((0, 0), (0, 3), (0, 0)), constant_values=9),
        np.pad(valid[1:2], ((0, 0), (0, 3))),
        SEEDS[1:2],
        5,
    )
    np.testing.assert_array_equal(whole[1:2], padded)
