"""A word's influence: the gate against finite differences, leaving out against deleting, and the released sign."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.explainers.influence import token_influence, word_left_out
from heatcheck.models import Site
from heatcheck.training import predict
from subjects import SINGLE, SUBJECTS, classifier

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


# By leaving out ------------------------------------------------------------------------------------------------------


def log_of_right(subject, example):
    """Brute force: of the whole text and of it without each word, every one encoded afresh."""
    shortened = [
        replace(example, text=" ".join(word for other, word in enumerate(example.words) if other != place))
        for place in range(len(example.words))
    ]
    logs = np.array([predict(subject, [one])[0, 0] for one in (example, *shortened)])
    label = logs[0].argmax() if example.label is None else example.label
    return logs[0, label], logs[1:, label]


@pytest.mark.parametrize("name", ["lstm", "gru", "average three labels", "pair merge", "own module"])
def test_equal_to_deleting_each_word(name):
    subject, examples = SUBJECTS["lstm" if name == "own module" else name]
    asked = Unhurried(subject) if name == "own module" else subject
    found, lowered = word_left_out(asked, examples), []
    for example, scores in zip(examples, found, strict=True):
        if len(example.words) == 1:
            assert scores == "one word only: nothing is left without it"
            continue
        whole, without = log_of_right(subject, example)
        np.testing.assert_allclose(scores, -without + whole, atol=2e-5)  # loss without the word, less loss with it
        lowered += [*scores]
    assert max(lowered) > 1e-3
    turned = word_left_out(asked, examples, as_published=True)
    for one, other in zip(found, turned, strict=True):
        assert one == other if isinstance(one, str) else np.array_equal(one, -other)


class Unhurried:
    """A subject without its short cut, as one from elsewhere."""

    def __init__(self, subject):
        self.subject = subject

    def __getattr__(self, name):
        if name == "without_each":
            raise AttributeError(name)
        return getattr(self.subject, name)


def test_left_out_without_a_label_is_about_the_predicted_one():
    subject, _ = SUBJECTS["lstm"]
    unknown = [replace(example, label=None) for example in SINGLE if len(example.words) > 1]
    found = explain_one(subject, unknown, "influence_left_out")
    for row, example in enumerate(unknown):
        whole, without = log_of_right(subject, example)
        np.testing.assert_allclose(found.values[row, : len(example.words)], whole - without, atol=2e-5)
    assert EXPLAINERS["influence_left_out"].signed


@pytest.mark.parametrize("name", ["influence", "influence_left_out"])
def test_a_text_without_a_label_changes_nothing_for_those_that_have_one(name):
    subject = classifier(SINGLE)
    right = int(subject.run(subject.encode(SINGLE[:1])).logits[0, 0].argmax())
    wrong = Example("wrong", SINGLE[0].text, label=1 - right)
    alone = explain_one(subject, [wrong], name).values[0]
    predicted = explain_one(subject, [replace(wrong, label=None)], name).values[0]
    assert np.abs(alone - predicted).max() > 1e-4, "another label is asked about"
    none = replace(SINGLE[1], id="none", label=None)
    together = explain_one(subject, [none, wrong], name)
    assert together.values[1][: len(alone)] == pytest.approx(alone, abs=1e-5)
    assert together.ids == ("none", "wrong")
