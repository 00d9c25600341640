"""Linear programs side by side: against HiGHS, with nothing lost where the arithmetic of the way fails."""

import numpy as np
import pytest
from scipy.optimize import linprog

from heatcheck.stats import free_dimensions, freedom, null_space, vertices
from heatcheck.stats.vertices import best_vertices


def polytope(seed, items, features, *, sharp=1.0):
    rng = np.random.default_rng(seed)
    own, values = rng.dirichlet(np.full(items, sharp)), rng.normal(size=(items, features))
    both = np.linalg.qr(np.column_stack([values, np.ones(items)]), mode="complete")[0]
    return own, both[:, : features + 1], both[:, features + 1 :], rng


def by_highs(own, seen, gain):
    found = linprog(-gain, A_eq=seen.T, b_eq=seen.T @ own, bounds=(0, None), method="highs-ds")
    return float(gain @ found.x)


@pytest.mark.parametrize(("items", "features", "sharp"), [(4, 2, 1.0), (12, 3, 0.3), (40, 32, 0.1), (60, 8, 0.02)])
def test_as_good_as_highs_and_within_the_polytope(items, features, sharp):
    own, seen, free, rng = polytope(items, items, features, sharp=sharp)
    gains = np.concatenate([-np.eye(items)[:6], np.eye(items)[:6], rng.normal(size=(5, items)), np.zeros((1, items))])
    found = best_vertices(own, seen, free, gains)
    assert found.by_highs == 0
    assert found.weights.min() >= 0
    np.testing.assert_allclose((found.weights - own) @ seen, 0, atol=1e-12)
    for gain, weights in zip(gains, found.weights, strict=True):
        assert gain @ weights == pytest.approx(by_highs(own, seen, gain), abs=1e-6)
    assert ((found.weights > 1e-12).sum(1) <= features + 1).all(), "a vertex has no more items than that"


def test_weights_of_zero_and_tokens_that_say_the_same():
    """Steps of length 0: the simplex method could go in circles there."""
    own, seen, free, _ = polytope(0, 20, 4)
    own[::2] = 0.0
    own /= own.sum()
    values = np.repeat(np.random.default_rng(1).normal(size=(5, 3)), 4, axis=0)
    twice = np.linalg.qr(np.column_stack([values, np.ones(20)]), mode="complete")[0]
    gains = np.concatenate([-np.eye(20), np.eye(20)])
    for parts in ((seen, free), (twice[:, :4], twice[:, 4:])):
        found = best_vertices(own, *parts, gains)
        for gain, weights in zip(gains, found.weights, strict=True):
            assert gain @ weights == pytest.approx(by_highs(own, parts[0], gain), abs=1e-6)


@pytest.mark.parametrize("wrong", [lambda basis: basis, lambda basis: np.zeros_like(basis)], ids=["stays", "singular"])
def test_an_answer_that_is_not_proven_is_highs_s(wrong, monkeypatch):
    own, seen, free, _ = polytope(2, 15, 4)
    gains = np.eye(15)
    right = best_vertices(own, seen, free, gains).weights
    monkeypatch.setattr(vertices, "_climb", lambda start, some: wrong(np.tile(start.basis, (len(some), 1))))
    found = best_vertices(own, seen, free, gains)
    assert found.by_highs > 5
    np.testing.assert_allclose((gains * found.weights).sum(1), (gains * right).sum(1), atol=1e-6)


def test_nothing_depends_on_how_many_are_solved_at_once(monkeypatch):
    own, seen, free, _ = polytope(3, 30, 8)
    together = best_vertices(own, seen, free, np.eye(30)).weights
    monkeypatch.setattr(vertices, "_IN_CACHE", 1)
    np.testing.assert_array_equal(best_vertices(own, seen, free, np.eye(30)).weights, together)


def test_dimensions_are_those_of_the_null_space():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 9, 4))
    values[1, 3:] = values[1, 2]
    values[2] *= 1e-20
    assert free_dimensions(values).tolist() == [null_space(of_head).shape[1] for of_head in values] == [4, 6, 4]


def test_the_order_of_items_does_not_matter():
    rng = np.random.default_rng(5)
    weights, values = rng.dirichlet(np.full(25, 0.2)), rng.normal(size=(25, 6))
    order = rng.permutation(25)
    one, other = freedom(weights, values), freedom(weights[order], values[order])
    np.testing.assert_allclose(one.low[order], other.low, atol=1e-9)
    np.testing.assert_allclose(one.high[order], other.high, atol=1e-9)
    assert one.jsd_high == pytest.approx(other.jsd_high, abs=1e-6)
