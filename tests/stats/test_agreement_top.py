"""The top of one row of scores in another: by its definition, and its floor over every shuffle there is."""

from itertools import permutations
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.errors import BadInput
from heatcheck.stats import top_agreement, top_agreement_floor


def by_definition(u, v, share):
    """Over the items that are first by u: fewer than k of v strictly exceed it."""
    k = ceil(round(share * len(v), 9))
    first = [t for t in range(len(u)) if u[t] == max(u)]
    return np.mean([sum(other > v[t] for other in v) < k for t in first])


few = st.integers(0, 3).map(float)  # so that there are ties


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(few, few), min_size=1, max_size=6), st.sampled_from([0.05, 0.2, 0.4, 1.0]), st.integers(0, 3))
def test_equal_to_the_definition_and_to_all_shuffles(pairs, share, padding):
    u, v = (np.array([column]) for column in zip(*pairs, strict=True))
    shuffled = [by_definition(u[0], order, share) for order in permutations(v[0])]
    valid = np.array([[True] * len(pairs) + [False] * padding])
    wide_u, wide_v = (np.pad(of, ((0, 0), (0, padding)), constant_values=99.0) for of in (u, v))
    assert top_agreement(wide_u, wide_v, valid, share)[0] == pytest.approx(by_definition(u[0], v[0], share))
    assert top_agreement_floor(wide_v, valid, share)[0] == pytest.approx(np.mean(shuffled))


@pytest.mark.parametrize(("items", "top"), [(1, 1), (20, 1), (21, 2), (40, 2), (41, 3), (60, 3)])
def test_the_top_is_a_twentieth_rounded_up(items, top):
    assert top_agreement_floor(np.arange(items, dtype=float)[None])[0] == pytest.approx(top / items)


def test_rows_are_apart_and_an_empty_one_is_undefined():
    u, v = np.random.default_rng(0).normal(size=(2, 5, 30))
    valid = np.arange(30) < np.array([30, 7, 1, 0, 12])[:, None]
    found, floor = top_agreement(u, v, valid), top_agreement_floor(v, valid)
    for row in (0, 1, 2, 4):
        one = slice(row, row + 1), slice(0, int(valid[row].sum()))
        assert found[row] == top_agreement(u[one], v[one])[0]
        assert floor[row] == top_agreement_floor(v[one])[0]
    assert np.isnan(found[3])
    assert np.isnan(floor[3])
    assert found[2] == floor[2] == 1, "a text of one word says nothing"


def test_uniform_scores_are_at_the_floor():
    v = np.random.default_rng(0).normal(size=(4, 33))
    np.testing.assert_allclose(top_agreement(np.full((4, 33), 1 / 33), v), top_agreement_floor(v))


def test_refusals():
    with pytest.raises(BadInput, match=r"share must be above 0 and at most 1, such as 0\.05, not 0"):
        top_agreement_floor(np.ones((1, 3)), share=0.0)
    with pytest.raises(BadInput, match="v must be finite to be ranked, but row 0, item 1 is nan"):
        top_agreement(np.ones((1, 2)), np.array([[1.0, np.nan]]))
