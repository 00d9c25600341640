"""The interval of a share that is bounded: it covers where most examples are at the bound and a few are not."""

import math
from unittest import mock

import numpy as np
import pytest

from heatcheck.errors import BadInput
from heatcheck.stats import Interval, bootstrap_interval, bounded, bounded_share_interval, share_interval

DRAWS = 400


def test_of_yes_and_no_it_is_clopper_and_pearsons():
    for count, of in ((30, 30), (0, 20), (12, 30), (29, 30)):
        right = (np.arange(of) < count) * 1.0
        found = bounded_share_interval(right, np.ones(of), generator=np.random.default_rng(0), draws=20_000)
        exact = share_interval(count, of)
        assert found[:3] == pytest.approx(exact[:3], abs=0.006)
        assert found.n == of


def few_far_below(generator, n):
    """As U of fitted models: near its bound on most texts, far below it on few."""
    most = generator.uniform(0.55, 0.69, size=n)
    share = np.where(generator.random(n) < 0.05, generator.uniform(0.2, 0.6, n), 1 - 0.05 * generator.random(n) ** 2)
    return share * most, most


@pytest.mark.parametrize("n", [30, 100])
def test_it_covers_where_rare_texts_are_not_seen(n):
    generator = np.random.default_rng(n)
    truth = np.divide(*(column.sum() for column in few_far_below(np.random.default_rng(9), 200_000)))
    covered, percentile = [], []
    for _ in range(400):
        part, most = few_far_below(generator, n)
        found = bounded_share_interval(part, most, generator=generator, draws=DRAWS)
        covered.append(found.low <= truth <= found.high)
        if n == 30:
            columns = np.stack([part, most], axis=1)
            other = bootstrap_interval(columns, lambda m: m[:, 0] / m[:, 1], generator=generator, draws=DRAWS)
            percentile.append(other.low <= truth <= other.high)
    assert np.mean(covered) >= 0.95
    if n == 30:
        assert np.mean(percentile) < 0.85, "what it was before"


def test_with_many_examples_it_is_the_bootstrap():
    generator = np.random.default_rng(0)
    part, most = few_far_below(generator, 4000)
    found = bounded_share_interval(part, most, generator=generator)
    columns = np.stack([part, most], axis=1)
    other = bootstrap_interval(columns, lambda m: m[:, 0] / m[:, 1], generator=generator)
    assert found == pytest.approx(other, abs=0.002)


def test_same_seed_same_interval_in_any_number_of_chunks():
    part, most = few_far_below(np.random.default_rng(0), 40)
    whole = bounded_share_interval(part, most, draws=100, generator=np.random.default_rng(1))
    with mock.patch.object(bounded, "_WEIGHTS_AT_ONCE", 41 * 7):
        chunked = bounded_share_interval(part, most, draws=100, generator=np.random.default_rng(1))
    assert chunked == pytest.approx(whole)
    assert 0 <= whole.low < whole.value < whole.high <= 1


def test_what_is_left_out_and_too_few():
    part, most = np.array([0.2, np.nan, 0.4]), np.array([0.5, 0.5, 0.5])
    known = np.isfinite(part)
    found = bounded_share_interval(part, most, valid=known, draws=50, generator=np.random.default_rng(0))
    assert (found.value, found.n) == (pytest.approx(0.6), 2)
    one = bounded_share_interval(part[:1], most[:1], generator=np.random.default_rng(0))
    assert one == Interval(0.4, -math.inf, math.inf, 1)
    nothing = bounded_share_interval(np.zeros(3), np.zeros(3), generator=np.random.default_rng(0))
    assert all(math.isnan(number) for number in nothing[:3])


def test_refusals():
    generator = np.random.default_rng(0)
    with pytest.raises(BadInput, match="at least one value"):
        bounded_share_interval(np.array([]), np.array([]), generator=generator)
    with pytest.raises(BadInput, match=r"in row 1 it is 0.7, and most is 0.5"):
        bounded_share_interval(np.array([0.1, 0.7]), np.array([0.5, 0.5]), generator=generator)
    with pytest.raises(BadInput, match=r"in row 0 it is nan"):
        bounded_share_interval(np.array([np.nan, 0.7]), np.array([0.5, 0.5]), generator=generator)
    with pytest.raises(BadInput, match="draws must be at least 1, not 0"):
        bounded_share_interval(np.ones(3), np.ones(3), draws=0, generator=generator)
    with pytest.raises(BadInput, match=r"level must be .* not 95"):
        bounded_share_interval(np.ones(3), np.ones(3), level=95.0, generator=generator)
