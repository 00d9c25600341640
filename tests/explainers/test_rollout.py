"""Rollout by hand, over all paths, in the right order; and who has no layers."""

from itertools import product

import numpy as np
import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers.effective_attention import effective_attention
from heatcheck.explainers.flow import flow
from heatcheck.explainers.gradient_rollout import gradient_rollout
from heatcheck.explainers.layers import mean_attention
from heatcheck.explainers.rollout import roll_out, rollout, with_residual
from subjects import SUBJECTS
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=12.0) for family in ("bert", "gpt2", "llama")}


def random_layers(layers, tokens, seed=0):
    return torch.randn(1, layers, tokens, tokens, generator=torch.Generator().manual_seed(seed)).double().softmax(-1)


def test_every_path_from_the_top_layer_down():
    attention = random_layers(3, 4)
    widened = ((attention + torch.eye(4)) / 2)[0]
    found = roll_out(attention)[0]
    for query, key in product(range(4), repeat=2):
        paths = sum(
            widened[2, query, a] * widened[1, a, b] * widened[0, b, key] for a, b in product(range(4), repeat=2)
        )
        assert torch.allclose(found[2, query, key], paths)
    turned = roll_out(attention.flip(1))[0]
    assert (turned[2] - found[2]).abs().max() > 0.01  # the layers do not commute: the order matters


def test_the_top_layer_is_on_the_left():
    """Everybody reads token 0 first, then token 1: what token 1 then holds is half token 0."""
    below = torch.tensor([[1.0, 0.0, 0.0]] * 3)
    above = torch.tensor([[0.0, 1.0, 0.0]] * 3)
    found = roll_out(torch.stack([below, above])[None])[0, -1]
    assert found[2].tolist() == [0.5, 0.25, 0.25]
    assert roll_out(torch.stack([above, below])[None])[0, -1][2].tolist() != [0.5, 0.25, 0.25]


@pytest.mark.parametrize("family", ALL)
def test_rows_sum_to_one_and_a_decoder_sees_no_future(family):
    subject = ALL[family]
    batch = subject.encode(EXAMPLES)
    _, attention = mean_attention(subject, batch)
    found = roll_out(attention)
    assert found.shape[1] == 3
    assert torch.allclose(found.sum(-1), torch.ones(()).double(), atol=1e-6)
    assert (found.triu(1).abs().max() == 0) == (family != "bert")


@pytest.mark.parametrize("family", ALL)
def test_scores_are_the_read_out_s_row(family):
    subject = ALL[family]
    for example in EXAMPLES:
        batch = subject.encode([example])
        maps = [subject.run(batch, want=[site]).parts[site][0].mean(0).detach().double() for site in subject.sites]
        rolled = torch.eye(len(maps[0])).double()
        for layer in maps:
            rolled = with_residual(layer[None, None])[0, 0] @ rolled
        row = rolled[0, 1:-1] if family == "bert" else rolled[-1]  # without [CLS] and [SEP]
        assert np.allclose(rollout.explain(subject, [example], 0)[0], row, atol=1e-6)


@pytest.mark.parametrize("explainer", [rollout, flow, gradient_rollout, effective_attention], ids=lambda e: e.name)
def test_a_model_without_layers_is_told_so(explainer):
    subject, examples = SUBJECTS["lstm"]
    with pytest.raises(NotSupported, match=r"needs every layer of a transformer, and .+ is not one\.$"):
        explainer.explain(subject, examples, 0)
