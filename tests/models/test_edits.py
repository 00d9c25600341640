"""Edits of one head, of some tokens, of some keys: against the same written out; and batches that are taken apart."""

import pytest
import torch

from heatcheck.errors import BadInput
from heatcheck.models import Site
from heatcheck.models.contract.edits import at_keys, at_tokens, mean, only_head, uniform, zero
from heatcheck.models.contract.until import run_until
from tiny_transformers import EXAMPLES, tiny


@torch.no_grad()
def test_one_head_or_some_tokens_and_nothing_else():
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[1]
    parts = {part: Site(part, site.where) for part in ("attention", "value", "context")}
    own = subject.run(batch, want=list(parts.values())).parts
    chosen = batch.word == 1
    edits = {
        "attention": (only_head(2, uniform), lambda w: w[:, 2], lambda w: w[:, [0, 1, 3]]),
        "value": (
            at_tokens(chosen, zero),
            lambda v: v.transpose(1, 2)[chosen],
            lambda v: v.transpose(1, 2)[~chosen],
        ),
        "context": (only_head(0, mean(batch.valid)), lambda c: c[:, 0], lambda c: c[:, 1:]),
    }
    expected = {
        "attention": (batch.valid / batch.valid.sum(1, keepdim=True))[:, None].expand(-1, batch.valid.shape[1], -1),
        "value": torch.zeros(len(EXAMPLES), 4, 8),
        "context": own[parts["context"]][:, 0][batch.valid].mean(0).expand(3, batch.valid.shape[1], -1),
    }
    for part, (edit, changed, rest) in edits.items():
        found = subject.run(batch, edits={parts[part]: edit}, want=[parts[part]])
        value = found.parts[parts[part]]
        assert torch.allclose(changed(value), expected[part], atol=1e-6), part
        assert torch.equal(rest(value), rest(own[parts[part]])), part
        assert not torch.allclose(found.logits, subject.run(batch).logits, atol=1e-6), part


@torch.no_grad()
def test_columns():
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[0]
    own = subject.run(batch, want=[site]).parts[site]
    found = subject.run(batch, edits={site: at_keys(batch.word == 0, zero)}, want=[site]).parts[site]
    assert not found[..., 1].any()
    assert torch.equal(found[..., 2:], own[..., 2:])


def test_what_is_refused():
    subject = tiny("bert")
    batch = subject.encode(EXAMPLES)
    site = subject.sites[0]
    for head in (4, -1):
        with pytest.raises(BadInput, match=f"there is no head {head}: this layer has 4 heads"):
            subject.run(batch, edits={site: only_head(head, zero)})
    with pytest.raises(BadInput, match=r"the tokens to edit have shape \(3, 2\), but the site has shape \(3, 12\)"):
        subject.run(batch, edits={site: at_keys(batch.valid[:, :2], zero)})


@torch.no_grad()
def test_a_pass_that_stops_half_way():
    subject = tiny("gpt2")
    batch = subject.encode(EXAMPLES)
    whole = subject.run(batch, want=subject.blocks).parts
    after = []
    watched = {subject.blocks[2]: lambda own: after.append(own) or own}
    assert torch.equal(run_until(subject, batch, subject.blocks[1], edits=watched), whole[subject.blocks[1]])
    assert not after


@torch.no_grad()
def test_batches_taken_apart():
    subject = tiny("llama")
    batch = subject.encode(EXAMPLES)
    logits = subject.run(batch).logits
    taken = batch.take(torch.tensor([2, 0, 2]))
    assert taken.ids == ("c", "a", "c")
    assert taken.gold.flatten().tolist() == [1, 0, 1]
    assert torch.allclose(subject.run(taken).logits, logits[[2, 0, 2]], atol=1e-6)
    assert batch.repeat(2).ids == batch.ids * 2
    short = batch.take(torch.tensor([1]), ("b",), tokens=2, input_ids=2, attention_mask=2)
    assert short.valid.shape == (1, 2)
    assert torch.allclose(subject.run(short).logits[0], logits[1], atol=1e-5)
    assert batch.after(1).word[0, 0] == 1
    assert batch.at(torch.tensor([0, 1, 2])).word.flatten().tolist() == [0, 1, 2]
