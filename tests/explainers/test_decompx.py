"""One backward pass against the explicit way: every state as a sum of what each token, and the biases, put into it."""

from types import SimpleNamespace as Block

import numpy as np
import pytest
import torch
from torch import nn

from heatcheck.errors import NotSupported
from heatcheck.explainers.decompx import decompx, logit_parts
from heatcheck.models import Site, load
from rearranged import ARRANGED, check_arrangements, lively
from tiny_transformers import CONFIGS, EXAMPLES

"""A block's modules and the head's steps, written down a second time and from the models' own code."""


def as_bert(block):
    return Block(
        value=(block.attention.self.value.weight, block.attention.self.value.bias),
        out=block.attention.output.dense,
        norms=(block.attention.output.LayerNorm, block.output.LayerNorm),
        mlp=(block.intermediate.dense, block.intermediate.intermediate_act_fn, None, block.output.dense),
        first=False,
    )


def as_albert(group):
    layer = group.albert_layers[0]
    return Block(
        value=(layer.attention.value.weight, layer.attention.value.bias),
        out=layer.attention.dense,
        norms=(layer.attention.LayerNorm, layer.full_layer_layer_norm),
        mlp=(layer.ffn, layer.activation, None, layer.ffn_output),
        first=False,
    )


def as_distilbert(block):
    return Block(
        value=(block.attention.v_lin.weight, block.attention.v_lin.bias),
        out=block.attention.out_lin,
        norms=(block.sa_layer_norm, block.output_layer_norm),
        mlp=(block.ffn.lin1, block.ffn.activation, None, block.ffn.lin2),
        first=False,
    )


def as_gpt2(block):
    return Block(
        value=(block.attn.c_attn.weight[:, 64:].T, block.attn.c_attn.bias[64:]),
        out=block.attn.c_proj,
        norms=(block.ln_1, block.ln_2),
        mlp=(block.mlp.c_fc, block.mlp.act, None, block.mlp.c_proj),
        first=True,
    )


def as_llama(block):
    value = block.self_attn.v_proj

    def spread(shared):
        return shared.view(2, 8, *shared.shape[1:]).repeat_interleave(2, 0).flatten(0, 1)

    return Block(
        value=(spread(value.weight), None if value.bias is None else spread(value.bias)),
        out=block.self_attn.o_proj,
        norms=(block.input_layernorm, block.post_attention_layernorm),
        mlp=(block.mlp.gate_proj, block.mlp.act_fn, block.mlp.up_proj, block.mlp.down_proj),
        first=True,
    )


def as_modernbert(block):
    def half(rows):
        made = nn.Linear(32, 48, bias=False)
        made.weight = nn.Parameter(block.mlp.Wi.weight[rows])
        return made

    return Block(
        value=(block.attn.Wqkv.weight[64:], None),
        out=block.attn.Wo,
        norms=(block.attn_norm, block.mlp_norm),
        mlp=(half(slice(0, 48)), block.mlp.act, half(slice(48, 96)), block.mlp.Wo),
        first=True,
    )


def relu_head(n):
    return [n.pre_classifier, torch.relu, n.classifier]


FAMILIES = {
    "albert": (as_albert, lambda n: [n.albert.pooler, torch.tanh, n.classifier]),
    "bert": (as_bert, lambda n: [n.bert.pooler.dense, torch.tanh, n.classifier]),
    "distilbert": (as_distilbert, relu_head),
    "electra": (as_bert, lambda n: [n.classifier.dense, nn.functional.gelu, n.classifier.out_proj]),
    "gpt2": (as_gpt2, lambda n: [n.transformer.ln_f, n.score]),
    "llama": (as_llama, lambda n: [n.model.norm, n.score]),
    "modernbert": (as_modernbert, lambda n: [n.model.final_norm, n.head.dense, n.head.act, n.head.norm, n.classifier]),
    "qwen2": (as_llama, lambda n: [n.model.norm, n.score]),
    "qwen3": (as_llama, lambda n: [n.model.norm, n.score]),
    "roberta": (as_bert, lambda n: [n.classifier.dense, torch.tanh, n.classifier.out_proj]),
}

"""States are [token source feature]: the sources are the tokens, and last the biases."""


def linear(parts, weight, bias):
    found = parts @ weight.double().T
    if bias is not None:
        found[..., -1, :] += bias.double()
    return found


