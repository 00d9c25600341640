"""Heads taken apart: their factors give the model's own scores and values, and all parts add up to its logits."""

import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.heads.circuits.direct import direct_effects
from heatcheck.models import Site, load
from heatcheck.models.contract.opened import OpensItsHeads, require_opened
from heatcheck.models.hf.blocks import read_norm
from heatcheck.models.hf.next_token import NextToken
from heatcheck.models.hf.prompted import Prompted
from tiny_language_models import LABELS, PROMPT, network, tokenizer
from tiny_transformers import tiny

TEXTS = [[0, 5, 9, 11, 7, 5, 9], [0, 8, 8, 3]]


def make(kind):
    net = network(kind)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in net.parameters():  # biases and gains that nobody can forget unnoticed
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return NextToken(net, tokenizer(), name=f"tiny-{kind}")


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
@torch.no_grad()
def test_parts_add_up_to_the_logits(kind):
    subject = make(kind)
    assert isinstance(subject, OpensItsHeads)
    batch = subject.encode_ids(TEXTS, bos=False)
    rows = torch.tensor([4, 3])
    answers, others = torch.tensor([5, 3]), torch.tensor([9, 8])
    found = direct_effects(subject, batch, rows, answers, others)
    whole = subject.network(**batch.inputs).logits
    if kind == "gemma2":  # which caps its logits after they are added up
        cap = subject.network.config.final_logit_softcapping
        whole = cap * torch.atanh((whole / cap).clamp(-0.99999, 0.99999))
    own = whole[[0, 1], rows, answers] - whole[[0, 1], rows, others]
    assert torch.allclose(torch.from_numpy(found.difference).float(), own, rtol=1e-3, atol=1e-3)
    sizes = abs(found.effects).sum(1)
    assert (abs(found.effects.sum(1) - found.difference) < 1e-4 * sizes).all()
    assert len(found.names) == 1 + sum(subject.heads) + 2 * len(subject.sites) + 1
    assert abs(found.of("head 2.3")).max() > 0


@torch.no_grad()
def test_factors_are_the_model_s_own_up_to_the_scale_of_a_row():
    subject = make("gpt2")
    for parameter in (p for name, p in subject.network.named_parameters() if name.endswith("bias")):
        parameter.zero_()
    batch = subject.encode_ids(TEXTS[:1], bos=False)
    for layer, (site, block) in enumerate(zip(subject.sites, subject.blocks, strict=True)):
        entered, scored, made = Site("input", block.where), Site("score", site.where), Site("value", site.where)
        parts = subject.run(batch, want=[entered, scored, made]).parts
        norm = read_norm(subject.network.transformer.h[layer].ln_1)
        states = (parts[entered] / norm.scale(parts[entered]))[:, None]
        factors = subject.factors(layer)
        scores = (states @ factors.query) @ (states @ factors.key).mT / 8**0.5
        below = torch.ones(7, 7).tril().bool()
        assert torch.allclose(scores[..., below], parts[scored][..., below], rtol=1e-4, atol=1e-3)
        assert torch.allclose(states @ factors.value, parts[made], rtol=1e-4, atol=1e-4)


def test_heads_that_share_keys_have_them_each():
    factors = make("llama").factors(1)
    assert factors.query.shape == factors.key.shape == (4, 32, 8)
    assert factors.output.shape == (4, 8, 32)
    assert torch.equal(factors.key[0], factors.key[1])
    assert not torch.equal(factors.key[1], factors.key[2])


def test_what_cannot_be_taken_apart_is_refused():
    subject = make("llama")
    with torch.no_grad():
        own = subject.network.model.layers[0].self_attn
        own.v_proj, own.k_proj = own.k_proj, own.v_proj  # its modules now say the wrong names
    own.k_proj.forward, own.v_proj.forward = own.v_proj.forward, own.k_proj.forward
    with pytest.raises(NotSupported, match="does not know how tiny-llama makes its values"):
        subject.factors(0)
    with pytest.raises(NotSupported, match="needs a causal language model"):
        require_opened(tiny("bert"), "mechanism")
    with pytest.raises(NotSupported, match="needs a causal language model"):
        require_opened(load("known:reader@planted_keyword"), "mechanism")


def test_a_prompted_model_is_opened_without_its_prompt():
    prompted = Prompted(network(), tokenizer(), name="tiny", prompt=PROMPT, labels=LABELS)
    plain = require_opened(prompted, "mechanism")
    batch = plain.encode_ids(TEXTS, bos=False)
    direct = NextToken(network(), tokenizer(), name="tiny")
    assert torch.allclose(plain.run(batch).logits, direct.run(batch).logits, atol=1e-5)
    assert plain.first_id == 0
    assert not {0, 1} & set(plain.ordinary_ids())
