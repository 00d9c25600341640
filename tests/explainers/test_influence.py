"""The gate on a word: against finite differences, and with the sign of the released code."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.explainers.influence import token_influence
from heatcheck.models import Site
from subjects import SINGLE, SUBJECTS

EMBEDDING = Site("embedding")


def loss(subject, batch, token, gate, labels):
    """Of each example, with the gate on one token elsewhere than at 1."""

    def turned(embedded):
        factor = torch.ones(embedded.shape[1], 1)
        factor[token] = gate
        return embedded * factor

    logits = subject.run(batch, edits={EMBEDDING: turned}).logits[:, 0].double()
    return -logits.log_softmax(-1).gather(1, labels[:, None])[:, 0]


@pytest.mark.parametrize("name", ["lstm", "average three labels", "gru", "pair merge"])
def test_equal_to_finite_differences(name):
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    found = token_influence(subject, batch)
    with torch.no_grad():
        for token in range(found.shape[1]):
            low, high = (loss(subject, batch, token, 1 + h, batch.gold[:, 0]) for h in (-0.01, 0.01))
            torch.testing.assert_close(found[:, token], (low - high) / 0.02, atol=2e-4, rtol=1e-2)
    assert found.abs().max() > 1e-3


def test_a_word_whose_gate_lowers_the_loss_has_a_positive_influence():
    subject, examples = SUBJECTS["lstm"]
    batch = subject.encode(examples)
    found = token_influence(subject, batch)
    best = int(found[0].argmax())
    with torch.no_grad():
        assert (
            loss(subject, batch, best, 1.05, batch.gold[:, 0])[0] < loss(subject, batch, best, 1.0, batch.gold[:, 0])[0]
        )
    torch.testing.assert_close(token_influence(subject, batch, as_published=True), -found)


def test_without_a_label_it_is_about_the_predicted_one():
    subject, _ = SUBJECTS["lstm"]
    unknown = [replace(example, label=None) for example in SINGLE]
    predicted = subject.run(subject.encode(unknown)).logits[:, 0].argmax(-1).tolist()
    labelled = [replace(example, label=label) for example, label in zip(SINGLE, predicted, strict=True)]
    other = [replace(example, label=1 - label) for example, label in zip(SINGLE, predicted, strict=True)]
    found = explain_one(subject, unknown, "influence")
    np.testing.assert_allclose(found.values, explain_one(subject, labelled, "influence").values)
    assert not np.allclose(found.values, explain_one(subject, other, "influence").values)
    assert EXPLAINERS["influence"].signed
