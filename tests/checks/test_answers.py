"""Answers that are kept: each distinct text is read once in an audit, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.answers import ENTRY, Answers
from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.explainers import explain_one
from heatcheck.explainers.word_removal import delete, mask
from heatcheck.training import predict
from tiny_transformers import EXAMPLES, tiny


class Counting:
    """Reads as the model does, and notes what it was given."""

    def __init__(self, subject):
        self.subject, self.read = subject, []

    def __call__(self, texts):
        self.read += texts
        return predict(self.subject, texts)[:, 0]


def test_answers_are_the_models_own_in_the_order_asked():
    subject = tiny("bert")
    texts = [*EXAMPLES, mask(EXAMPLES[0], {1}), delete(EXAMPLES[0], {1}), EXAMPLES[0]]
    found = Answers(subject)(texts)
    assert found == pytest.approx(predict(subject, texts)[:, 0], abs=1e-6)
    assert (found[0] == found[-1]).all()
    assert np.ptp(found[[0, 3, 4], 0]) > 1e-3, "these are three different texts"


def test_a_text_is_read_once():
    counting = Counting(tiny("bert"))
    answers = Answers(counting.subject, counting)
    first = answers([EXAMPLES[0], EXAMPLES[1], EXAMPLES[0]])
    assert [text.id for text in counting.read] == ["a", "b"]
    assert (answers(EXAMPLES[:2]) == first[:2]).all()
    assert len(counting.read) == 2
    answers([mask(EXAMPLES[0], {1}), mask(EXAMPLES[0], {2})])
    answers([replace(EXAMPLES[0], text_pair="so dull"), replace(EXAMPLES[0], text_pair="so fine")])
    assert len(counting.read) == len(answers) == 6, "a hidden word, or a second text, makes another text"


def test_nothing_to_read():
    with pytest.raises(BadInput, match="no examples"):
        Answers(tiny("bert"))([])


def test_the_oldest_are_forgotten_first():
    counting = Counting(tiny("bert"))
    texts = [Example(name, "a good film") for name in "abc"]
    answers = Answers(counting.subject, counting, kept=2 * (ENTRY + len("a good film")))
    whole = answers(texts)
    assert len(answers) == 2
    assert (answers(texts[1:]) == whole[1:]).all()
    assert len(counting.read) == 3
    assert answers(texts[:1]) == pytest.approx(whole[:1], abs=1e-6)
    assert len(counting.read) == 4


def test_two_checks_that_remove_the_same_words_read_a_text_once():
    subject = tiny("bert")
    case = Case(subject, EXAMPLES, labels=subject.labels)
    case.answers.read = counting = Counting(subject)
    settings = {"explainer": "attention", "rivals": ("gradient",), "operators": ("deletion",), "draws": 50}
    alone = {}
    for name in ("erasure", "eraser"):
        check = CHECKS[name]
        fresh = Case(subject, EXAMPLES, labels=subject.labels)
        fresh.answers.read = Counting(subject)
        alone[name] = check.measure(fresh, replace(check.settings(), **settings)), len(fresh.answers.read.read)
        found = check.measure(case, replace(check.settings(), **settings))
        for key, values in alone[name][0].per_example.items():
            assert found.per_example[key] == pytest.approx(values, abs=1e-6, nan_ok=True)
    distinct = {(text.id, text.text, text.masked) for text in counting.read}
    assert len(distinct) == len(counting.read)
    assert len(counting.read) < sum(read for _, read in alone.values())


def test_explainers_that_remove_words_ask_for_known_answers_first():
    subject = tiny("bert")
    case = Case(subject, EXAMPLES, labels=subject.labels)
    case.answers.read = counting = Counting(subject)
    for name in ("leave_one_out", "influence_left_out", "lime", "shapley_sampling"):
        alone = explain_one(subject, EXAMPLES, name, seed=case.seed, scale=case.logit_scale)
        before = len(counting.read)
        found = case.scores(name)
        assert found.values == pytest.approx(alone.values, abs=1e-5)
        assert (len(counting.read) > before) == (name != "influence_left_out"), "that one reads what the first did"
    assert len({(text.id, text.text, text.masked) for text in counting.read}) == len(counting.read)
