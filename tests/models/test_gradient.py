"""Gradients at sites, against finite differences and closed forms."""

import pytest
import torch

from heatcheck.models import Run, Site, Tap, differentiate, response
from subjects import SUBJECTS

ATTENTION, EMBEDDING = Site("attention"), Site("embedding")


def first_logit(run):
    return run.logits[:, 0, -1]


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_gradient_of_a_linear_read_out_is_the_relevance(name):
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    found = differentiate(subject, batch, [ATTENTION, EMBEDDING], first_logit)
    assert found[EMBEDDING].shape[:2] == batch.valid.shape
    relevance = response(subject, batch).relevance
    if relevance is not None:
        weights_gradient = found[ATTENTION][:, 0, 0]
        assert torch.allclose(weights_gradient, relevance[:, 0, :, -1], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["lstm", "cnn", "average", "pair merge", "seq2seq", "label-wise"])
def test_embedding_gradients_against_finite_differences(name):
    subject, examples = SUBJECTS[name]
    subject = subject.double()
    try:
        batch = subject.encode(examples[:2])
        gradient = differentiate(subject, batch, [EMBEDDING], first_logit)[EMBEDDING]
        own = subject.run(batch, want=[EMBEDDING]).parts[EMBEDDING]
        step = torch.zeros_like(own)
        step[:, 1, 2] = 1e-5
        change = first_logit(subject.run(batch, edits={EMBEDDING: own + step})) - first_logit(
            subject.run(batch, edits={EMBEDDING: own - step})
        )
        assert gradient[:, 1, 2].abs().max() > 1e-4
        assert torch.allclose(gradient[:, 1, 2], change / 2e-5, atol=1e-6)
    finally:
        subject.float()


def test_detached_attention_is_an_edit():
    """Jain & Wallace's gradient: weights imposed as constants, so nothing flows through the scores."""
    subject, examples = SUBJECTS["average"]
    batch = subject.encode(examples)
    whole = differentiate(subject, batch, [EMBEDDING], first_logit)[EMBEDDING]
    held = differentiate(subject, batch, [EMBEDDING], first_logit, edits={ATTENTION: torch.Tensor.detach})[EMBEDDING]
    assert not torch.allclose(whole, held)
    # By hand: the weight times the gradient of the token's own relevance.
    quick = response(subject, batch)
    embedded = subject.run(batch, want=[EMBEDDING]).parts[EMBEDDING].requires_grad_()
    states = subject.encoder(embedded, batch.valid)
    (by_hand,) = torch.autograd.grad((quick.attention[:, 0, 0] * (states @ subject.output.weight[0])).sum(), embedded)
    assert torch.allclose(held, by_hand, atol=1e-6)


def test_a_subject_that_hands_out_copies():
    """A step-wise decoder captures copies, which are not in the graph: values are imposed as leaves instead."""
    subject, examples = SUBJECTS["lstm"]

    class Copies:
        id, sites, recipe = "copies", subject.sites, None
        encode = staticmethod(subject.encode)

        def run(self, batch, *, edits=None, want=()):
            tap = Tap({}, ())
            run = subject.run(batch, edits=edits or {}, want=want)
            return Run(
                run.logits,
                run.row,
                {s: part.detach().clone().requires_grad_() for s, part in run.parts.items()} or tap.parts,
            )

    batch = subject.encode(examples)
    copied = differentiate(Copies(), batch, [ATTENTION], first_logit)
    assert torch.allclose(copied[ATTENTION], differentiate(subject, batch, [ATTENTION], first_logit)[ATTENTION])


def test_no_dependence_is_zero():
    subject, examples = SUBJECTS["bystander_right@planted_keyword"]
    found = differentiate(subject, subject.encode(examples), [Site("score")], first_logit)
    assert found[Site("score")].abs().max() < 1e-6
    constant = differentiate(subject, subject.encode(examples), [Site("score")], lambda run: run.logits[:, 0, 0] * 0)
    assert (constant[Site("score")] == 0).all()
