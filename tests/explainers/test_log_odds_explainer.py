"""The log-odds of a bag of words as scores: the table's own numbers, for the label the model predicts."""

import numpy as np
import pytest
import torch

from heatcheck import explain
from heatcheck.data import Example, load_task
from heatcheck.data.planted import NEGATIVE, POSITIVE
from heatcheck.errors import NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.models import load
from heatcheck.training import predict, train
from subjects import SETS, SINGLE, THREE, classifier


def with_table(examples, labels, **settings):
    """An untrained classifier with known log-odds: of word n for label k, n − 10 k; nothing for 'a' and 'the'."""
    subject = classifier(examples, labels, **settings)
    words, columns = torch.arange(len(subject.vocabulary)), torch.arange(len(labels))
    subject.log_odds = words[:, None] - 10.0 * columns
    for word in ("a", "the", *subject.vocabulary.tokens[:4]):
        subject.log_odds[subject.vocabulary.tokens.index(word)] = torch.nan
    return subject


@pytest.mark.parametrize(("examples", "labels"), [(SINGLE, ("no", "yes")), (THREE, ("a", "b", "c"))])
def test_the_table_s_numbers_for_the_predicted_label(examples, labels):
    subject = with_table(examples, labels)
    found = explain_one(subject, examples, "log_odds")
    predicted = predict(subject, examples)[:, 0].argmax(-1)
    for row, example in enumerate(examples):
        numbers, _ = subject.vocabulary.look_up(example.text)
        expected = [
            0 if w in ("a", "the") else n - 10 * predicted[row] for w, n in zip(example.words, numbers, strict=True)
        ]
        assert found.values[row, : len(expected)].tolist() == expected
        assert found.valid[row, : len(expected)].all()
        assert not found.valid[row, len(expected) :].any()
    alone = explain_one(subject, examples[:1], "log_odds")
    assert np.array_equal(alone.values[0], found.values[0, : len(examples[0].words)])


def test_the_first_of_several_decisions_is_yes_or_no_to_the_first_label():
    subject = with_table(SETS, ("a", "b", "c"), label_wise=True)
    found = explain_one(subject, SETS, "log_odds")
    for row, example in enumerate(SETS):
        says_yes = predict(subject, [example])[0, 0].argmax() == 1
        numbers, _ = subject.vocabulary.look_up(example.text)
        expected = [
            0 if w in ("a", "the") else n if says_yes else -n for w, n in zip(example.words, numbers, strict=True)
        ]
        assert found.values[row, : len(expected)].tolist() == expected


def test_the_planted_word_stands_out():
    """And says by its sign whether it speaks for what the model predicts."""
    fit = train("planted_keyword", encoder="average", hidden=8, embedding=8, epochs=2, progress=False)
    test = load_task("planted_keyword")["test"].examples[:200]
    found = explain_one(load(fit.folder), test, "log_odds")
    predicted = predict(fit.subject, test)[:, 0].argmax(-1)
    for row, example in enumerate(test):
        place = int(found.sizes()[row].argmax())
        assert example.marks["rationale"][place]
        assert (found.values[row, place] > 0) == (predicted[row] == example.label)


def test_in_the_public_function():
    subject = with_table(SINGLE, ("no", "yes"))
    scores = dict(explain(subject, "good zzz the", by="log_odds")["log_odds"])
    assert scores["good"] != 0
    assert scores["zzz"] == scores["the"] == 0
    assert EXPLAINERS["log_odds"].signed


def test_a_subject_without_a_table_says_so():
    for subject in (classifier(SINGLE), load("known:reader@planted_keyword")):
        with pytest.raises(NotSupported, match=r"carries no log-odds .* Train it again"):
            explain_one(subject, [Example("a", f"{POSITIVE[0]} {NEGATIVE[0]}", label=0)], "log_odds")
