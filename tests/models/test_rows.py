"""Rows of the weights alone: what eager attention gives, without all of the weights in memory."""

from copy import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForSequenceClassification, Gemma2Config, MistralConfig

from heatcheck.auditing import plan_audit
from heatcheck.data import Corpus, Example, Split
from heatcheck.explainers import explain_one
from heatcheck.models import Site, response
from heatcheck.models.contract.edits import only_head, uniform, zero
from heatcheck.models.contract.rows import OnRows, Rows
from heatcheck.models.hf import Prompted, Transformer
from tiny_language_models import LABELS, PROMPT, network
from tiny_language_models import tokenizer as letters
from tiny_transformers import CONFIGS, EXAMPLES, SIZE, tiny, tokenizer

FAMILIES = sorted(CONFIGS)
SHAPE = {
    "vocab_size": SIZE,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


def by_rows(subject):
    """The same model, which reads short texts as it would read long ones."""
    found = copy(subject)
    found._by_rows = True
    return found


def tiny_of(config):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found = AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
    return Transformer(found, tokenizer(marks=False), name=config.model_type)


def subject_of(name):
    if name == "window":  # sees the three nearest tokens
        return tiny_of(MistralConfig(**SHAPE, sliding_window=3))
    return tiny(name)


def every_query(batch):
    return torch.arange(batch.valid.shape[1]).expand(len(batch), -1)


@pytest.mark.parametrize("name", [*FAMILIES, "window"])
@torch.no_grad()
def test_by_rows_as_in_eager(name):
    subject = subject_of(name)
    assert subject._rows_suffice
    batch = subject.encode(EXAMPLES)
    scores = [Site("score", site.where) for site in subject.sites]
    whole = subject.run(batch, want=[*subject.sites, *scores])
    some = torch.stack([subject.rows(batch), torch.zeros(len(batch), dtype=torch.long)], 1)
    for queries in (some, every_query(batch)):
        wanted = dict.fromkeys([*subject.sites, *scores], Rows(queries))
        eager = subject.run(batch, want=wanted)
        found = by_rows(subject).run(batch, want=wanted)
        assert torch.equal(eager.logits, whole.logits)
        assert torch.allclose(found.logits, whole.logits, rtol=1e-5, atol=1e-5)
        real = torch.gather(batch.valid, 1, queries)[:, None, :, None]
        for site in subject.sites:
            assert torch.equal(eager.parts[site], Rows(queries)(whole.parts[site]))
            assert torch.allclose(found.parts[site] * real, eager.parts[site] * real, atol=1e-5)
        for site in scores:
            seen = (eager.parts[site] > -9000) & real
            assert torch.equal((found.parts[site] > -9000) & real, seen)
            assert torch.allclose(found.parts[site][seen], eager.parts[site][seen], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "llama", "window"])
@torch.no_grad()
def test_an_edit_of_rows_is_an_edit_of_these_rows_alone(name):
    subject = subject_of(name)
    batch = subject.encode(EXAMPLES)
    rows = subject.rows(batch)[:, None]
    for layer, edit in ((subject.sites[-1], uniform), (subject.sites[0], only_head(2, zero))):
        here = {layer: OnRows(rows, edit)}
        eager = subject.run(batch, edits=here, want={layer: Rows(rows)})
        by_hand = subject.run(batch, want=[layer]).parts[layer].clone()
        for place, row in enumerate(rows[:, 0].tolist()):
            by_hand[place, :, row] = edit(by_hand[place : place + 1, :, [row]])[0, :, 0]
        assert torch.equal(subject.run(batch, edits={layer: by_hand}).logits, eager.logits)
        found = by_rows(subject).run(batch, edits=here, want={layer: Rows(rows)})
        assert torch.allclose(found.logits, eager.logits, atol=1e-5)
        assert torch.allclose(found.parts[layer], eager.parts[layer], atol=1e-6)
        assert not torch.allclose(found.logits, subject.run(batch).logits, atol=1e-4)


