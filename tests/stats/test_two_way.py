"""Intervals over seeds and examples at once: against closed forms, and by how often they cover."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from heatcheck.errors import BadInput
from heatcheck.stats import (
    Interval,
    linearised_ratio,
    pairs_interval,
    t_interval,
    two_way,
    two_way_interval,
    two_way_ratio_interval,
    two_way_test,
)

TRIALS = 1000


def crossed(generator, seeds, examples, *, of_seed, of_example, noise, mean=0.0):
    """Values with an effect of the seed, one of the example, and noise."""
    return (
        mean
        + of_seed * generator.normal(size=(seeds, 1))
        + of_example * generator.normal(size=(1, examples))
        + noise * generator.normal(size=(seeds, examples))
    )


def share_covered(intervals, truth):
    return np.mean([found.low <= truth <= found.high for found in intervals])


def half_width(found):
    return (found.high - found.low) / 2


def test_where_only_seeds_differ_it_is_students_t():
    values = np.random.default_rng(0).normal(size=5)
    found = two_way_interval(np.repeat(values[:, None], 40, axis=1), level=0.9)
    assert found == pytest.approx(t_interval(values, level=0.9))


def test_where_only_examples_differ_it_is_their_t_interval():
    """Five seeds that say the same are no reason for Student's t with four degrees of freedom."""
    values = np.random.default_rng(0).normal(size=40)
    found = two_way_interval(np.repeat(values[None], 5, axis=0))
    assert found == pytest.approx(t_interval(values)._replace(n=5))
    few = np.random.default_rng(0).normal(size=3)
    assert two_way_interval(np.repeat(few[None], 8, axis=0)) == pytest.approx(t_interval(few)._replace(n=8))


def test_both_add_as_variances():
    generator = np.random.default_rng(0)
    of_seed, of_example = generator.normal(size=6), generator.normal(size=30)
    found = two_way_interval(of_seed[:, None] + of_example)
    squares = np.array([scipy_stats.sem(of_seed), scipy_stats.sem(of_example)]) ** 2
    freedom = squares.sum() ** 2 / (squares**2 / [5, 29]).sum()  # Satterthwaite's
    assert half_width(found) == pytest.approx(scipy_stats.t.ppf(0.975, df=freedom) * squares.sum() ** 0.5)


@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize(
    ("of_seed", "of_example", "noise", "most"),
    [
        (1.0, 0.0, 0.0, 0.965),  # Student's t exactly
        (1.0, 0.0, 1.0, 0.965),
        (0.3, 2.0, 0.5, 0.965),
        (0.1, 1.0, 0.5, 0.965),
        (0.0, 1.0, 1.0, 0.975),
        (0.1, 0.1, 1.0, 0.985),  # both variances are the noise, and by chance one of them is larger
    ],
)
def test_a_mean_is_covered_as_often_as_claimed(seeds, of_seed, of_example, noise, most):
    """Not less, and hardly more: intervals that always cover decide nothing."""
    generator = np.random.default_rng(1)
    found = [
        two_way_interval(crossed(generator, seeds, 60, of_seed=of_seed, of_example=of_example, noise=noise, mean=0.7))
        for _ in range(TRIALS)
    ]
    assert 0.933 < share_covered(found, 0.7) <= most  # two and a half standard errors: .017


def test_seeds_alone_or_examples_alone_would_cover_too_rarely():
    """Were one of the two left out, this is what would come of it: so the test above can fail."""
    generator = np.random.default_rng(1)
    values = [crossed(generator, 5, 60, of_seed=0.3, of_example=2.0, noise=0.5) for _ in range(1000)]
    assert share_covered([t_interval(one.mean(1)) for one in values], 0) < 0.92
    values = [crossed(generator, 5, 60, of_seed=1.0, of_example=0.5, noise=0.5) for _ in range(1000)]
    assert share_covered([t_interval(one.mean(0)) for one in values], 0) < 0.5


