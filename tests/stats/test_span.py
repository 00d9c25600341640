"""Projections against a basis of the null space, and ranks."""

import numpy as np
import pytest
from scipy.linalg import null_space

from heatcheck.stats.span import onto_span

RANDOM = np.random.default_rng(0)


def rows(examples, heads, queries, keys):
    weights = RANDOM.random((examples, heads, queries, keys))
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("keys", [3, 8, 13])
def test_what_is_taken_away_is_the_part_in_the_null_space(keys):
    weights, values = rows(2, 3, keys, keys), RANDOM.normal(size=(2, 3, keys, 8))
    found = onto_span(weights, values, np.ones(weights.shape, dtype=bool))
    assert np.allclose(found.weights @ values, weights @ values)
    assert (found.rank == min(keys, 8)).all()
    for place in np.ndindex(2, 3):
        empty = null_space(values[place].T)
        assert np.allclose(found.weights[place], weights[place] - weights[place] @ empty @ empty.T)
    again = onto_span(found.weights, values, np.ones(weights.shape, dtype=bool))
    assert np.allclose(again.weights, found.weights)
    assert np.allclose(found.weights, weights) == (keys <= 8)


def test_a_row_keeps_to_the_keys_it_sees():
    weights, values = rows(1, 2, 12, 12), RANDOM.normal(size=(1, 2, 12, 4))
    weights = np.tril(weights)
    visible = np.broadcast_to(np.tril(np.ones((12, 12), dtype=bool)), weights.shape)
    found = onto_span(weights, values, visible)
    assert (found.weights[~visible] == 0).all()
    assert np.allclose(found.weights @ values, weights @ values)
    assert (found.rank[0, 0] == np.minimum(np.arange(12) + 1, 4)).all()
    for query in range(12):
        alone = onto_span(
            weights[:, :, query : query + 1, : query + 1],
            values[:, :, : query + 1],
            np.ones((1, 2, 1, query + 1), dtype=bool),
        )
        assert np.allclose(alone.weights[:, :, 0], found.weights[:, :, query, : query + 1])


def test_padding_is_no_key_and_a_row_that_sees_nothing_is_zero():
    weights, values = rows(1, 1, 9, 9), RANDOM.normal(size=(1, 1, 9, 4))
    visible = np.zeros(weights.shape, dtype=bool)
    visible[..., :6, :6] = True
    found = onto_span(weights, values, visible)
    cropped = onto_span(weights[..., :6, :6], values[:, :, :6], np.ones((1, 1, 6, 6), dtype=bool))
    assert np.allclose(found.weights[..., :6, :6], cropped.weights)
    assert (found.weights[..., 6:] == 0).all()
    assert (found.weights[:, :, 6:] == 0).all()
    assert (found.rank[0, 0, 6:] == 0).all()


def test_rank_is_counted_a_head_and_an_example_each_and_rounding_is_no_dimension():
    values = RANDOM.normal(size=(2, 2, 10, 6)).astype(np.float32)
    values[0, 1, :, 3:] = values[0, 1, :, :3] @ RANDOM.normal(size=(3, 3)).astype(np.float32)  # in single precision
    values[1, 0] = 0.0
    found = onto_span(rows(2, 2, 1, 10), values, np.ones((2, 2, 1, 10), dtype=bool))
    assert found.rank[..., 0].tolist() == [[6, 3], [0, 6]]
    exact = onto_span(rows(2, 2, 1, 10), values, np.ones((2, 2, 1, 10), dtype=bool), precision=1e-16)
    assert exact.rank[0, 1, 0] == 6
