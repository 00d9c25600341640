"""Stand-ins keep the answer and are never beaten: by the published search, by brute force, by anything exact."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import NotSupported
from heatcheck.explainers import explain_one, read_out, searched, stand_ins
from heatcheck.explainers.search import BETTER, JAIN2019, SearchSettings, _diversity, search
from heatcheck.models import Responds, response
from heatcheck.stats import jensen_shannon_nats
from subjects import SUBJECTS

FEW = replace(JAIN2019, steps=60), replace(BETTER, steps=60)  # the objective, not the patience, is tested here
RESPONDING = {name: found for name, found in SUBJECTS.items() if isinstance(found[0], Responds)}


def probabilities(subject, batch, weights, scale=1.0):
    """Of imposed weights, by the whole forward pass: nothing of the short cut is believed."""
    site = subject.sites[-1]
    run = subject.run(batch, want=[site])
    imposed = torch.from_numpy(weights[:, : run.logits.shape[1]]).to(run.logits.dtype)[:, None]
    edited = run.parts[site].clone()
    edited[:, :, : imposed.shape[2]] = imposed
    return (scale * subject.run(batch, edits={site: edited}).logits).softmax(-1), (scale * run.logits).softmax(-1)


@pytest.mark.parametrize("name", RESPONDING)
@pytest.mark.parametrize("epsilon", [0.05, 0.001])
def test_the_whole_forward_pass_gives_the_same_answer(name, epsilon, monkeypatch):
    monkeypatch.setattr(import_module("heatcheck.explainers.counterfactual"), "BETTER", FEW[1])
    subject, examples = RESPONDING[name]
    found = stand_ins(subject, examples[:5], epsilon=epsilon)
    batch = subject.encode(examples[:5])
    with torch.no_grad():
        moved, own = probabilities(subject, batch, found.weights[:, :, : batch.valid.shape[1]])
    change = ((moved - own).abs().sum(-1) / 2).double().numpy()
    assert (change <= epsilon + 2e-6).all()
    np.testing.assert_allclose(change, found.change, atol=2e-6)
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    scored = np.pad(batch.scored.numpy(), ((0, 0), (0, found.weights.shape[-1] - batch.valid.shape[1])))
    assert (found.weights.sum(1)[~scored] == 0).all()
    assert (np.isnan(found.upper) | (found.jsd <= found.upper + 1e-9)).all()


@pytest.mark.parametrize("name", ["lstm", "average", "label-wise"])
def test_no_search_beats_the_exact_optimum(name):
    subject, examples = RESPONDING[name]
    exact = [stand_ins(subject, examples, epsilon=e) for e in (0.05, 0.01)]
    for settings in FEW:
        for optimum, plain in zip(exact, searched(subject, examples, [0.05, 0.01], settings=settings), strict=True):
            assert optimum.method == "exact"
            assert (plain.jsd <= optimum.jsd + 1e-5).all()
            assert (plain.change <= 0.05).all()
    assert exact[0].jsd.max() > 0.05


def test_the_better_search_finds_more_where_nothing_is_exact():
    subject, examples = RESPONDING["pair merge"]
    better, plain = (searched(subject, examples, [0.05], settings=settings)[0] for settings in FEW[::-1])
    assert better.method == "search"
    assert better.jsd.mean() >= plain.jsd.mean() - 1e-3
    assert np.isnan(better.upper).all()


def test_the_better_search_keeps_only_what_keeps_the_output():
    """Every start, not only the best of each example: an infeasible iterate is never kept, however far it is."""
    subject, examples = RESPONDING["pair merge"]
    batch = subject.encode(examples)
    for epsilon in (0.05, 0.001):
        (found,) = search(response(subject, batch), batch.ids, epsilon=epsilon, scale=1.0, seed=0, settings=FEW[1])
        assert (found.change <= epsilon).all()


@pytest.mark.parametrize("settings", FEW)
def test_several_searches_together_find_what_each_finds_alone(settings):
    subject, examples = RESPONDING["pair merge"]
    batch = subject.encode(examples)
    asked = {"epsilon": (0.05, 0.001, 0.05), "scale": (1.0, 1.0, 30.0)}
    together = search(response(subject, batch), batch.ids, **asked, seed=0, settings=settings)
    for epsilon, scale, found in zip(*asked.values(), together, strict=True):
        one = {"epsilon": epsilon, "scale": scale}
        (alone,) = search(response(subject, batch), batch.ids, **one, seed=0, settings=settings)
        for ours, theirs in zip(found, alone, strict=True):
            assert torch.allclose(ours, theirs, atol=1e-4)
    assert not torch.allclose(together[0].weights, together[2].weights, atol=1e-2)


def test_a_search_does_not_depend_on_the_batch():
    subject, examples = RESPONDING["lstm"]
    few = SearchSettings(steps=20)
    whole = searched(subject, examples, [0.05], settings=few)[0]
    for row, example in enumerate(examples):
        alone = searched(subject, [example], [0.05], settings=few)[0]
        assert alone.jsd[0, 0] == pytest.approx(whole.jsd[row, 0], abs=1e-4)


def test_the_published_objective_by_hand():
    """One step's quantities on three tokens: JSD as defined, diversity as (1/k²) Σ_ij."""
    subject, examples = RESPONDING["lstm"]
    batch = subject.encode(examples[:2])
    one_step = SearchSettings(steps=1)
    (found,) = search(response(subject, batch), batch.ids, epsilon=0.05, scale=1.0, seed=0, settings=one_step)
    own = response(subject, batch).attention
    by_hand = jensen_shannon_nats(found.weights, own[:, None].expand_as(found.weights))[..., 0]
    torch.testing.assert_close(found.jsd, by_hand, atol=1e-5, rtol=0)
    pairs = [
        jensen_shannon_nats(found.weights[:, i, 0, 0], found.weights[:, j, 0, 0]).sum()
        for i in range(5)
        for j in range(5)
    ]
    assert float(_diversity(found.weights)) == pytest.approx(float(sum(pairs)) / 25, abs=1e-5)


def test_nothing_is_nan_on_saturated_outputs_one_word_and_ties():
    subject, _ = RESPONDING["average"]
    texts = ["good", "good good good good", "not bad bad bad", "a film"]
    examples = [Example(f"e{n}", text, label=0) for n, text in enumerate(texts)]
    with torch.no_grad():
        weight = subject.output.weight.clone()
        subject.output.weight.mul_(1e4)
    try:
        found = stand_ins(subject, examples)
        plain = searched(subject, examples, [0.05], settings=FEW[0])[0]
    finally:
        with torch.no_grad():
            subject.output.weight.copy_(weight)
    for values in (found.jsd, found.change, found.weights, plain.jsd, plain.change):
        assert np.isfinite(values).all()
    assert found.jsd[0, 0] == 0  # one word
    assert found.jsd[1, 0] > 0.1  # the same word over and over: any of them will do


def test_as_an_explainer():
    subject, examples = RESPONDING["lstm"]
    scores = explain_one(subject, examples, "counterfactual")
    np.testing.assert_allclose(scores.values.sum(1), 1, atol=1e-6)


def test_a_readout_gives_the_logits_of_the_run():
    subject, examples = RESPONDING["label-wise"]
    found = read_out(subject, examples)
    run = subject.run(subject.encode(examples))
    np.testing.assert_allclose(found.logits, run.logits.detach().numpy(), atol=1e-5)


def test_without_a_short_cut_it_says_so():
    subject, examples = SUBJECTS["seq2seq"]
    with pytest.raises(NotSupported, match="no short cut from weights to logits"):
        stand_ins(subject, examples)
