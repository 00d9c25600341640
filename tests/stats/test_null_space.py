"""Weights with the same weighted sum: by brute force, where none exist, and in closed form."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from heatcheck.stats import freedom, null_space


def drawn(seed, items, features, *, sharp=1.0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(items, sharp)), rng.normal(size=(items, features))


def term(w, a):
    """What one item adds to the JSD of w and a, in nats."""
    return sum(0.5 * x * np.log(2 * x / (w + a)) for x in (w, a) if x > 0)


def vertices(weights, values):
    """Every vertex of {w ≥ 0, [V,1]ᵀ w = [V,1]ᵀ a}: all supports of at most d + 1 items, solved one by one."""
    rows = np.column_stack([values, np.ones(len(weights))]).T
    found = []
    for support in itertools.combinations(range(len(weights)), len(rows)):
        part = rows[:, support]
        if np.linalg.matrix_rank(part) < len(rows):
            continue
        w = np.zeros(len(weights))
        w[list(support)] = np.linalg.solve(part, rows @ weights)
        if w.min() > -1e-12:
            found.append(w)
    return np.array(found)


@pytest.mark.parametrize(("items", "features"), [(5, 2), (6, 3), (7, 2), (9, 8), (12, 8), (4, 8)])
def test_the_dimension_is_what_is_counted(items, features):
    _, values = drawn(items, items, features)
    free = null_space(values)
    assert free.shape == (items, max(items - features - 1, 0))
    np.testing.assert_allclose(free.T @ np.column_stack([values, np.ones(items)]), 0, atol=1e-13)
    np.testing.assert_allclose(free.T @ free, np.eye(free.shape[1]), atol=1e-13)


def test_values_in_special_position_leave_more():
    _, values = drawn(0, 5, 4)
    assert null_space(values).shape[1] == 0
    values[3] = values[1]  # two tokens that say the same
    assert null_space(values).shape[1] == 1
    assert null_space(np.zeros((4, 3))).shape[1] == 3
    assert null_space(values * 1e-8).shape[1] == 1, "the size of the values is no matter"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("items", "features"), [(5, 2), (6, 3), (7, 4)])
def test_ranges_and_bracket_by_brute_force(seed, items, features):
    """A linear function has its extremes at vertices, and so has a convex one its maximum."""
    weights, values = drawn(seed, items, features)
    found = freedom(weights, values)
    corners = vertices(weights, values)
    np.testing.assert_allclose(found.low, corners.min(0), atol=1e-6)
    np.testing.assert_allclose(found.high, corners.max(0), atol=1e-6)
    most = max(jensenshannon(corner, weights) ** 2 for corner in corners)
    assert found.jsd_low <= most + 1e-6 <= found.jsd_high + 2e-6
    assert found.jsd_low >= 0.7 * most, "a lower bound worth having"
    ends = [np.array([term(w, a) for w, a in zip(at, weights, strict=True)]) for at in (found.low, found.high)]
    rise = (ends[1] - ends[0]) / np.maximum(found.high - found.low, 1e-12)
    chords = ends[0].sum() + (corners - found.low) @ rise
    assert found.jsd_high == pytest.approx(max(chords.max(), found.jsd_low), abs=1e-5)
    assert chords.max() >= most - 1e-6
    assert found.programs == 2 * items + 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sharp", [0.1, 1.0])
def test_the_twin_is_a_distribution_with_the_same_sum(seed, sharp):
    weights, values = drawn(seed, 30, 8, sharp=sharp)
    found = freedom(weights, values)
    assert found.twin.min() >= 0
    assert found.twin.sum() == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(found.twin @ values, weights @ values, atol=1e-6)
    assert jensenshannon(found.twin, weights) ** 2 == pytest.approx(found.jsd_low, abs=1e-9)
    assert (found.low <= weights + 1e-15).all()
    assert (weights <= found.high + 1e-15).all()
    assert (found.low >= 0).all()
    assert (found.high <= 1 + 1e-9).all()
    assert 0 < found.jsd_low <= found.jsd_high <= np.log(2)
    assert 0 < found.width <= 1


@pytest.mark.parametrize("items", [2, 5, 9])
def test_a_short_text_has_one_point_only(items):
    weights, values = drawn(3, items, 8)
    found = freedom(weights, values)
    assert (found.low == found.high).all()
    assert (found.jsd_low, found.jsd_high, found.width, found.programs) == (0, 0, 0, 0)
    np.testing.assert_allclose(found.twin, weights, rtol=1e-12)


def test_a_null_space_can_leave_no_room():
    """All weight on a corner of the values' hull: one dimension is free, and no other distribution is."""
    values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = freedom(np.array([1.0, 0.0, 0.0, 0.0]), values)
    assert null_space(values).shape[1] == 1
    assert found.width == pytest.approx(0, abs=1e-9)
    assert found.jsd_high == pytest.approx(0, abs=1e-9)


def test_what_is_computed_in_float32_is_judged_by_its_digits():
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(20, 3)) @ rng.normal(size=(3, 8))).astype(np.float32).astype(float)
    assert null_space(values).shape[1] == 11, "rounding fills the other dimensions up"
    assert null_space(values, precision=float(np.finfo(np.float32).eps)).shape[1] == 16
