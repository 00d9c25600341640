"""Intervals that cover as often as they claim, and refuse to pretend when they cannot."""

import math
from unittest import mock

import numpy as np
import pytest
from scipy import stats as scipy_stats

from heatcheck.errors import BadInput
from heatcheck.stats import Interval, bootstrap_interval, interval, t_interval


def ratio(means):
    return means[:, 0] / means[:, 1]


def test_t_interval_equals_scipy():
    values = np.random.default_rng(0).normal(size=7)
    found = t_interval(values, level=0.9)
    wanted = scipy_stats.t.interval(0.9, 6, loc=values.mean(), scale=scipy_stats.sem(values))
    assert found == pytest.approx((values.mean(), *wanted, 7))


def test_t_interval_over_five_normals_covers_95_percent():
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(4000, 5))
    found = [t_interval(sample) for sample in samples]
    covered = np.mean([one.low <= 3.0 <= one.high for one in found])
    assert 0.94 < covered < 0.96  # three standard errors: 0.01


def test_bootstrap_of_200_covers_95_percent():
    generator = np.random.default_rng(0)
    samples = generator.exponential(2.0, size=(600, 200))
    found = [bootstrap_interval(sample, draws=500, generator=generator) for sample in samples]
    covered = np.mean([one.low <= 2.0 <= one.high for one in found])
    assert 0.92 < covered < 0.97


def test_bootstrap_of_a_ratio_resamples_both_columns_together():
    generator = np.random.default_rng(0)
    denominator = generator.uniform(1, 9, size=300)
    numerator = 0.5 * denominator + generator.normal(0, 0.05, size=300)
    values = np.stack([numerator, denominator], axis=1)
    together = bootstrap_interval(values, ratio, generator=generator)
    # delta method on the residuals: they alone vary, the size of the denominator does not
    residual = numerator - together.value * denominator
    error = residual.std(ddof=1) / np.sqrt(300) / denominator.mean()
    assert together.value == pytest.approx(numerator.mean() / denominator.mean())
    assert together.high - together.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    alone = bootstrap_interval(numerator, generator=generator)
    assert alone.high - alone.low > 20 * error * denominator.mean()  # columns resampled apart would be this wide


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
def test_bootstrap_of_a_mean_is_as_wide_as_the_normal_theory(level):
    values = np.random.default_rng(0).normal(size=1000)
    found = bootstrap_interval(values, level=level, draws=8000, generator=np.random.default_rng(1))
    wanted = 2 * scipy_stats.norm.ppf((1 + level) / 2) * values.std() / np.sqrt(1000)
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(wanted, rel=0.06)


def test_same_seed_same_interval_in_any_number_of_chunks():
    values = np.random.default_rng(0).normal(size=40)
    whole = bootstrap_interval(values, draws=100, generator=np.random.default_rng(1))
    again = bootstrap_interval(values, draws=100, generator=np.random.default_rng(1))
    other = bootstrap_interval(values, draws=100, generator=np.random.default_rng(2))
    with mock.patch.object(interval, "_COUNTS_AT_ONCE", 40 * 7):
        chunked = bootstrap_interval(values, draws=100, generator=np.random.default_rng(1))
    assert whole == again != other
    assert chunked == pytest.approx(whole)


def test_shares_of_yes_and_no():
    found = bootstrap_interval(np.array([True, True, False, True]), generator=np.random.default_rng(0))
    assert found.value == 0.75
    assert found.low < 0.75 < found.high <= 1


def test_one_value_says_nothing_about_spread():
    one = np.array([0.7])
    assert t_interval(one) == Interval(0.7, -math.inf, math.inf, 1)
    assert bootstrap_interval(one, generator=np.random.default_rng(0)) == Interval(0.7, -math.inf, math.inf, 1)


def test_a_statistic_undefined_in_some_draws_has_no_ends():
    values = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    found = bootstrap_interval(values, ratio, generator=np.random.default_rng(0))
    assert found.value == 1
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_a_statistic_infinite_in_some_draws_has_an_infinite_end():
    values = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    found = bootstrap_interval(values, ratio, generator=np.random.default_rng(0))
    assert found[:3] == (pytest.approx(3), 1, math.inf)


def test_refusals():
    generator = np.random.default_rng(0)
    for values in (np.array([]), np.empty((0, 2))):
        with pytest.raises(BadInput, match="at least one value"):
            bootstrap_interval(values, ratio, generator=generator)
    with pytest.raises(BadInput, match="at least one value"):
        t_interval(np.array([]))
    with pytest.raises(BadInput, match="at least one value"):
        t_interval(np.array([1.0, 2.0]), valid=np.array([False, False]))
    with pytest.raises(BadInput, match=r"row 2 is \[nan\]"):
        t_interval(np.array([np.inf, 1.0, np.nan]), valid=np.array([False, True, True]))
    with pytest.raises(BadInput, match=r"row 1 is \[1.0, nan\]"):
        bootstrap_interval(np.array([[1.0, 2.0], [1.0, np.nan]]), ratio, generator=generator)
    with pytest.raises(BadInput, match="2 columns"):
        bootstrap_interval(np.ones((3, 2)), generator=generator)
    with pytest.raises(BadInput, match="draws must be at least 1, not 0"):
        bootstrap_interval(np.ones(3), draws=0, generator=generator)
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(BadInput, match="level must be"):
            bootstrap_interval(np.ones(3), level=level, generator=generator)
        with pytest.raises(BadInput, match="level must be"):
            t_interval(np.ones(3), level=level)
