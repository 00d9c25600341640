"""Where words tie, those that stand first profit nowhere."""

from dataclasses import replace

import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.case import TIE_ORDERS
from heatcheck.checks.texts_without_words import orders_of
from heatcheck.checks.weight_rankings import rankings_of
from heatcheck.data import load_task
from heatcheck.models import load


@pytest.fixture(scope="module")
def flat():
    subject = load("known:flat@planted_first")
    return Case(subject, load_task("planted_first")["test"].examples[:60], labels=subject.labels)


def measure(name, case, **settings):
    check = CHECKS[name]
    return check.measure(case, replace(check.settings(), draws=200, **settings))


def test_ranked_by_equal_weights_words_go_at_random(flat):
    found = measure("erasure", flat, rivals=("leave_one_out",), operators=("deletion",))
    assert found.find("K", operator="deletion").high < 0.3
    found = measure("eraser", flat, rivals=(), operators=("deletion",), shares=(0.1, 0.2))
    of = {"pair": ["attention", "random"], "operator": "deletion", "logits": "standardised"}
    assert abs(found.find("comprehensiveness_difference", **of).value) < 0.05
    found = measure("perturbation", flat, explainers=("attention",), shares=(0.1, 0.3))
    assert abs(found.find("area", ranking="attention", operator="masking").value) < 0.06
    found = measure("plausibility", flat, explainers=("attention",))
    for rationale in ("top k", "window"):
        of = {"explainer": "attention", "against": "random", "rationale": rationale}
        assert found.find("token_f1_gain", **of).value < 0.1
    found = measure("agreement", flat, explainers=("attention", "leave_one_out", "random"))
    shared = [
        found.find("top_k_overlap", pair=pair).value
        for pair in (["attention", "leave_one_out"], ["attention", "random"])
    ]
    assert shared == pytest.approx([np.mean([3 / len(e.words) for e in flat.examples])] * 2)


def test_weights_that_tie_are_removed_at_random(flat):
    nothing = np.zeros(flat.weights[0].shape)
    orders = dict(rankings_of(flat, nothing, {}, flat.readout.word, 2))
    first = orders["attention"].argmax(2)  # [order example]: the token that goes first
    assert first.shape == (TIE_ORDERS, 60)
    assert (first == 0).mean() < 0.2
    assert len(np.unique(first)) > 8


def test_a_ranking_without_ties_has_one_order_and_one_with_ties_has_several():
    subject = load("known:reader@planted_contrast")
    case = Case(subject, load_task("planted_contrast")["test"].examples[:30], labels=subject.labels)
    ranked = {name: case.scores(name) for name in ("attention", "random")}
    orders = orders_of(case, ranked, range(30))
    assert (len(orders["random"]), len(orders["attention"])) == (1, TIE_ORDERS)
    for row, example in enumerate(case.examples):
        words = case.scores("attention").values[row, : len(example.words)]
        for of_rows in orders["attention"]:
            assert sorted(of_rows[row]) == list(range(len(words)))
            assert (np.diff(words[of_rows[row]]) <= 0).all()
    alone = Case(subject, case.examples[7:8], labels=subject.labels)
    assert [o[0] for o in orders_of(alone, {"a": alone.scores("attention")}, [0])["a"]] == [
        o[7] for o in orders["attention"]
    ]
