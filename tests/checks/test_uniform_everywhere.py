"""Uniform weights at every attention site: against masks by hand, in the check, and in recipes of retrained models."""

from importlib import import_module

import numpy as np
import pytest
import torch

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.necessity import NecessitySettings, plan
from heatcheck.data import load_task
from heatcheck.errors import BadInput
from heatcheck.models import KNOWN_ANSWERS, Recipe, uniform_everywhere
from heatcheck.training import UNIFORM_EVERYWHERE, describe, imposed, record
from subjects import HIERARCHICAL, SUBJECTS
from tiny_transformers import EXAMPLES, tiny

FEW = NecessitySettings(seeds=2, shuffles=2, draws=50)


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert"])
def test_a_transformer_averages_what_each_token_may_see_in_every_layer(family):
    subject = tiny(family)
    found = record(subject, EXAMPLES, impose=UNIFORM_EVERYWHERE)
    for row, example in enumerate(EXAMPLES):  # alone, so that there is no padding
        batch = subject.encode([example])
        length = batch.valid.shape[1]
        seen = torch.ones(length, length).tril() if family == "gpt2" else torch.ones(length, length)
        even = (seen / seen.sum(1, keepdim=True)).expand(1, 4, -1, -1)
        with torch.no_grad():
            wanted = subject.run(batch, edits=dict.fromkeys(subject.sites, even)).logits
            last = subject.run(batch, edits={subject.sites[-1]: even}).logits
        np.testing.assert_allclose(found.log_probabilities[row], wanted[0].log_softmax(-1), atol=1e-5)
        if family == "bert":
            assert (wanted - last).abs().max() > 1e-4, "or one layer would have been enough"


def test_a_hierarchical_model_loses_both_of_its_attentions():
    subject, examples = HIERARCHICAL["han gru"]
    batch = subject.encode(examples)
    edits = uniform_everywhere(subject, batch)
    assert set(edits) == set(subject.sites)
    weights = subject.run(batch, edits=edits, want=subject.sites).parts
    for site in subject.sites:
        for own, allowed in zip(weights[site][:, 0], subject.allowed(site, batch), strict=True):
            np.testing.assert_allclose(own, allowed / allowed.sum(-1, keepdim=True).clamp(min=1), atol=1e-6)


def test_with_one_site_everywhere_is_there():
    subject, examples = SUBJECTS["lstm"]
    batch = subject.encode(examples)
    everywhere, uniform = (imposed(subject, batch, facts) for facts in (UNIFORM_EVERYWHERE, {"weights": "uniform"}))
    assert everywhere.keys() == uniform.keys()
    assert torch.equal(*(subject.run(batch, edits=edits).logits for edits in (everywhere, uniform)))


@pytest.mark.parametrize("facts", [{"weights": "last", "sites": "all"}, {"weights": "uniform", "sites": "first"}])
def test_other_kinds_and_other_sites_are_refused(facts):
    subject, examples = SUBJECTS["lstm"]
    with pytest.raises(BadInput, match="Only uniform weights can, with sites='all'"):
        imposed(subject, subject.encode(examples), facts)


def test_the_check_asks_it_of_models_with_several_sites_only():
    subject = tiny("bert")
    case = Case(subject, EXAMPLES, labels=subject.labels)
    found = CHECKS["necessity"].measure(case, FEW)
    free = record(subject, EXAMPLES, impose=UNIFORM_EVERYWHERE)
    accuracy = found.find("accuracy", fit="swapped", weights="uniform everywhere")
    assert accuracy.value == np.mean(free.predicted == case.gold)
    most = found.find("most_change", weights="uniform everywhere")
    assert most.value == found.per_example["change:uniform everywhere"].max()
    assert most.value != found.find("most_change", weights="uniform").value
    assert found.facts["sites"] == 3
    subject, examples = SUBJECTS["lstm"]
    single = CHECKS["necessity"].measure(Case(subject, examples, labels=subject.labels), FEW)
    assert not [m for m in single.measurements if "everywhere" in str(m.by)]


def test_the_first_layer_of_two_does_the_lookup():
    """The heatmap's layer alone loses nothing, both together everything above the prior."""
    subject = KNOWN_ANSWERS["two_layers"]("planted_lookup")
    examples = load_task("planted_lookup")["test"].examples[:200]
    found = CHECKS["necessity"].measure(Case(subject, examples, labels=subject.labels), FEW)
    assert found.find("N", against="swap").value == 0
    assert found.find("most_change", weights="uniform").value < 1e-6
    assert found.find("N", against="swap everywhere").value == pytest.approx(1, abs=0.1)
    assert found.find("N", against="closed form").value == pytest.approx(1, abs=0.1)


def test_a_maximum_has_no_interval():
    subject, examples = SUBJECTS["lstm"]
    most = CHECKS["necessity"].measure(Case(subject, examples, labels=subject.labels), FEW).find("most_change")
    assert (most.low, most.high) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("name", "imposes"),
    [
        ("lstm", [{"weights": "uniform"}, {"weights": "last"}]),
        ("han gru", [UNIFORM_EVERYWHERE]),  # one that reads its last sentence would still attend to words
    ],
)
def test_retrained_models_have_no_attention_left(name, imposes, monkeypatch):
    subject, examples = (SUBJECTS | HIERARCHICAL)[name]
    seeds = [Recipe("task@0", {"encoder": "gru"}, {}, seed, {"name": "likelihood"}) for seed in range(FEW.seeds)]
    monkeypatch.setattr(import_module("heatcheck.checks.necessity"), "seed_recipes", lambda *_: seeds)
    case = Case(subject, examples, labels=subject.labels)
    case.fits = "some"
    planned = [recipe.impose for recipe in plan(case, FEW) if recipe.impose is not None]
    assert planned == [kind for kind in imposes for _ in range(FEW.seeds)]


def test_a_fit_without_attention_anywhere_is_called_so():
    recipe = Recipe("sst@0", {"encoder": "lstm"}, {}, 3, {"name": "likelihood"}, UNIFORM_EVERYWHERE)
    assert describe(recipe) == "sst: lstm, uniform weights at every attention site, seed 3"
