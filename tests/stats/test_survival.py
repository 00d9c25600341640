"""Survival curves and exact shares, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from heatcheck.errors import BadInput
from heatcheck.stats import kaplan_meier, median_time, share_interval


def test_the_curve_is_scipys():
    generator = np.random.default_rng(0)
    times = generator.integers(1, 15, size=40).astype(float)
    happened = (generator.random(40) < 0.6) & (times < 14)  # scipy divides by 0 where none is left
    curve = kaplan_meier(times, happened)
    theirs = scipy_stats.ecdf(scipy_stats.CensoredData(times[happened], right=times[~happened])).sf
    ends = theirs.confidence_interval(method="log-log")
    known = np.isin(theirs.quantiles, curve.times)
    assert 5 < known.sum() < len(theirs.quantiles) or known.all()
    np.testing.assert_allclose(curve.surviving, theirs.probabilities[known])
    inside = (curve.surviving < 1) & (curve.surviving > 0)
    np.testing.assert_allclose(curve.low[inside], ends.low.probabilities[known][inside])
    np.testing.assert_allclose(curve.high[inside], ends.high.probabilities[known][inside])


def test_the_curve_by_hand():
    # Six runs: 2 at risk fall at 10 (6 → 4/6), one is watched to 15 only, one of 3 falls at 20 (4/6 · 2/3).
    times = np.array([10.0, 10, 15, 20, 30, 30])
    curve = kaplan_meier(times, np.array([True, True, False, True, False, False]))
    assert curve.times.tolist() == [10, 20]
    assert curve.at_risk.tolist() == [6, 3]
    np.testing.assert_allclose(curve.surviving, [4 / 6, 4 / 6 * 2 / 3])
    variance = 2 / (6 * 4) + 1 / (3 * 2)
    shift = 1.959964 * variance**0.5 / np.log(4 / 9)
    np.testing.assert_allclose(curve.low[1], (4 / 9) ** np.exp(-shift), rtol=1e-6)
    np.testing.assert_allclose(curve.high[1], (4 / 9) ** np.exp(shift), rtol=1e-6)


def test_where_all_have_fallen_the_interval_is_not_nothing():
    curve = kaplan_meier(np.full(20, 7.0), np.ones(20, bool))
    assert (curve.surviving, curve.low) == (0, 0)
    assert curve.high[0] == pytest.approx(share_interval(0, 20).high, rel=1e-12)
    assert curve.high[0] > 0.16


def test_where_all_have_fallen_it_does_not_matter_when():
    curve = kaplan_meier(np.arange(1.0, 21), np.ones(20, bool))
    assert curve.high[-1] == pytest.approx(share_interval(0, 20).high)


def test_the_last_band_counts_those_at_risk():
    """Seventeen of twenty were not watched to the end: three that fell say as little as three of three."""
    times = np.array([1.0] * 17 + [5.0] * 3)
    curve = kaplan_meier(times, times == 5)
    assert (curve.surviving, curve.at_risk) == (0, 3)
    assert curve.high[0] == pytest.approx(share_interval(0, 3).high)
    assert (1 - curve.high[0]) ** 3 == pytest.approx(0.025), "a larger share would let all three fall more rarely"


def test_the_last_band_is_the_product_of_betas_by_brute_force():
    """6 of 20 fall, 8 are lost, 4 of 6 fall, 1 is lost, the last falls."""
    times = np.array([1.0] * 6 + [2.0] * 8 + [3.0] * 4 + [4.0] + [5.0])
    curve = kaplan_meier(times, np.isin(times, (1, 3, 5)))
    assert (curve.at_risk.tolist(), curve.surviving[-1]) == ([20, 6, 1], 0)
    draw = np.random.default_rng(0)
    product = draw.beta(15, 6, 200_000) * draw.beta(3, 4, 200_000) * draw.beta(1, 1, 200_000)
    assert curve.high[-1] == pytest.approx(np.quantile(product, 0.975), abs=0.02)
    assert curve.high[-1] < curve.high[-2]


def test_nothing_happened():
    curve = kaplan_meier(np.full(3, 9.0), np.zeros(3, bool))
    assert len(curve.times) == 0
    assert median_time(curve, 3) is None


@pytest.mark.parametrize(("count", "of"), [(0, 20), (7, 20), (20, 20), (1, 50)])
def test_the_share_is_clopper_and_pearsons(count, of):
    ours, theirs = share_interval(count, of), scipy_stats.binomtest(count, of).proportion_ci(method="exact")
    np.testing.assert_allclose(ours, (count / of, theirs.low, theirs.high, of))


def test_what_is_no_share_or_no_time_is_refused():
    with pytest.raises(BadInput, match="not 21 of 20"):
        share_interval(21, 20)
    with pytest.raises(BadInput, match="must be finite"):
        kaplan_meier(np.array([1.0, np.inf]), np.array([True, False]))
    with pytest.raises(BadInput, match="one of each per run"):
        kaplan_meier(np.array([]), np.array([], dtype=bool))
