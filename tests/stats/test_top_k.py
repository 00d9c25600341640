"""Top-k agreement against the definition, pair by pair."""

from itertools import combinations, pairwise, permutations, product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.errors import BadInput
from heatcheck.stats import kendall_top_k_distance, top_k, top_k_overlap


def lists(scores, k):
    """Every top-k list, best first: one for each order of items of equal score, all as likely."""
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            yield order[:k]


def fagin_cost(one, two, penalty):
    """K^(p) by the four cases of Fagin, Kumar and Sivakumar (2003), section 3.1."""
    cost = 0.0
    for i, j in combinations(sorted({*one, *two}), 2):
        in_one, in_two = {i, j} & {*one}, {i, j} & {*two}
        if len(in_one) == len(in_two) == 2:  # case 1: both in both lists
            cost += (one.index(i) < one.index(j)) != (two.index(i) < two.index(j))
        elif {len(in_one), len(in_two)} == {1, 2}:  # case 2: both in one list, one of them in the other
            both, (listed,) = (one, in_two) if len(in_one) == 2 else (two, in_one)
            absent = i + j - listed
            cost += both.index(absent) < both.index(listed)
        elif len(in_one) == len(in_two) == 1:  # case 3: each in a list of its own
            cost += 1
        else:  # case 4: both in one list, neither in the other
            cost += penalty
    return cost


@st.composite
def rankings(draw):
    items = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, draw(st.sampled_from((1, 4, 50)))), min_size=items, max_size=items)
    examples = draw(st.integers(1, 4))
    x, y = (np.array([draw(row) for _ in range(examples)]) for _ in range(2))
    return x, y, draw(st.integers(1, 6)), draw(st.sampled_from((0.0, 0.25, 0.5, 1.0)))


@given(case=rankings())
@settings(deadline=None, max_examples=60)
def test_equal_to_the_definition(case):
    """Over all orders of items of equal score, in each ranking by itself."""
    x, y, k, penalty = case
    overlap = top_k_overlap(x, y, k)
    distance = kendall_top_k_distance(x, y, k, penalty=penalty)
    for row, (u, v) in enumerate(zip(x, y, strict=True)):
        every = list(product(set(lists(u, k)), set(lists(v, k))))
        listed = min(k, len(u))
        assert overlap[row] == pytest.approx(np.mean([len({*one} & {*two}) / listed for one, two in every]))
        most = listed**2 + penalty * listed * (listed - 1)
        costs = [fagin_cost(one, two, penalty) for one, two in every]
        assert distance[row] == pytest.approx(np.mean(costs) / most)


@pytest.mark.parametrize("k", [1, 3])
def test_longer_rows_without_ties(k):
    generator = np.random.default_rng(k)
    x, y = (generator.permuted(np.tile(np.arange(9), (20, 1)), axis=1) for _ in range(2))
    for row, found in enumerate(kendall_top_k_distance(x, y, k)):
        one, two = (np.argsort(-of[row])[:k].tolist() for of in (x, y))
        assert found == pytest.approx(fagin_cost(one, two, 0.5) / (k**2 + 0.5 * k * (k - 1)))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
def test_identical_is_0_disjoint_is_1(k, penalty):
    x = np.arange(2 * k)[None, :]
    assert kendall_top_k_distance(x, x, k, penalty=penalty)[0] == 0
    assert kendall_top_k_distance(x, -x, k, penalty=penalty)[0] == 1
    assert top_k_overlap(x, x, k)[0] == 1
    assert top_k_overlap(x, -x, k)[0] == 0


def test_equal_scores_agree_as_well_as_chance_wherever_they_stand():
    flat = np.ones((1, 4))
    for other in (flat, np.array([[4, 3, 2, 1]]), np.array([[1, 2, 3, 4]])):
        assert top_k_overlap(flat, other, 2)[0] == 0.5


def test_short_rows_use_what_they_have():
    x, y = np.array([[3, 2, 1], [3, 2, 1]]), np.array([[1, 2, 3], [1, 2, 3]])
    valid = np.array([[True, True, False], [False, False, False]])
    np.testing.assert_array_equal(top_k_overlap(x, y, 5, valid), [1, np.nan])
    # two items in opposite order: one pair of 2² + ½ · 2
    np.testing.assert_array_equal(kendall_top_k_distance(x, y, 5, valid), [1 / 5, np.nan])


def test_rows_taken_a_few_at_a_time_give_the_same():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(30, 8)), generator.normal(size=(30, 8))
    wanted = kendall_top_k_distance(x, y, 3)
    assert len(np.unique(wanted)) > 5
    with mock.patch.object(top_k, "_PAIRS_AT_ONCE", 4 * 3**2 * 7):
        np.testing.assert_array_equal(kendall_top_k_distance(x, y, 3), wanted)


def test_refusals():
    x = np.array([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(BadInput, match="k must be at least 1, not 0"):
        top_k_overlap(x, x, 0)
    with pytest.raises(BadInput, match="k must be at least 1, not -1"):
        kendall_top_k_distance(x, x, -1)
    with pytest.raises(BadInput, match=r"penalty must be .* not 1\.5"):
        kendall_top_k_distance(x, x, 1, penalty=1.5)
    for measure in (top_k_overlap, kendall_top_k_distance):
        with pytest.raises(BadInput, match="x must be finite to be ranked, but row 1, item 0 is nan"):
            measure(x, x, 1)
