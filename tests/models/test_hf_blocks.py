"""The table of blocks: with it, what tokens write and what biases add make up the true states, in every family."""

import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.models.hf import blocks
from heatcheck.models.hf.blocks import FAMILIES, bends, each_layer, family_of, read_norm
from rearranged import lively
from tiny_transformers import CONFIGS, EXAMPLES, make, tiny
from written_vectors import after_attention


@pytest.mark.parametrize("family", CONFIGS)
def test_tokens_parts_and_biases_make_up_the_state_after_the_attention(family):
    """Σ_j y_{i←j} + biases, pair by pair, against what the network itself hands to the second half of the block."""
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    sites = [after_attention(subject, layer) for layer in range(3)]
    with torch.no_grad():
        run = subject.run(batch, want=sites)

    def summed(layer):
        pairs = torch.einsum("ehqk,ehks->eqks", layer.weights, layer.written())
        tokens = torch.arange(pairs.shape[1])
        pairs[:, tokens, tokens] += layer.states
        bias = torch.zeros_like(layer.states[0, 0]) if layer.bias is None else layer.bias
        if layer.norm is not None:
            scale = layer.norm.scale(layer.summed())
            pairs, bias = (
                layer.norm.linear(pairs) / scale[:, :, None],
                layer.norm.linear(bias) / scale + layer.norm.bias,
            )
        total = pairs.sum(2) + bias
        torch.testing.assert_close(layer.output(), total)
        return total

    found = each_layer(subject, batch, summed)
    assert len(found) == 3
    for mine, site in zip(found, sites, strict=True):
        torch.testing.assert_close(mine[batch.valid], run.parts[site].double()[batch.valid], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", CONFIGS)
def test_norms_are_read_as_they_compute(family):
    subject = lively(family)
    states = torch.randn(2, 3, 32, generator=torch.Generator().manual_seed(0))
    read = 0
    for path, bend in bends(subject).items():
        module = subject.network.get_submodule(path)
        if bend == "norm" and (norm := read_norm(module)) is not None:
            read += 1
            with torch.no_grad():
                torch.testing.assert_close(norm(states), module(states))
    assert read >= (2 if family == "albert" else 6)


def test_all_that_normalises_or_bends_is_in_the_table():
    """Norms and activations of the network from the first block on, found by their kind, against the rows."""
    for family in CONFIGS:
        network = tiny(family).network
        kinds = ("Norm", "Activation", "Tanh", "GELU", "SiLU")
        named = {path for path, module in network.named_modules() if type(module).__name__.endswith(kinds)}
        outside = ("embeddings", "q_norm", "k_norm")  # before the first block; within attention weights
        wanted = {path for path in named if not any(word in path for word in outside)}
        assert wanted <= bends(tiny(family)).keys(), family


def test_a_few_examples_at_a_time_are_the_same(monkeypatch):
    subject = tiny("llama")
    batch = subject.encode(EXAMPLES)
    whole = each_layer(subject, batch, lambda layer: layer.output())
    monkeypatch.setattr(blocks, "AT_ONCE", 1)
    lengths = []

    def output(layer):
        lengths.append(len(layer.states))
        return layer.output()

    parts = each_layer(subject, batch, output)
    assert lengths == [1] * 9
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other)


def test_the_last_layer_alone():
    subject = tiny("albert")
    batch = subject.encode(EXAMPLES)
    (last,) = each_layer(subject, batch, lambda layer: layer.output(), only_last=True)
    torch.testing.assert_close(last, each_layer(subject, batch, lambda layer: layer.output())[-1])


def test_a_family_without_a_row_is_refused():
    stranger = make("bert")
    stranger.network.config.model_type = "mamba"
    with pytest.raises(NotSupported, match=r"mamba block \(tiny-bert\). It knows: albert, .*roberta-xl\."):
        family_of(stranger)


def test_every_promised_family_has_a_row():
    assert FAMILIES.keys() >= CONFIGS.keys()
