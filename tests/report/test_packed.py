"""Scores that stand in a page as text are the same decimals when they are read."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsed import read

from heatcheck.report.packed import HIGHEST, LOWEST, packed

SCORES = st.one_of(
    st.none(),
    st.floats(-(10.0**HIGHEST), 10.0**HIGHEST).filter(lambda score: score == 0 or abs(score) >= 10.0**LOWEST),
    st.integers(LOWEST, HIGHEST).map(lambda power: 10.0**power),
    st.integers(LOWEST, HIGHEST - 1).map(lambda power: 9.9951 * 10.0**power),
)


@pytest.mark.parametrize("digits", [2, 3])
@given(scores=st.lists(SCORES, max_size=30))
def test_each_score_is_read_as_its_rounded_decimal(digits, scores):
    text = packed(scores, digits)
    assert len(text) == digits * len(scores)
    for score, found in zip(scores, read(text, digits), strict=True):
        if score is None:
            assert found is None
        elif abs(score) > 1e-300:  # to the last digit: a tie may go either way
            assert found == pytest.approx(score, rel=0.5001 * 10.0 ** (1 - digits))
            assert float(f"{found:.{digits}g}") == found
        else:
            assert found == 0


def test_what_has_no_room_is_said_to_be_zero_none_or_the_largest():
    scores = [math.nan, math.inf, 0.0, -0.0, 1e-16, -1e-30, 1e9, -1e9]
    assert read(packed(scores, 2), 2) == [None, None, 0, 0, 0, 0, 9.9e6, -9.9e6]
    assert packed([], 2) == ""


def test_a_million_scores_take_seconds():
    scores = np.random.default_rng(0).normal(size=200).tolist()
    start = time.perf_counter()
    for _ in range(500):
        packed(scores, 2)
    assert time.perf_counter() - start < 1  # 100,000 of them; about .04 s
