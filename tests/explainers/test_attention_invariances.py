"""Explainers that need attention maps alone: padding, the order of a batch and the order of heads change nothing."""

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.explainers import sampled
from heatcheck.explainers.atman import atman
from heatcheck.explainers.attattr import attattr
from heatcheck.explainers.effective_attention import effective_attention
from heatcheck.explainers.flow import flow
from heatcheck.explainers.gradient_rollout import gradient_rollout
from heatcheck.explainers.rollout import rollout
from heatcheck.explainers.sampled import lime, shapley_sampling
from heatcheck.explainers.value_zeroing import value_zeroing
from heatcheck.models import Site, in_units
from tiny_transformers import EXAMPLES, make

FAMILIES = ("bert", "gpt2", "llama")
ALL = {family: make(family, sharp=8.0) for family in FAMILIES}
OF_MAPS = (rollout, flow, gradient_rollout, effective_attention, attattr, atman, value_zeroing)
EVERY = (*OF_MAPS, shapley_sampling, lime)
HEADS, FEATURES = 4, 8


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch):
    for name, number in {"ORDERS": 3, "FEWEST_ORDERS": 3, "LIME_PER_WORD": 5, "LIME_FEWEST": 30}.items():
        monkeypatch.setattr(sampled, name, number)


def same(found, other):
    return all(np.allclose(a, b, rtol=1e-4, atol=3e-6) for a, b in zip(found, other, strict=True))


@pytest.mark.parametrize("explainer", EVERY, ids=lambda e: e.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_alone_as_in_a_padded_batch_and_in_any_order(family, explainer):
    subject = ALL[family]
    together = explainer.explain(subject, EXAMPLES, 0)
    assert len({len(example.words) for example in EXAMPLES}) == 3  # some are padded
    assert same(together, [explainer.explain(subject, [example], 0)[0] for example in EXAMPLES])
    assert same(together, explainer.explain(subject, EXAMPLES[::-1], 0)[::-1])
    assert all(scores.std() > 1e-5 for scores in together)


def heads_turned(family):
    """The same function with its heads in another order, in every layer: by hand, in the weights."""
    turned = make(family, sharp=8.0)
    order = [2, 3, 1, 0]  # groups of two share keys in Llama: they move together
    place = torch.arange(HEADS * FEATURES).reshape(HEADS, FEATURES)
    features = place[order].flatten()
    groups = place[:2][[1, 0]].flatten()  # [2 groups, features]
    for name, weight in turned.network.named_parameters():
        with torch.no_grad():
            if any(part in name for part in ("self.query", "self.key", "self.value", "q_proj")):
                weight.copy_(weight[features])
            elif "k_proj" in name or "v_proj" in name:
                weight.copy_(weight[groups])
            elif "o_proj.weight" in name or "attention.output.dense.weight" in name:
                weight.copy_(weight[:, features])
            elif "attn.c_attn" in name:  # input to output, and the three projections side by side
                side = torch.cat([features + number * HEADS * FEATURES for number in range(3)])
                weight.copy_(weight[..., side])
            elif "attn.c_proj.weight" in name:
                weight.copy_(weight[features])
    return turned, order


@pytest.mark.parametrize("family", FAMILIES)
def test_the_order_of_heads_changes_nothing(family):
    subject, (turned, order) = ALL[family], heads_turned(family)
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        for site in subject.sites:
            own, others = (s.run(batch, want=[site]).parts[site] for s in (subject, turned))
            assert torch.allclose(own[:, order], others, atol=1e-5)
            assert not torch.allclose(own, others, atol=1e-2)
            values = Site("value", site.where)
            own, others = (s.run(batch, want=[values]).parts[values] for s in (subject, turned))
            assert torch.allclose(own[:, order], others, atol=1e-4)
    for explainer in OF_MAPS:
        assert same(explainer.explain(subject, EXAMPLES, 0), explainer.explain(turned, EXAMPLES, 0)), explainer.name


@pytest.mark.parametrize("explainer", [attattr, atman, value_zeroing], ids=lambda e: e.name)
def test_words_of_both_texts_get_scores(explainer):
    subject = ALL["bert"]
    (pair,) = in_units(subject, [Example("p", "the film was dull", "a very good movie")])
    (scores,) = explainer.explain(subject, [pair], 0)
    assert len(scores) == 8
    assert (np.abs(scores) > 0).all()
