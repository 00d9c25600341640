"""The exact optimum against brute force: every pair without pruning, grids of the simplex, and the edge cases."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from heatcheck.errors import BadInput
from heatcheck.stats import jensen_shannon_nats
from heatcheck.stats.farthest import farthest_weights, margin_bounds, most_different, spread_out, two_item_floor


def jsd(p, q):
    return jensen_shannon_nats(torch.from_numpy(np.asarray(p, float)), torch.from_numpy(np.asarray(q, float))).numpy()


def every_pair(a, r, low, high):
    """The vertices of the simplex cut by the slab, all of them, each judged by the definition of JSD."""
    items = len(a)
    vertices = [np.eye(items)[i] for i in range(items) if low - 1e-9 <= r[i] <= high + 1e-9]
    for i, j in product(range(items), repeat=2):
        for bound in (low, high):
            if r[i] < bound < r[j]:
                w = np.zeros(items)
                w[i] = (r[j] - bound) / (r[j] - r[i])
                w[j] = 1 - w[i]
                vertices.append(w)
    return jsd(np.array(vertices), np.tile(a, (len(vertices), 1))).max()


def cases(items, rng, n):
    """Random rows with ties, zeros, light and heavy tails, small and large scales."""
    for number in range(n):
        a = rng.dirichlet(np.full(items, rng.choice([0.05, 0.3, 1.0, 10.0])))
        a[rng.random(items) < 0.1] = 0
        a = a / a.sum() if a.sum() > 0 else np.full(items, 1 / items)
        r = rng.normal(size=items) * rng.choice([0.1, 1, 5, 30])
        if number % 3 == 0:
            r = np.round(r)
        if number % 4 == 0:
            a = np.round(a, 1) + 0.1
            a = a / a.sum()
        yield a, r, rng.choice([0.001, 0.01, 0.05, 0.2])


@pytest.mark.parametrize("items", [1, 2, 3, 5, 12, 40])
def test_equal_to_trying_every_pair(items):
    rng = np.random.default_rng(items)
    for a, r, epsilon in cases(items, rng, 60 if items < 10 else 15):
        margin = np.array([a @ r])
        low, high = margin_bounds(margin, epsilon)
        found = farthest_weights(a[None], r[None], low, high)
        weights = spread_out(found, a[None])[0]
        assert found.jsd[0] == pytest.approx(every_pair(a, r, low[0], high[0]), abs=1e-12)
        assert jsd(weights, a) == pytest.approx(found.jsd[0], abs=1e-9)
        assert weights.sum() == pytest.approx(1)
        assert abs(expit(weights @ r) - expit(margin[0])) <= epsilon + 1e-9
        assert two_item_floor(a[None])[0] <= found.jsd[0] + 1e-9
        assert found.jsd[0] <= most_different(a[None])[0] + 1e-12


@pytest.mark.parametrize(("items", "steps"), [(2, 400), (3, 60), (4, 24)])
def test_no_point_of_a_grid_is_farther(items, steps):
    """The maximum over *all* weights, not only over vertices."""
    rng = np.random.default_rng(0)
    grid = np.array([p for p in product(range(steps + 1), repeat=items - 1) if sum(p) <= steps], float)
    grid = np.column_stack([grid, steps - grid.sum(1)]) / steps
    closest = 1.0
    for a, r, epsilon in cases(items, rng, 40):
        margin = np.array([a @ r])
        low, high = margin_bounds(margin, epsilon)
        inside = np.abs(expit(grid @ r) - expit(margin[0])) <= epsilon
        if not inside.any():
            continue
        of_grid = jsd(grid[inside], np.tile(a, (inside.sum(), 1))).max()
        found = farthest_weights(a[None], r[None], low, high).jsd[0]
        assert of_grid <= found + 1e-9
        closest = min(closest, found - of_grid)
    assert closest < 0.02  # the grid comes near: the comparison is not vacuous


def test_long_rows_cost_little_and_pruning_loses_nothing():
    rng = np.random.default_rng(1)
    a, r = rng.dirichlet(np.full(150, 0.3)), rng.normal(size=150)
    low, high = margin_bounds(np.array([a @ r]), 0.01)
    assert farthest_weights(a[None], r[None], low, high).jsd[0] == pytest.approx(every_pair(a, r, low[0], high[0]))


@settings(max_examples=50, deadline=None)
@given(arrays(float, (3, 6), elements=st.floats(-3, 3)), st.permutations(range(6)), st.integers(0, 3))
def test_neither_padding_nor_order_matters(r, order, padding):
    a = np.abs(np.roll(r, 1, axis=1)) + 0.01
    a /= a.sum(1, keepdims=True)
    low, high = margin_bounds((a * r).sum(1), 0.05)
    plain = farthest_weights(a, r, low, high)
    valid = np.pad(np.ones((3, 6), bool), ((0, 0), (0, padding)))
    moved = farthest_weights(
        np.pad(a[:, order], ((0, 0), (0, padding)), constant_values=9.0),
        np.pad(r[:, order], ((0, 0), (0, padding)), constant_values=0.5),
        low,
        high,
        valid,
    )
    np.testing.assert_allclose(moved.jsd, plain.jsd, atol=1e-12)
    assert (moved.first < 6).all()


def test_edges():
    one = farthest_weights(np.ones((1, 1)), np.array([[2.0]]), np.array([1.9]), np.array([2.1]))
    assert one.jsd[0] == 0
    # All relevances equal: the lightest item alone.
    same = farthest_weights(np.array([[0.6, 0.3, 0.1]]), np.full((1, 3), 2.0), np.array([1.9]), np.array([2.1]))
    assert same.first[0] == same.second[0] == 2
    assert same.jsd[0] == pytest.approx(most_different(np.array([[0.6, 0.3, 0.1]]))[0])
    # A saturated output: nothing changes it by ε upwards, so that bound is none.
    low, high = margin_bounds(np.array([60.0, -60.0]), 0.05)
    assert high[0] == np.inf
    assert low[1] == -np.inf
    assert low[0] == pytest.approx(np.log(0.95 / 0.05))
    with pytest.raises(BadInput, match="row 0 has no valid item"):
        farthest_weights(np.ones((1, 2)), np.ones((1, 2)), low[:1], high[:1], np.zeros((1, 2), bool))


def test_no_change_at_all_is_allowed_for_up_to_rounding():
    """ε = 0, with relevances so large that their rounding is: the floor still holds."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e3, 1e6):
        a, r = rng.dirichlet(np.ones(6), size=20), scale * rng.normal(size=(20, 6))
        r[:10] = scale * 1.1  # all equal: any weights keep the output
        margin = (a * r).sum(1)
        found = farthest_weights(a, r, *margin_bounds(margin, 0.0))
        assert (found.jsd >= two_item_floor(a) - 1e-9).all()
        np.testing.assert_allclose(found.jsd[:10], most_different(a[:10]))


def test_the_floor_is_the_formula_of_the_top_two():
    """f at M = .05/.1/.2/.3/.5/.7/.9, from spec/verdicts.md, F3."""
    for mass, value in zip(
        (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), (0.593, 0.526, 0.423, 0.342, 0.216, 0.117, 0.036), strict=True
    ):
        rest = np.full(60, (1 - mass) / 60)
        assert two_item_floor(np.array([[mass / 2, mass / 2, *rest]]))[0] == pytest.approx(value, abs=6e-4)
