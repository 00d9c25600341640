"""Kendall and Spearman against scipy, row by row, and against enumeration where scipy itself is on trial."""

import builtins
import math
import warnings
from itertools import permutations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from heatcheck.errors import BadInput
from heatcheck.stats import kendall_tau, rank, spearman

PATHS = ("numba", "plain")
GARBAGE = (np.nan, np.inf, -np.inf, 1e308, 3.0)


def counted_by(path):
    """The counting loop that the machine at hand would use, or the one for machines without numba."""
    if path == "numba":
        pytest.importorskip("numba")
        return mock.patch.object(rank, "_compiled_kernel", rank._compiled_kernel)
    return mock.patch.object(rank, "_compiled_kernel", return_value=None)


@st.composite
def masked_rows(draw):
    """Rows of few or many ties, real items anywhere in the row, garbage in the padding."""
    examples, items = draw(st.integers(1, 3)), draw(st.integers(1, 60))
    total = examples * items
    untied = draw(st.booleans())

    def scores():
        if untied:
            flat = [value for _ in range(examples) for value in draw(st.permutations(range(items)))]
        else:
            most = draw(st.sampled_from((1, 2, 5, 30)))
            flat = draw(st.lists(st.integers(-most, most), min_size=total, max_size=total))
        return np.array(flat, dtype=float).reshape(examples, items) / 4

    x, y = scores(), scores()
    valid = np.ones((examples, items), dtype=bool)
    if draw(st.booleans()):
        valid = np.array(draw(st.lists(st.booleans(), min_size=total, max_size=total))).reshape(examples, items)
    x[~valid], y[~valid] = draw(st.sampled_from(GARBAGE)), draw(st.sampled_from(GARBAGE))
    return x, y, valid


def scipy_row_by_row(function, x, y, valid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of constant and of short rows; we answer NaN in silence
        found = [function(u[real], v[real]) for u, v, real in zip(x, y, valid, strict=True)]
    return np.array([row.statistic for row in found]), np.array([row.pvalue for row in found])


def assert_equal_to_scipy(ours, function, x, y, valid):
    found = ours(x, y, valid)
    correlation, p_value = scipy_row_by_row(function, x, y, valid)
    np.testing.assert_allclose(found.correlation, correlation, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.p_value, p_value, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(found.n, valid.sum(axis=1))


@pytest.mark.parametrize("path", PATHS)
@given(rows=masked_rows())
@settings(deadline=None, max_examples=150)
def test_kendall_equals_scipy(path, rows):
    with counted_by(path):
        assert_equal_to_scipy(kendall_tau, scipy_stats.kendalltau, *rows)


@given(rows=masked_rows())
@settings(deadline=None, max_examples=150)
def test_spearman_equals_scipy(rows):
    assert_equal_to_scipy(spearman, scipy_stats.spearmanr, *rows)


def test_the_comparison_with_scipy_is_not_vacuous():
    # The strategy above must reach both p-values: exact and normal, the latter with and without ties.
    generator = np.random.default_rng(0)
    for items, distinct in ((33, None), (34, None), (60, None), (20, 4), (60, 4)):
        if distinct is None:
            x, y = (np.argsort(generator.random((50, items)), axis=1).astype(float) for _ in range(2))
        else:
            x, y = (generator.integers(distinct, size=(50, items)).astype(float) for _ in range(2))
        valid = np.ones(x.shape, dtype=bool)
        found = kendall_tau(x, y, valid)
        assert np.ptp(found.correlation) > 0.2
        assert np.ptp(found.p_value) > 0.3
        assert_equal_to_scipy(kendall_tau, scipy_stats.kendalltau, x, y, valid)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("items", [2, 3, 33, 34, 40, 170, 171, 172, 200])
@pytest.mark.parametrize("swaps", [0, 1, 2])
def test_kendall_of_nearly_sorted_rows_equals_scipy(path, items, swaps):
    # scipy goes exact above 33 items when at most one pair is out of line.
    x = np.arange(items)[None, :]
    y = x.copy()
    for swap in range(min(swaps, items // 2)):
        y[0, [2 * swap, 2 * swap + 1]] = y[0, [2 * swap + 1, 2 * swap]]
    valid = np.ones(x.shape, dtype=bool)
    with counted_by(path):
        for direction in (1, -1):
            found = kendall_tau(x, direction * y, valid)
            _, p_value = scipy_row_by_row(scipy_stats.kendalltau, x, direction * y, valid)
            # Relative, since these p-values are as small as 1e-306; below that scipy says 0.
            np.testing.assert_allclose(found.p_value, p_value, rtol=1e-10, atol=1e-305)


@pytest.mark.parametrize("items", [2, 3, 4, 5, 6])
def test_exact_p_is_the_share_of_orders_at_least_as_far_from_zero(items):
    orders = np.array(list(permutations(range(items))))
    found = kendall_tau(np.tile(np.arange(items), (len(orders), 1)), orders)
    far = np.abs(found.correlation)
    wanted = (far[:, None] <= far[None, :] + 1e-12).mean(axis=1)
    np.testing.assert_allclose(found.p_value, wanted, atol=1e-12)


def test_sorted_rows_have_p_two_over_factorial():
    found = kendall_tau(np.arange(33)[None, :], np.arange(33)[None, :])
    assert found.correlation[0] == 1
    assert found.p_value[0] == pytest.approx(2 / math.factorial(33), rel=1e-12, abs=0)


@pytest.mark.parametrize("correlate", [kendall_tau, spearman])
def test_orders_only(correlate):
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=(5, 30)), generator.normal(size=(5, 30))
    before = correlate(x, y)
    after = correlate(np.exp(x), 3 * y - 7)
    opposite = correlate(x, -y)
    np.testing.assert_allclose(after.correlation, before.correlation)
    np.testing.assert_allclose(opposite.correlation, -before.correlation)
    np.testing.assert_allclose(opposite.p_value, before.p_value)


@pytest.mark.parametrize("path", PATHS)
def test_kendall_compares_and_never_subtracts(path):
    # Differences of these overflow, or vanish when multiplied.
    extremes = np.array([[-1e308, 1e308, 5e-324, 0.0, 1e-300]])
    with counted_by(path):
        found = kendall_tau(extremes, np.array([[0, 4, 2, 1, 3]]))
    assert found.correlation[0] == 1


@pytest.mark.parametrize("correlate", [kendall_tau, spearman])
def test_nan_where_undefined(correlate):
    x = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    y = np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    valid = np.array([[True] * 3, [True] * 3, [False, True, False], [False] * 3])
    found = correlate(x, y, valid)
    assert np.isnan(found.correlation).all()
    assert np.isnan(found.p_value).all()
    assert found.n.tolist() == [3, 3, 1, 0]


def test_two_items_have_a_spearman_correlation_but_no_p_value():
    found = spearman(np.array([[1, 2]]), np.array([[2, 1]]))
    assert found.correlation[0] == -1
    assert np.isnan(found.p_value[0])


@pytest.mark.parametrize("correlate", [kendall_tau, spearman])
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_nothing_in_nothing_out(correlate, shape):
    found = correlate(np.zeros(shape), np.zeros(shape))
    assert found.correlation.shape == (shape[0],)
    assert np.isnan(found.correlation).all()


@pytest.mark.parametrize("correlate", [kendall_tau, spearman])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["x", "y"])
def test_scores_that_cannot_be_ranked_are_refused_by_row(correlate, bad, name):
    scores = {"x": np.ones((4, 3)), "y": np.ones((4, 3))}
    scores[name][2, 1] = bad
    with pytest.raises(BadInput, match=f"{name} must be finite to be ranked, but row 2, item 1 is {bad}"):
        correlate(**scores)


@pytest.mark.parametrize("correlate", [kendall_tau, spearman])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float32])
def test_any_real_type_and_any_memory_order(correlate, dtype):
    generator = np.random.default_rng(2)
    x, y = generator.integers(9, size=(6, 12)), generator.integers(9, size=(6, 12))
    wanted = correlate(x.astype(float), y.astype(float))
    found = correlate(np.asfortranarray(x.astype(dtype)), y.astype(dtype)[:, ::-1][:, ::-1])
    np.testing.assert_array_equal(found.correlation, wanted.correlation)
    np.testing.assert_array_equal(found.p_value, wanted.p_value)


