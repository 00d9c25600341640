"""Adjusted p-values against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from heatcheck.errors import BadInput
from heatcheck.stats import benjamini_hochberg, holm

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.sampled_from((0.0, 0.01, 0.02, 0.5, 1.0))), min_size=1, max_size=30)


@given(p=P_VALUES)
@settings(deadline=None)
def test_benjamini_hochberg_equals_scipy(p):
    found = benjamini_hochberg(np.array(p))
    np.testing.assert_allclose(found, scipy_stats.false_discovery_control(p), rtol=1e-12)


@given(p=P_VALUES)
@settings(deadline=None)
def test_holm_is_its_definition(p):
    found = holm(np.array(p))
    ascending = sorted(p)
    for value, adjusted in zip(p, found, strict=True):
        # the largest of all steps up to this one, the first step weighing all p-values, the last only one
        steps = [(len(p) - step) * smaller for step, smaller in enumerate(ascending) if smaller <= value]
        assert adjusted == pytest.approx(min(1.0, max(steps)))


@given(p=P_VALUES, level=st.sampled_from((0.01, 0.05, 0.2)))
@settings(deadline=None)
def test_holm_rejects_what_the_step_down_procedure_rejects(p, level):
    ascending = sorted(p)
    passed = 0
    while passed < len(p) and ascending[passed] <= level / (len(p) - passed) * (1 - 1e-12):
        passed += 1
    assert (holm(np.array(p)) <= level).sum() >= passed
    assert (holm(np.array(p)) <= level * (1 - 1e-9)).sum() <= passed


def test_holm_keeps_false_rejections_rare_where_raw_p_values_do_not():
    p = np.random.default_rng(0).uniform(size=(2000, 20))
    raw = (p <= 0.05).any(axis=1).mean()
    adjusted = np.mean([(holm(family) <= 0.05).any() for family in p])
    assert raw > 0.6
    assert 0.03 < adjusted < 0.065


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_shape_is_kept_and_nan_left_out(adjust):
    p = np.array([[0.01, np.nan, 0.04], [0.03, 0.2, np.nan]])
    found = adjust(p)
    assert found.shape == p.shape
    np.testing.assert_array_equal(np.isnan(found), np.isnan(p))
    np.testing.assert_array_equal(found[~np.isnan(p)], adjust(p[~np.isnan(p)]))
    assert np.isnan(adjust(np.full((2, 2), np.nan))).all()
    assert adjust(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("bad", [-0.01, 1.01, np.inf])
def test_what_is_not_a_p_value_is_refused(adjust, bad):
    with pytest.raises(BadInput, match="p-values must be between"):
        adjust(np.array([0.5, bad]))
