"""The probability that explainers read: exact where float32 has no digits left, and of whatever scale is asked for."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from scipy.special import softmax

from heatcheck.data import Example
from heatcheck.explainers import EXPLAINERS, explain, explain_one
from heatcheck.explainers.probability import label_log_odds, label_probability, log_odds, probability_lost
from heatcheck.models import Run
from subjects import SUBJECTS
from tiny_transformers import make

TEXT = "the plot is a bit thin but the acting is very good indeed"
OF_TRANSFORMERS = ("atman", "attattr", "gradient_rollout")
OF_PROBABILITY = [name for name, explainer in EXPLAINERS.items() if explainer.scaled]


def hotter(factor, name="lstm"):
    twin = deepcopy(SUBJECTS[name][0])
    with torch.no_grad():
        twin.output.weight.mul_(factor)
        twin.output.bias.mul_(factor)
    return twin


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_log_odds_are_those_of_the_softmax(scale):
    logits = np.random.default_rng(0).normal(size=(20, 4), scale=3)
    label = np.arange(20) % 4
    p = softmax(scale * logits, axis=-1)[np.arange(20), label]
    np.testing.assert_allclose(log_odds(logits, label, scale), np.log(p / (1 - p)), rtol=1e-9)
    run = Run(torch.from_numpy(logits)[:, None], torch.zeros(20, 1, dtype=torch.long), {})
    np.testing.assert_allclose(label_probability(run, torch.from_numpy(label), scale), p, rtol=1e-9)
    predicted = torch.from_numpy(logits.argmax(1))
    torch.testing.assert_close(label_log_odds(run, None, scale), label_log_odds(run, predicted, scale))


def test_what_is_lost_of_a_probability_that_is_all_but_one():
    """σ(60) − σ(m) is e^−m − e^−60 but for squares of these."""
    without = np.array([59.0, 61.0, 2.0])
    exact = [np.exp(-59.0) - np.exp(-60.0), np.exp(-61.0) - np.exp(-60.0), 1 / (1 + np.exp(2.0))]
    np.testing.assert_allclose(probability_lost(np.full(3, 60.0), without), exact, rtol=1e-9)
    odds = np.random.default_rng(0).normal(size=(2, 50), scale=2)
    p, q = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(probability_lost(*odds), p - q, atol=1e-12)


@pytest.mark.parametrize("name", ["gradient", "gradient_x_input", "leave_one_out", "influence"])
def test_a_saturated_model_ranks_words_by_what_they_do(name):
    """The probability is 1 in float64 too, and its words are still told apart."""
    example = Example("e", TEXT)
    plain, sure = (explain_one(hotter(factor), [example], name).values[0] for factor in (1, 300))
    assert len(np.unique(sure)) == len(sure)
    assert np.abs(sure).max() < 1e-20
    if name != "leave_one_out":  # of two words on either side of the decision the surer model finds another larger
        np.testing.assert_array_equal(np.argsort(np.abs(sure)), np.argsort(np.abs(plain)))
    else:
        for side in (plain > 0, plain < 0):
            np.testing.assert_array_equal(np.argsort(sure[side]), np.argsort(plain[side]))


@pytest.mark.parametrize("name", [n for n in OF_PROBABILITY if n not in OF_TRANSFORMERS])
def test_a_scale_makes_up_for_a_temperature(name):
    """Logits 8 times as large, times ⅛."""
    example = Example("e", TEXT)
    own = explain_one(hotter(16), [example], name).values
    twin = explain_one(hotter(128), [example], name, scale=1 / 8).values
    np.testing.assert_allclose(twin, own, rtol=1e-5, atol=1e-9 * np.abs(own).max())
    other = explain_one(hotter(128), [example], name).values
    assert not np.allclose(other, own, rtol=0.1)


@pytest.mark.parametrize("name", ["atman", "attattr"])
def test_a_scale_makes_up_for_a_transformer_s_temperature(name):
    example = Example("e", "the film was not very good")
    plain, sure = make("bert", sharp=6.0), make("bert", sharp=6.0)
    with torch.no_grad():
        for parameter in sure.network.classifier.parameters():
            parameter.mul_(8)
    own = explain_one(plain, [example], name).values
    np.testing.assert_allclose(explain_one(sure, [example], name, scale=1 / 8).values, own, rtol=1e-4, atol=1e-7)
    assert not np.allclose(explain_one(sure, [example], name).values, own, rtol=0.1)


def test_explaining_one_text_shows_the_models_own_probability():
    subject = hotter(4)
    found = explain(subject, "good bad film", by=["leave_one_out"])["leave_one_out"]
    p = [
        softmax(subject.run(subject.encode([Example("e", text)])).logits.detach().double().numpy()[0, 0])
        for text in ("good bad film", "bad film")
    ]
    assert found[0][1] == pytest.approx(p[0].max() - p[1][p[0].argmax()], abs=1e-6)