def through(parts, module):
    """A linear layer of either orientation, a norm, or an activation."""
    if isinstance(module, nn.Identity):
        return parts
    if isinstance(module, nn.Linear):
        return linear(parts, module.weight, module.bias)
    if type(module).__name__ == "Conv1D":
        return linear(parts, module.weight.T, module.bias)
    whole = parts.sum(-2, keepdim=True)
    if isinstance(module, nn.LayerNorm):
        found = (parts - parts.mean(-1, keepdim=True)) / (
            whole.var(-1, unbiased=False, keepdim=True) + module.eps
        ).sqrt()
        found = found * module.weight.double()
        if module.bias is not None:
            found[..., -1, :] += module.bias.double()
        return found
    if type(module).__name__.endswith("RMSNorm"):
        return parts / (whole.square().mean(-1, keepdim=True) + module.variance_epsilon).sqrt() * module.weight.double()
    return parts * (module(whole) / whole)


def mlp(parts, into, activation, gate, out):
    hidden = through(parts, into)
    bent = through(hidden, activation)
    if gate is not None:  # each factor has half of the product
        other = through(parts, gate)
        bent = (bent * other.sum(-2, keepdim=True) + bent.sum(-2, keepdim=True) * other) / 2
    return through(bent, out)


def explicit(subject, example, family):
    """Logits by source [source label], and the network's own."""
    read, head = FAMILIES[family]
    batch = subject.encode([example])
    start = Site("input", subject.blocks[0].where)
    run = subject.run(batch, want=[start, *subject.sites])
    states = run.parts[start][0].double()
    tokens = len(states)
    parts = torch.zeros(tokens, tokens + 1, 32, dtype=torch.double)
    parts[torch.arange(tokens), torch.arange(tokens)] = states
    for site, place in zip(subject.sites, subject.blocks, strict=True):
        block = read(subject.network.get_submodule(place.where.partition("@")[0]))
        seen = through(parts, block.norms[0]) if block.first else parts
        values = linear(seen, *block.value).unflatten(-1, (4, 8))
        contexts = torch.einsum("hqk,ksho->qsho", run.parts[site][0].double(), values).flatten(-2)
        parts = parts + through(contexts, block.out)
        if not block.first:
            parts = through(parts, block.norms[0])
        parts = parts + mlp(through(parts, block.norms[1]) if block.first else parts, *block.mlp)
        if not block.first:
            parts = through(parts, block.norms[1])
    read_out = parts[int(subject.rows(batch)[0])]
    for step in head(subject.network):
        read_out = through(read_out, step)
    return read_out, run.logits[0, 0]


@torch.no_grad()
@pytest.mark.parametrize("family", CONFIGS)
def test_one_backward_pass_is_the_explicit_propagation(family):
    subject = lively(family)
    for example in EXAMPLES:
        sources, logits = explicit(subject, example, family)
        torch.testing.assert_close(sources.sum(0), logits.double(), rtol=1e-4, atol=1e-5)  # nothing is left out
        parts = logit_parts(subject, subject.encode([example]))
        wanted = sources[:, logits.argmax()]
        scale = wanted.abs().max()
        torch.testing.assert_close(parts.tokens[0] / scale, wanted[:-1] / scale, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(parts.rest[0] / scale, wanted[-1] / scale, rtol=1e-4, atol=1e-5)
        without = family in ("llama", "qwen3")  # these have no bias anywhere
        assert wanted[-1] == 0 if without else wanted[-1].abs() > 1e-3 * scale
        torch.testing.assert_close(parts.logit[0], logits.max().double())


def test_one_output_is_explained_whichever_way_it_decides():
    """Its logits are (0, z): the predicted label's alone would be constant where z is negative."""
    for seed in range(6):
        subject = lively("bert", labels=1, seed=seed)
        batch = subject.encode(EXAMPLES)
        z = subject.run(batch).logits[:, 0, 1]
        parts = logit_parts(subject, batch)
        torch.testing.assert_close(parts.logit, z.abs().detach().double())
        assert (parts.tokens.abs().sum(-1) > 1e-3).all()
        if (z < 0).any():
            return
    raise AssertionError("no negative answer was tried")


def test_padding_has_no_share():
    subject = lively("gpt2")
    batch = subject.encode(EXAMPLES)
    assert (logit_parts(subject, batch).tokens[~batch.valid] == 0).all()


@pytest.mark.parametrize("family", ARRANGED)
def test_arrangements_do_not_matter(family):
    check_arrangements(decompx, family)


def test_words_have_a_sign():
    found = np.concatenate(decompx.explain(lively("bert"), EXAMPLES, 0))
    assert found.min() < 0 < found.max()
    assert decompx.signed


def test_other_subjects_are_refused():
    with pytest.raises(NotSupported, match=r"decompx needs every layer of a transformer, and .* is not one"):
        decompx.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)
