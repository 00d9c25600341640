"""Gradient-weighted rollout against the formula written out, matrix by matrix."""

import numpy as np
import pytest
import torch

from heatcheck.explainers.gradient_rollout import explained_logit, gradient_rollout, weigh_by_gradient
from heatcheck.models import differentiate
from tiny_transformers import EXAMPLES, make

ALL = {family: make(family, sharp=8.0) for family in ("bert", "gpt2", "llama", "albert")}


def by_the_formula(subject, example, target):
    """R ← R + Ā R from the bottom up; the row of the read-out without the identity."""
    batch = subject.encode([example])
    slopes = differentiate(subject, batch, subject.sites, target)
    with torch.no_grad():
        run = subject.run(batch, want=subject.sites)
    tokens = batch.valid.shape[1]
    relevance = torch.eye(tokens)
    for site in subject.sites:
        weighted = (slopes[site] * run.parts[site]).clamp(min=0)[0].mean(0)
        relevance = relevance + weighted @ relevance
    row = run.row[0, 0]
    return (relevance - torch.eye(tokens))[row][batch.word[0] >= 0].numpy()


@pytest.mark.parametrize("family", ALL)
def test_the_formula_written_out(family):
    subject = ALL[family]
    found = gradient_rollout.explain(subject, EXAMPLES, 0)
    for scores, example in zip(found, EXAMPLES, strict=True):
        expected = by_the_formula(subject, example, lambda run: run.logits[:, 0].amax(-1))
        assert np.allclose(scores, expected, rtol=1e-4, atol=1e-7)
        of_probability = by_the_formula(subject, example, lambda run: run.logits[:, 0].softmax(-1).amax(-1))
        assert not np.allclose(scores, of_probability, rtol=0.05, atol=1e-7)
        assert (scores >= 0).all()
        assert scores.std() > 0


@pytest.mark.parametrize("family", ALL)
def test_in_the_last_layer_only_the_read_out_s_row_matters(family):
    subject = ALL[family]
    batch = subject.encode(EXAMPLES)
    slopes = differentiate(subject, batch, subject.sites, explained_logit)
    run, weighted = weigh_by_gradient(subject, batch)
    for place, row in enumerate(run.row[:, 0].tolist()):
        others = torch.arange(batch.valid.shape[1]) != row
        assert (slopes[subject.sites[-1]][place][:, others] == 0).all()
        assert (weighted[place, -1, others] == 0).all()
    longest = run.row[2, 0]
    assert (weighted[2, -1, longest] > 0).any()
    others = torch.arange(batch.valid.shape[1]) != longest
    assert (weighted[2, -2, others] > 0).any()  # below they do


def test_a_frozen_model_gives_the_same_and_no_parameter_gets_a_gradient():
    subject = make("bert", sharp=8.0)
    before = gradient_rollout.explain(subject, EXAMPLES, 0)
    assert all(parameter.grad is None for parameter in subject.parameters())
    for parameter in subject.parameters():
        parameter.requires_grad_(False)
    for a, b in zip(before, gradient_rollout.explain(subject, EXAMPLES, 0), strict=True):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-8)


def test_a_lone_output_speaks_for_both_labels():
    subject = make("bert", labels=1, sharp=8.0, seed=2)
    (bias,) = (p for name, p in subject.network.named_parameters() if name == "classifier.bias")
    targets = {5.0: lambda run: run.logits[:, 0, 1], -5.0: lambda run: -run.logits[:, 0, 1]}
    for shift, target in targets.items():
        bias.data.fill_(shift)
        assert (subject.run(subject.encode(EXAMPLES)).logits[:, 0].argmax(-1) == (shift > 0)).all()
        for scores, example in zip(gradient_rollout.explain(subject, EXAMPLES, 0), EXAMPLES, strict=True):
            expected = by_the_formula(subject, example, target)
            assert np.allclose(scores, expected, rtol=1e-4, atol=1e-7)
            assert scores.max() > 0
