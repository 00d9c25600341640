"""Shapley sampling and LIME: games with known answers, and the same alone, in a batch, in any order."""

from itertools import permutations

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import Lime, ShapleyValueSampling
from captum.attr._core.lime import get_exp_kernel_similarity_function
from sklearn.linear_model import Ridge

from heatcheck.data import Example
from heatcheck.explainers import sampled
from heatcheck.explainers.sampled import (
    grown_texts,
    lime,
    lime_weights,
    random_texts,
    shapley_sampling,
    shapley_values,
)
from heatcheck.explainers.scores import Aim
from heatcheck.explainers.word_removal import mask
from heatcheck.training import predict
from subjects import SUBJECTS
from tiny_transformers import EXAMPLES, WORDS, tiny

BOTH = (shapley_sampling, lime)
SHARES = np.array([0.3, -0.2, 0.05, 0.0, 0.1])


def additive(presence):
    return 0.4 + presence @ SHARES


def together(presence):
    """Worth something only with the first two words, or with the third."""
    a, b, c = presence.astype(float).T
    return a * b + 0.5 * c * (1 - a)


def draws(method, players, seed=0):
    return method(players, torch.Generator().manual_seed(seed))


def test_shapley_values_of_an_additive_game_are_its_terms():
    present = draws(grown_texts, 5)
    assert np.allclose(shapley_values(present, additive(present)), SHARES, atol=1e-12)


def test_shapley_values_near_those_over_all_orders(monkeypatch):
    monkeypatch.setattr(sampled, "ORDERS", 3000)
    monkeypatch.setattr(sampled, "READ", 9000)
    exact = np.zeros(3)
    for order in permutations(range(3)):
        present = np.zeros((1, 3))
        for word in order:
            before = together(present)[0]
            present[0, word] = 1
            exact[word] += (together(present)[0] - before) / 6
    present = draws(grown_texts, 3)
    found = shapley_values(present, together(present))
    assert np.allclose(found, exact, atol=0.03)
    assert np.isclose(found.sum(), (together(np.ones((1, 3))) - together(np.zeros((1, 3))))[0])


def test_lime_is_a_weighted_ridge_regression_on_its_samples():
    present = draws(random_texts, 5)
    assert 0.4 < present.mean() < 0.6
    x, y = present.astype(float), additive(present)
    cosine = x.sum(1) / np.maximum(np.linalg.norm(x, axis=1) * np.sqrt(5), 1e-8)
    weight = np.exp(-((1 - cosine) ** 2) / (2 * 0.25**2))
    found = lime_weights(present, y)
    by_sklearn = Ridge(alpha=1.0).fit(x, y, sample_weight=weight).coef_
    assert np.allclose(found, by_sklearn, atol=1e-9)
    assert np.allclose(found, SHARES, atol=0.05)


@pytest.mark.parametrize("players", [1, 2, 6, 30, 60])
def test_captum_gives_the_same(players):
    rng = np.random.default_rng(players)
    shares, pairs = rng.normal(size=players), rng.normal(size=(players, players)) / players

    def worth(present):
        rows = np.asarray(present, dtype=float)
        return 1 / (1 + np.exp(-(rows @ shares) - ((rows @ pairs) * rows).sum(1)))

    def for_captum(present):
        return torch.from_numpy(worth(present.numpy()))

    torch.manual_seed(7)
    orders = min(max(200 // players, 5), 25)
    theirs = ShapleyValueSampling(for_captum).attribute(torch.ones(1, players), n_samples=orders)
    present = draws(grown_texts, players, seed=7)
    assert len(present) == orders * (players + 1)
    assert np.allclose(shapley_values(present, worth(present)), theirs[0], atol=1e-6)

    torch.manual_seed(7)
    samples = min(max(5 * players, 100), 200)
    similar = get_exp_kernel_similarity_function("cosine", kernel_width=0.25)
    by_captum = Lime(for_captum, interpretable_model=SkLearnRidge(alpha=1.0), similarity_func=similar)
    theirs = by_captum.attribute(torch.ones(1, players), n_samples=samples)
    present = draws(random_texts, players, seed=7)
    assert len(present) == samples
    assert np.allclose(lime_weights(present, worth(present)), theirs[0], atol=1e-5)


def test_each_text_is_read_once():
    """Of many examples together, and no text of a example twice: all orders begin and end with the same two."""
    read = []

    def answer(texts):
        read.append([(text.id, text.masked) for text in texts])
        return np.log(np.full((len(texts), 2), 0.5))

    examples = [Example("a", "a dull film"), Example("b", "good")]
    shapley_sampling.aimed(SUBJECTS["lstm"][0], examples, 0, Aim(read=answer))
    assert len(read) == 2, "the examples themselves, then all the rest"
    assert len(read[1]) == len(set(read[1])) <= 8 + 2


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
