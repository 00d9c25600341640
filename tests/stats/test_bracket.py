"""The bracket against the exact optimum for two labels, and against dense grids for three."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax
from test_farthest import jsd

from heatcheck.stats.bracket import bracket_weights
from heatcheck.stats.farthest import farthest_weights, margin_bounds


def rng_cases(items, labels, n):
    rng = np.random.default_rng(10 * items + labels)
    for _ in range(n):
        a = rng.dirichlet(np.full(items, rng.choice([0.2, 1.0, 5.0])))
        scale = rng.choice([0.3, 1, 4])
        yield a, rng.normal(size=(items, labels)) * scale, rng.normal(size=labels), rng.choice([0.01, 0.05, 0.2])


def tvd(p, q):
    return np.abs(p - q).sum(-1) / 2


def test_two_labels_lie_around_the_exact_optimum():
    widths = []
    for a, r, b, epsilon in rng_cases(6, 2, 25):
        votes = (r[:, 1] - r[:, 0])[None]
        offset = b[1] - b[0]
        low, high = margin_bounds(np.array([a @ votes[0] + offset]), epsilon)
        exact = farthest_weights(a[None], votes, low - offset, high - offset).jsd[0]
        found = bracket_weights(a, r, b, epsilon, np.random.default_rng(0))
        assert found.low <= exact + 1e-7
        assert exact <= found.high + 1e-7
        widths.append(found.high - found.low)
    assert np.mean(widths) < 0.05


@pytest.mark.parametrize(("items", "steps"), [(3, 80), (4, 28)])
def test_three_labels_no_grid_point_is_above_and_the_low_end_is_attained(items, steps):
    grid = np.array([p for p in product(range(steps + 1), repeat=items - 1) if sum(p) <= steps], float)
    grid = np.column_stack([grid, steps - grid.sum(1)]) / steps
    gaps = []
    for a, r, b, epsilon in rng_cases(items, 3, 20):
        found = bracket_weights(a, r, b, epsilon, np.random.default_rng(0))
        own = softmax(a @ r + b)
        inside = tvd(softmax(grid @ r + b, axis=1), own) <= epsilon
        if inside.any():
            of_grid = jsd(grid[inside], np.tile(a, (inside.sum(), 1))).max()
            assert of_grid <= found.high + 1e-7
            gaps.append(found.low - of_grid)
        assert tvd(softmax(found.weights @ r + b), own) <= epsilon + 2e-9
        assert jsd(found.weights, a) == pytest.approx(found.low, abs=1e-9)
        assert found.weights.sum() == pytest.approx(1)
    assert len(gaps) > 5
    assert np.mean(gaps) > -0.1  # the low end is near what a dense grid finds, or above it


def test_two_items_are_one_dimension_and_nearly_exact():
    """All weights are on one line, so that a fine grid knows the optimum."""
    shares = np.linspace(0, 1, 20_001)
    grid = np.stack([shares, 1 - shares], axis=1)
    for a, r, b, epsilon in rng_cases(2, 3, 25):
        found = bracket_weights(a, r, b, epsilon, np.random.default_rng(0))
        inside = tvd(softmax(grid @ r + b, axis=1), softmax(a @ r + b)) <= epsilon
        best = jsd(grid[inside], np.tile(a, (inside.sum(), 1))).max()
        assert found.low == pytest.approx(best, abs=1e-3)


def test_random_weights_hardly_ever_do_better():
    rng = np.random.default_rng(0)
    better = 0
    for a, r, b, epsilon in rng_cases(5, 3, 25):
        found = bracket_weights(a, r, b, epsilon, np.random.default_rng(0))
        drawn = rng.dirichlet(np.full(5, 0.4), size=4000)
        inside = tvd(softmax(drawn @ r + b, axis=1), softmax(a @ r + b)) <= epsilon
        if inside.any():
            better += jsd(drawn[inside], np.tile(a, (inside.sum(), 1))).max() > found.low + 0.02
    assert better <= 3


def test_many_labels_saturation_and_one_item():
    rng = np.random.default_rng(0)
    a, r = rng.dirichlet(np.ones(5)), 40 * rng.normal(size=(5, 12))
    found = bracket_weights(a, r, np.zeros(12), 0.05, rng)
    assert 0 <= found.low <= found.high <= np.log(2) + 1e-6
    alone = bracket_weights(np.ones(1), np.ones((1, 3)), np.zeros(3), 0.05, rng)
    assert alone.low == 0
    assert alone.high < 1e-6


def test_a_thousand_labels_fit_into_memory():
    """A row for each pair of labels was a million of them: more than a gigabyte for a text of this length."""
    rng = np.random.default_rng(0)
    a, r = rng.dirichlet(np.ones(12)), rng.normal(size=(12, 1000))
    tracemalloc.start()
    try:
        found = bracket_weights(a, r, np.zeros(1000), 0.05, np.random.default_rng(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < found.low <= found.high
    assert tvd(softmax(found.weights @ r), softmax(a @ r)) <= 0.05 + 2e-9
    assert peak < 50e6