def test_the_variance_counts_everything_once():
    generator = np.random.default_rng(2)
    values = [crossed(generator, 5, 20, of_seed=0.5, of_example=1.5, noise=1.0) for _ in range(TRIALS)]
    claimed = np.mean([two_way._of_mean(one).variance for one in values])
    assert claimed == pytest.approx(0.5**2 / 5 + 1.5**2 / 20 + 1.0**2 / 100, rel=0.04)


def test_a_ratio_to_a_constant_is_a_mean():
    values = crossed(np.random.default_rng(0), 4, 25, of_seed=1, of_example=1, noise=1, mean=3)
    mean, ratio = two_way_interval(values), two_way_ratio_interval(values, np.full((4, 25), 2.0))
    assert ratio == pytest.approx((mean.value / 2, mean.low / 2, mean.high / 2, 4))


def test_what_numerator_and_denominator_share_cancels():
    generator = np.random.default_rng(0)
    denominator = crossed(generator, 5, 40, of_seed=1, of_example=1, noise=1, mean=8)
    found = two_way_ratio_interval(0.25 * denominator, denominator)
    assert found[:3] == pytest.approx((0.25, 0.25, 0.25))
    # Linear in what is left: twice the residuals, twice the interval.
    residual = crossed(generator, 5, 40, of_seed=0.1, of_example=0.1, noise=0.1)
    residual -= residual.mean()
    one, two = (two_way_ratio_interval(0.25 * denominator + k * residual, denominator) for k in (1, 2))
    assert one.value == pytest.approx(0.25)
    assert half_width(two) == pytest.approx(2 * half_width(one))
    assert half_width(one) == pytest.approx(half_width(two_way_interval(residual)) / denominator.mean())


def test_a_ratio_of_accuracies_is_covered():
    """Right and wrong answers of models with and without: each seed has its skill, each example its difficulty."""
    generator = np.random.default_rng(3)
    found, above, below = [], [], []
    for _ in range(1500):
        skill, difficulty = generator.normal(0, 0.1, size=(2, 5, 1)), generator.normal(size=(1, 80))
        luck = generator.normal(size=(2, 5, 80))
        learned, free = (1.5 + skill[0] > difficulty + luck[0]), (0.5 + skill[1] > difficulty + luck[1])
        numerator, denominator = learned * 1.0 - free, learned - 0.5
        found.append(two_way_ratio_interval(numerator, denominator))
        above.append(numerator.mean())
        below.append(denominator.mean())
    truth = np.mean(above) / np.mean(below)
    assert 0.935 < share_covered(found, truth) < 1
    assert np.mean([half_width(one) for one in found]) < 0.5  # it says something


def test_pairs_of_additive_seeds_are_students_t():
    """If a pair's value is a_s + a_t, the mean over pairs is twice the mean of a, and the jackknife is exact."""
    each = np.random.default_rng(0).normal(size=6)
    apart = np.add.outer(each, each)[..., None].repeat(3, axis=2)
    apart[np.diag_indices(6)] = 1e6  # a seed with itself is no pair
    assert pairs_interval(apart) == pytest.approx(t_interval(2 * each))


def test_pairs_as_the_jackknife_is_written():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(5, 8))
    apart = np.abs(points[:, None] - points[None])  # [seed seed example]
    pairs = [(s, t) for s in range(5) for t in range(s)]
    without = [np.mean([apart[s, t].mean() for s, t in pairs if out not in (s, t)]) for out in range(5)]
    of_seeds = 4 / 5 * np.sum((without - np.mean(without)) ** 2)
    of_examples = np.mean([apart[s, t] for s, t in pairs], axis=0).var(ddof=1) / 8
    freedom = (of_seeds + of_examples) ** 2 / (of_seeds**2 / 4 + of_examples**2 / 7)
    half = scipy_stats.t.ppf(0.975, df=freedom) * np.sqrt(of_seeds + of_examples)
    mean = np.mean([apart[s, t].mean() for s, t in pairs])
    assert pairs_interval(apart) == pytest.approx((mean, mean - half, mean + half, 5))


