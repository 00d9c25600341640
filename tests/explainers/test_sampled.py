"""Shapley sampling and LIME: games with known answers, and the same alone, in a batch, in any order."""

import sys
from itertools import permutations

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import MissingPackage
from heatcheck.explainers import sampled
from heatcheck.explainers.sampled import lime, lime_weights, shapley_sampling, shapley_values
from heatcheck.explainers.word_removal import mask
from heatcheck.training import predict
from subjects import SUBJECTS
from tiny_transformers import EXAMPLES, WORDS, tiny

BOTH = (shapley_sampling, lime)
SHARES = torch.tensor([0.3, -0.2, 0.05, 0.0, 0.1], dtype=torch.double)


def additive(presence):
    return 0.4 + presence.double() @ SHARES


def together(presence):
    """Worth something only with the first two words, or with the third."""
    a, b, c = presence.double().T
    return a * b + 0.5 * c * (1 - a)


def test_shapley_values_of_an_additive_game_are_its_terms():
    torch.manual_seed(0)
    assert np.allclose(shapley_values(additive, 5), SHARES, atol=1e-6)


def test_shapley_values_near_those_over_all_orders(monkeypatch):
    monkeypatch.setattr(sampled, "ORDERS", 3000)
    monkeypatch.setattr(sampled, "READ", 9000)
    exact = np.zeros(3)
    for order in permutations(range(3)):
        present = torch.zeros(1, 3)
        for word in order:
            before = float(together(present))
            present[0, word] = 1
            exact[word] += (float(together(present)) - before) / 6
    torch.manual_seed(0)
    found = shapley_values(together, 3)
    assert np.allclose(found, exact, atol=0.03)
    assert np.isclose(found.sum(), float(together(torch.ones(1, 3)) - together(torch.zeros(1, 3))), atol=1e-5)


def test_lime_is_a_weighted_ridge_regression_on_its_samples():
    seen, values = [], []

    def worth(presence):
        seen.append(presence.clone())
        values.append(additive(presence))
        return values[-1]

    torch.manual_seed(0)
    found = lime_weights(worth, 5)
    x, y = torch.cat(seen).double().numpy(), torch.cat(values).numpy()
    cosine = x.sum(1) / np.maximum(np.linalg.norm(x, axis=1) * np.sqrt(5), 1e-8)
    weight = np.exp(-((1 - cosine) ** 2) / (2 * 0.25**2))
    x, y = x - np.average(x, axis=0, weights=weight), y - np.average(y, weights=weight)
    expected = np.linalg.solve(x.T @ (weight[:, None] * x) + np.eye(5), x.T @ (weight * y))
    assert len(y) == 100
    assert np.allclose(found, expected, atol=1e-5)
    assert np.allclose(found, SHARES, atol=0.05)


@pytest.mark.parametrize("players", [5, 40, 150])
def test_a_long_text_costs_no_more_than_it_says(players):
    read = []

    def worth(presence):
        read.append(len(presence))
        return presence.double().mean(1)

    shapley_values(worth, players)
    orders = min(max(200 // players, 5), 25)
    assert sum(read) <= orders * players + 2
    read.clear()
    lime_weights(worth, players)
    assert sum(read) == min(max(5 * players, 100), 200)


@pytest.mark.parametrize("name", ["lstm", "average three labels", "pair merge", "reader@planted_contrast"])
def test_any_subject_alone_as_in_a_batch(name, monkeypatch):
    monkeypatch.setattr(sampled, "ORDERS", 5)
    subject, examples = SUBJECTS[name][0], SUBJECTS[name][1][:4]
    for explainer in BOTH:
        found = explainer.explain(subject, examples, 3)
        turned = explainer.explain(subject, examples[2::-1], 3)[::-1]
        alone = explainer.explain(subject, examples[3:], 3)
        for row, other in zip(found, [*turned, *alone], strict=True):
            assert np.allclose(row, other, atol=2e-6), explainer.name
        assert np.concatenate(found).std() > 0


@pytest.mark.parametrize("name", ["lstm", "pair merge"])
def test_shapley_values_sum_to_what_all_words_change(name):
    subject, examples = SUBJECTS[name]
    for example, scores in zip(examples, shapley_sampling.explain(subject, examples, 0), strict=True):
        nothing = mask(example, range(len(example.words)))
        whole, rest = np.exp(predict(subject, [example, nothing])[:, 0])
        label = whole.argmax()
        assert np.isclose(scores.sum(), whole[label] - rest[label], atol=1e-5)


def test_another_seed_draws_other_samples_and_nobody_else_s():
    subject = tiny("llama")
    state = torch.random.get_rng_state()
    for explainer in BOTH:
        first, again, other = (explainer.explain(subject, EXAMPLES[2:], seed)[0] for seed in (0, 0, 1))
        assert (first == again).all()
        assert np.abs(first - other).max() > 1e-6
    assert (torch.random.get_rng_state() == state).all()


def test_a_word_without_a_token_does_not_play(monkeypatch):
    monkeypatch.setattr(sampled, "ORDERS", 5)
    monkeypatch.setattr(sampled, "READ", 100)
    subject = tiny("bert")
    example = Example("long", " ".join((WORDS * 5)[:70]))
    for explainer in BOTH:
        (found,) = explainer.explain(subject, [example], 0)
        assert len(found) == 70
        assert np.isfinite(found[:62]).all()
        assert np.isnan(found[62:]).all()


@pytest.mark.parametrize("explainer", BOTH, ids=lambda e: e.name)
def test_without_captum_a_sentence(explainer, monkeypatch):
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(MissingPackage, match="captum"):
        explainer.explain(tiny("bert"), EXAMPLES, 0)
