"""Classification scores against brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.errors import BadInput
from heatcheck.stats import (
    accuracy,
    average_precision,
    average_precision_each,
    f1,
    f1_each,
    roc_auc,
    roc_auc_each,
)


def auc_by_pairs(score, gold):
    wins = [(a > b) + (a == b) / 2 for a, g in zip(score, gold, strict=True) if g
            for b, h in zip(score, gold, strict=True) if not h]  # fmt: skip
    return sum(wins) / len(wins) if wins else math.nan


def average_precision_by_thresholds(score, gold):
    """Σ (recall gained) · precision, lowering the threshold over the distinct scores."""
    area, recall = 0.0, 0.0
    for threshold in sorted({*score}, reverse=True):
        kept = [g for s, g in zip(score, gold, strict=True) if s >= threshold]
        area += (sum(kept) / sum(gold) - recall) * sum(kept) / len(kept) if any(gold) else math.nan
        recall = sum(kept) / sum(gold) if any(gold) else math.nan
    return area


@st.composite
def scored(draw):
    items, examples = draw(st.integers(1, 15)), draw(st.integers(1, 4))
    top = draw(st.sampled_from((1, 4, 100)))
    row = st.lists(st.integers(0, top), min_size=items, max_size=items)
    marks = st.lists(st.integers(0, 1), min_size=items, max_size=items)
    return np.array([draw(row) for _ in range(examples)]), np.array([draw(marks) for _ in range(examples)])


@given(case=scored())
@settings(deadline=None, max_examples=200)
def test_roc_auc_and_average_precision_equal_brute_force(case):
    score, gold = case
    area, precision = roc_auc_each(score, gold), average_precision_each(score, gold == 1)
    for row, (s, g) in enumerate(zip(score.tolist(), gold.tolist(), strict=True)):
        assert area[row] == pytest.approx(auc_by_pairs(s, g), nan_ok=True)
        assert roc_auc(score[row], gold[row]) == pytest.approx(area[row], nan_ok=True)
        assert precision[row] == pytest.approx(average_precision_by_thresholds(s, g), nan_ok=True)
        assert average_precision(score[row], gold[row]) == pytest.approx(precision[row], nan_ok=True)


@given(case=scored(), label=st.integers(0, 2))
@settings(deadline=None)
def test_accuracy_and_f1_equal_brute_force(case, label):
    predicted, gold = case
    each = f1_each(predicted, gold, label)
    for row, (p, g) in enumerate(zip(predicted.tolist(), gold.tolist(), strict=True)):
        pairs = list(zip(p, g, strict=True))
        both, said, true = pairs.count((label, label)), p.count(label), g.count(label)
        assert accuracy(predicted[row], gold[row]) == pytest.approx(sum(a == b for a, b in pairs) / len(p))
        if both:
            precision, recall = both / said, both / true
            assert each[row] == pytest.approx(2 * precision * recall / (precision + recall))
        else:
            assert each[row] == pytest.approx(0 if said + true else math.nan, nan_ok=True)
        assert f1(predicted[row], gold[row], label) == pytest.approx(each[row], nan_ok=True)


def test_known_values():
    assert roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])) == 0.75
    assert average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])) == pytest.approx(5 / 6)
    assert roc_auc(np.ones(4), np.array([False, True, False, True])) == 0.5
    assert average_precision(np.ones(4), np.array([False, True, False, True])) == 0.5
    assert accuracy(np.array(["a", "b"]), np.array(["a", "c"])) == 0.5


def test_nan_where_undefined():
    assert math.isnan(roc_auc(np.array([1.0, 2.0]), np.array([1, 1])))
    assert math.isnan(roc_auc(np.array([1.0, 2.0]), np.array([0, 0])))
    assert math.isnan(average_precision(np.array([1.0, 2.0]), np.array([0, 0])))
    assert math.isnan(f1(np.array([0, 0]), np.array([0, 0]), 1))
    assert math.isnan(accuracy(np.array([1, 2]), np.array([1, 2]), np.array([False, False])))


@pytest.mark.parametrize("measure", [roc_auc, average_precision])
def test_refusals(measure):
    with pytest.raises(BadInput, match="row 0, item 1 is 2"):
        measure(np.array([1.0, 2.0]), np.array([1, 2]))
    with pytest.raises(BadInput, match="score must be finite to be ranked, but row 0, item 0 is nan"):
        measure(np.array([np.nan, 2.0]), np.array([1, 0]))