def test_rows_counted_a_few_at_a_time_give_the_same():
    generator = np.random.default_rng(3)
    x, y = generator.integers(9, size=(25, 12)), generator.integers(9, size=(25, 12))
    wanted = kendall_tau(x, y)
    with mock.patch.object(rank, "_ITEMS_IN_CACHE", 4 * 12):
        found = kendall_tau(x, y)
    assert len(np.unique(wanted.correlation)) > 10
    np.testing.assert_array_equal(found.correlation, wanted.correlation)


def test_without_numba_the_plain_loop_takes_over():
    real_import = builtins.__import__

    def refuse_numba(name, *arguments, **options):
        if name == "numba":
            raise ImportError("no numba here")
        return real_import(name, *arguments, **options)

    rank._compiled_kernel.cache_clear()
    try:
        with mock.patch.object(builtins, "__import__", refuse_numba):
            assert rank._compiled_kernel() is None
            found = kendall_tau(np.array([[1, 2, 3]]), np.array([[1, 3, 2]]))
    finally:
        rank._compiled_kernel.cache_clear()
    assert found.correlation[0] == pytest.approx(1 / 3)


def test_without_a_folder_for_its_cache_numba_still_compiles():
    numba = pytest.importorskip("numba")
    real_njit = numba.njit

    def no_cache(*, cache, fastmath):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real_njit(cache=False, fastmath=fastmath)

    rank._compiled_kernel.cache_clear()
    try:
        with mock.patch.object(numba, "njit", no_cache):
            found = kendall_tau(np.array([[1, 2, 3]]), np.array([[1, 3, 2]]))
            assert rank._compiled_kernel() is not None
    finally:
        rank._compiled_kernel.cache_clear()
    assert found.correlation[0] == pytest.approx(1 / 3)