@pytest.mark.parametrize(("seed_size", "most"), [(1.0, 0.97), (0.03, 0.985)])
def test_a_mean_over_pairs_is_covered(seed_size, most):
    generator = np.random.default_rng(4)
    found, naive = [], []
    for _ in range(TRIALS):
        of_seed, of_example = seed_size * generator.normal(size=5), generator.normal(size=30)
        noise = generator.normal(0, 0.5, size=(5, 5, 30))
        apart = 2 + np.add.outer(of_seed, of_seed)[..., None] + of_example + noise + noise.swapaxes(0, 1)
        found.append(pairs_interval(apart))
        naive.append(t_interval(apart[np.triu_indices(5, k=1)].mean(1)))
    assert 0.933 < share_covered(found, 2) < most
    assert share_covered(naive, 2) < 0.85, "ten pairs of five seeds are not ten"


def test_too_few_say_nothing_about_spread():
    endless = (-math.inf, math.inf)
    assert two_way_interval(np.array([[0.0, 1.0]])) == Interval(0.5, *endless, 1)
    assert two_way_interval(np.array([[0.0], [1.0]])) == Interval(0.5, *endless, 2)
    assert two_way_ratio_interval(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]])) == Interval(0.5, *endless, 1)
    assert pairs_interval(np.full((2, 2, 4), 0.3)) == Interval(pytest.approx(0.3), *endless, 2)
    assert pairs_interval(np.full((3, 3, 1), 0.3)) == Interval(pytest.approx(0.3), *endless, 3)


def test_right_and_wrong_are_numbers():
    found = two_way_interval(np.array([[True, False], [True, True]]))
    assert found.value == 0.75
    assert found.n == 2


def test_refusals():
    with pytest.raises(BadInput, match="at least one value"):
        two_way_interval(np.empty((0, 4)))
    with pytest.raises(BadInput, match="row 1, column 0 is nan"):
        two_way_interval(np.array([[1.0, 2.0], [np.nan, 2.0]]))
    with pytest.raises(BadInput, match="0 on average"):
        two_way_ratio_interval(np.ones((2, 2)), np.array([[1.0, -1.0], [0.0, 0.0]]))
    with pytest.raises(BadInput, match="at least two seeds"):
        pairs_interval(np.ones((1, 1, 3)))
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(BadInput, match="level must be"):
            two_way_interval(np.ones((2, 2)), level=level)


def test_the_p_value_is_students_where_only_seeds_differ():
    values = np.random.default_rng(1).normal(0.5, size=5)
    found = two_way_test(np.repeat(values[:, None], 40, axis=1))
    assert found.p == pytest.approx(scipy_stats.ttest_1samp(values, 0).pvalue)
    assert found.interval == pytest.approx(t_interval(values))


def test_a_p_value_below_5_percent_and_an_interval_without_0_are_the_same():
    generator = np.random.default_rng(2)
    both = set()
    for _ in range(60):
        found = two_way_test(crossed(generator, 5, 30, of_seed=0.2, of_example=0.3, noise=1.0, mean=0.25))
        assert (found.p < 0.05) == (not found.interval.low <= 0 <= found.interval.high)
        both.add(found.p < 0.05)
    assert both == {True, False}


def test_values_without_spread_decide_at_once():
    assert two_way_test(np.zeros((3, 4))).p == 1
    assert two_way_test(np.ones((3, 4))).p == 0
    assert two_way_test(np.ones((1, 4))).p == 1


def test_a_linearised_ratio_has_the_mean_and_the_interval_of_the_ratio():
    generator = np.random.default_rng(3)
    below = 2 + crossed(generator, 5, 30, of_seed=0.1, of_example=0.2, noise=0.1)
    above = 0.6 * below + crossed(generator, 5, 30, of_seed=0.1, of_example=0.1, noise=0.1)
    each = linearised_ratio(above, below)
    assert each.mean() == pytest.approx(above.mean() / below.mean())
    assert two_way_interval(each) == pytest.approx(two_way_ratio_interval(above, below))
    nearly = above.copy()
    nearly[2, 7] += 1e-6  # it moves as the ratio does
    moved = (nearly.mean() / below.mean() - above.mean() / below.mean()) / 1e-6
    assert (linearised_ratio(nearly, below)[2, 7] - each[2, 7]) / 1e-6 == pytest.approx(moved * above.size, rel=0.02)