@torch.no_grad()
def test_one_attention_may_need_all_of_its_weights():
    subject = tiny("llama")
    batch = subject.encode(EXAMPLES)
    value, key, last = Site("value", subject.sites[0].where), Site("key", subject.sites[0].where), subject.sites[-1]
    edits = {subject.sites[1]: uniform, value: only_head(1, zero), key: torch.neg}
    eager = subject.run(batch, edits=edits, want=[last])
    for examples in (batch, batch.take(torch.tensor([2]))):  # without padding there is no mask
        found = by_rows(subject).run(examples, edits=edits, want=[last])
        own = eager.logits if examples is batch else eager.logits[2:]
        assert torch.allclose(found.logits, own, atol=1e-5)
        assert found.parts[last].shape[-2:] == examples.valid.shape[1:] * 2


@torch.no_grad()
def test_an_attention_that_does_more_keeps_its_own_function():
    subject = tiny_of(Gemma2Config(**SHAPE, attn_logit_softcapping=50.0, query_pre_attn_scalar=8))
    plain = tiny_of(Gemma2Config(**SHAPE, attn_logit_softcapping=None, query_pre_attn_scalar=8))
    assert plain._rows_suffice
    assert not subject._rows_suffice
    batch = subject.encode(EXAMPLES)
    found = by_rows(subject).run(batch)
    assert torch.equal(found.logits, subject.run(batch).logits)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
def test_checks_and_explainers_by_rows(family):
    subject = tiny(family)
    batch = subject.encode(EXAMPLES)
    names = (
        "attention",
        "leave_one_out",
        "gradient",
        "rollout",
        "gradient_rollout",
        "decompx",
        "attnlrp",
        "alti",
        "atman",
    )
    own = [explain_one(subject, EXAMPLES, name).values for name in names]
    answers, heard, seen = subject.answer(batch), response(subject, batch), subject.readable(batch)
    long = by_rows(subject)
    for name, values in zip(names, own, strict=True):
        assert explain_one(long, EXAMPLES, name).values == pytest.approx(values, abs=1e-5), name
    assert torch.allclose(long.answer(batch), answers, atol=1e-5)
    again = response(long, batch)
    assert torch.allclose(again.attention, heard.attention, atol=1e-6)
    assert torch.equal(again.allowed, heard.allowed)
    assert torch.equal(long.readable(batch), seen)


class Largest(TorchDispatchMode):
    """Notes the largest tensor that is made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, tuple | list) else [found]:
            if isinstance(one, torch.Tensor):
                self.numbers = max(self.numbers, one.numel())
        return found


def test_a_long_text_is_explained_without_all_of_its_weights():
    words = letters()
    words.model_max_length = 4096
    subject = Prompted(network(window=4096), words, name="long", prompt=PROMPT, labels=LABELS)
    text = Example("long", " ".join(["dull"] * 1000 + ["good"] * 1000))
    (tokens,) = subject.lengths([text])
    assert tokens > 2000
    assert subject._rows_suffice
    with Largest() as made:
        found = explain_one(subject, [text], "attention")
        batch = subject.encode([text])
        subject.response(batch)
    assert made.numbers < tokens * 300, "the vocabulary, not the square of the tokens"
    subject.__dict__["_rows_suffice"] = False
    eager = explain_one(subject, [text], "attention").values
    assert found.values == pytest.approx(eager, abs=1e-6)


def test_texts_that_are_compared_go_through_one_kernel(monkeypatch):
    monkeypatch.setattr("heatcheck.models.hf.views.LONG", 11)
    subject = tiny("bert")
    asked = []
    monkeypatch.setattr(subject, "_pass", lambda *a, own=subject._pass, **k: asked.append(k) or own(*a, **k))
    explain_one(subject, EXAMPLES[:1], "leave_one_out")
    assert not any(one.get("rows_only") for one in asked)
    asked.clear()
    explain_one(subject, EXAMPLES[2:], "leave_one_out")  # 12 tokens, 11 without a word
    assert asked
    assert all(one.get("rows_only") for one in asked)
    assert not subject._by_rows
    rows = Corpus("some", subject.labels, {"test": Split("test", EXAMPLES)})
    assert plan_audit(subject, rows).case.subject._by_rows
