"""Explainers that any model has, on transformers: padding, the order of a batch and that of heads change nothing."""

import pytest

from heatcheck.explainers import EXPLAINERS
from rearranged import ARRANGED, check_arrangements

PLAIN = (
    "attention",
    "gradient",
    "gradient_through",
    "gradient_uniform",
    "gradient_x_input",
    "influence",
    "influence_left_out",
    "integrated_gradients",
    "leave_one_out",
)
LEFT_OUT = ("influence_left_out", "leave_one_out")
ELSEWHERE = {  # test_attention_invariances.py, and the tests of each that is about blocks
    "alti",
    "atman",
    "attattr",
    "attention_that_matters",
    "attnlrp",
    "contribution_weights",
    "decompx",
    "effective_attention",
    "flow",
    "gim",
    "globenc",
    "gradient_rollout",
    "lime",
    "norm_rollout",
    "norms",
    "relevance_rollout",
    "rollout",
    "shapley_sampling",
    "value_zeroing",
}
# A search begins at random scores of each head, so it may end elsewhere with heads in another order; random numbers
# have no heads; the others refuse a transformer.
NOT_ASKED = {"counterfactual", "random", "contribution", "log_odds", "relevance"}


def test_none_is_forgotten():
    assert {*PLAIN, *ELSEWHERE, *NOT_ASKED} == set(EXPLAINERS)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("family", ARRANGED)
def test_nothing_depends_on_how_it_is_arranged(family, name):
    # Leave-one-out is rounded to a millionth, and on this BERT its scores are below a thousandth.
    check_arrangements(EXPLAINERS[name], family, tolerance=3e-3 if name in LEFT_OUT else 1e-3)
