"""Attention of all heads, counted by how much each matters on the other half of the examples."""

import numpy as np
import pytest
import torch

from heatcheck.checks import Case
from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one
from heatcheck.explainers.attention_that_matters import attention_that_matters, head_shares
from heatcheck.heads.halves import in_halves
from heatcheck.models import load
from tiny_transformers import EXAMPLES, OTHERS, make, tiny

TEXTS = (*EXAMPLES, *OTHERS[:5])


def by_hand(subject, example, shares):
    """Each text alone; only words have a score here, one token each."""
    batch = subject.encode([example])
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
    rows = torch.stack([run.parts[site][0, :, run.row[0, 0]] for site in subject.sites]).double()
    return torch.einsum("lh,lhk->k", shares, rows)[batch.scored[0]].numpy()


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_each_half_is_weighed_by_the_other_in_any_order(family):
    subject = tiny(family)
    second = in_halves(TEXTS, "this", seed=0)
    assert second.sum() == 4
    found = attention_that_matters.explain(subject, TEXTS, 0)
    for example, half, scores in zip(TEXTS, second, found, strict=True):
        others = [other for other, of in zip(TEXTS, second, strict=True) if of != half]
        np.testing.assert_allclose(scores, by_hand(subject, example, head_shares(subject, others)), atol=1e-6)
    turned = attention_that_matters.explain(subject, TEXTS[::-1], 0)[::-1]
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(found, turned, strict=True))


def test_a_head_that_the_answer_does_not_read_counts_nothing():
    subject = make("bert")
    with torch.no_grad():  # head 2 of the second layer writes nothing
        subject.network.bert.encoder.layer[1].attention.output.dense.weight[:, 16:24] = 0
    shares = head_shares(subject, OTHERS)
    assert shares.sum() == pytest.approx(1)
    assert shares[1, 2] == 0
    assert (shares > 0).sum() == 11
    labelled = [example.but(label=1 - example.label) for example in OTHERS]
    torch.testing.assert_close(head_shares(subject, labelled), shares)


def test_other_processes_do_not_get_a_part_of_the_examples():
    """In a part of the examples, heads would have other shares."""
    case = Case(tiny("bert"), TEXTS, labels=("0", "1"))
    shared = []

    def share(work, examples, /, **facts):
        shared.append(facts.get("name"))
        return work(case.subject, examples, **facts)

    case.share = share
    found = case.scores("attention_that_matters").values
    case.scores("rollout")
    assert [name for name in shared if name] == ["rollout"]
    np.testing.assert_allclose(found, explain_one(case.subject, TEXTS, "attention_that_matters").values, atol=1e-9)


def test_one_text_has_no_other_half_and_other_models_have_no_heads():
    with pytest.raises(NotSupported, match="there is only one"):
        attention_that_matters.explain(tiny("bert"), EXAMPLES[:1], 0)
    with pytest.raises(NotSupported, match="needs every layer of a transformer"):
        attention_that_matters.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)
