"""The recorder on models that write: files hold what the model says, and the training never notices."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck.data import Split, draw_sequences
from heatcheck.errors import BadInput, BrokenFolder, UnknownName
from heatcheck.models import Site, load_folder
from heatcheck.training import (
    OF_STEPS,
    ObservedSeq2Seq,
    Observer,
    checkpoint_steps,
    evaluate,
    fit_recipe,
    imposed,
    observed_steps,
    plan_observe,
    plan_recipe,
    probe_of,
    read_observed,
)
from heatcheck.training.observing import check_observe
from heatcheck.training.observing_seq2seq import observe_seq2seq
from heatcheck.training.seq2seq import build_sequences
from piling_up import piles_up
from subjects import WRITERS

ATTENTION = Site("attention")
CORPUS = draw_sequences("bigram_flip", sizes=(100, 10, 40), symbols=6, lengths=(2, 4))
OBSERVE = plan_observe([0, 3, 8], examples=34, quantities=OF_STEPS)
# Half of the steps untold and some dropout: both draw random numbers, which a look must leave alone.
SHAPE = {"embedding": 6, "hidden": 5, "heads": 2, "teacher_forcing": 0.5, "dropout": 0.2}
TRAINING = {"epochs": 2, "skip_first": True, "learning_rate": 0.03, "batch_size": 25}


def recipe_of(observe=OBSERVE, **changes):
    return plan_recipe(CORPUS, observe=observe, **{**SHAPE, **TRAINING, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training of 8 steps, two epochs, of which the last is kept."""
    found = tmp_path_factory.mktemp("writing") / "observed"
    fit_recipe(recipe_of(), CORPUS, found, device="cpu")
    return found


@torch.no_grad()
def said(subject, example):
    """Weights, relevances, and log-probabilities and hits of the right words, of one text alone: without padding."""
    batch = subject.encode([example])
    run = subject.run(batch, want=[ATTENTION])
    logs = run.logits[0].log_softmax(-1)
    right = logs.gather(1, batch.gold[0][:, None])[:, 0]
    return run.parts[ATTENTION][0], subject.step_relevance(batch)[0], right, logs.argmax(-1) == batch.gold[0]


def test_files_hold_each_step_and_the_last_is_the_model(folder):
    assert observed_steps(folder) == [0, 3, 8]
    subject = load_folder(folder)
    first, last = read_observed(folder, 0), read_observed(folder)
    probe = probe_of(OBSERVE, CORPUS)
    start = build_sequences(recipe_of(), CORPUS).eval()
    for found, model in ((first, start), (last, subject)):
        assert isinstance(found, ObservedSeq2Seq)
        assert found.ids == tuple(example.id for example in probe)
        attention, relevance = found.padded("attention"), found.padded("relevance")
        assert attention.shape == (34, 2, 5, 6), "[example head step source]: four words, and marks at their ends"
        place = 0
        for row, example in enumerate(probe):
            weights, votes, right, hit = said(model, example)
            steps, tokens = votes.shape
            assert (found.written[row], found.lengths[row]) == (steps, tokens)
            np.testing.assert_allclose(attention[row, :, :steps, :tokens], weights, atol=1e-6)
            np.testing.assert_allclose(relevance[row, :steps, :tokens], votes, atol=1e-5)
            np.testing.assert_allclose(found.log_probabilities[place : place + steps], right, atol=1e-5)
            assert found.right[place : place + steps].tolist() == hit.tolist()
            place += steps
        assert place == len(found.right)
        assert (relevance[~found.valid] == 0).all()
        np.testing.assert_allclose(attention.sum(-1)[found.valid.any(-1)[:, None].repeat(2, axis=1)], 1, atol=1e-5)
        scores = evaluate(model, probe)
        assert found.accuracy == pytest.approx(scores.accuracy)
        assert -found.log_probabilities.mean() == pytest.approx(scores.loss, abs=1e-5)
    assert not np.allclose(first.padded("relevance"), last.padded("relevance"), atol=1e-2)


def test_the_weights_end_the_same_bit_for_bit(folder, tmp_path):
    fit_recipe(recipe_of(observe=None), CORPUS, tmp_path / "plain", device="cpu")
    ours, plain = load_folder(folder).state_dict(), load_folder(tmp_path / "plain").state_dict()
    assert ours.keys() == plain.keys()
    assert all(torch.equal(ours[name], plain[name]) for name in plain)
    assert not (tmp_path / "plain" / "observed").exists()


@pytest.mark.parametrize("impose", [None, {"weights": "uniform"}, {"weights": "permuted"}])
@pytest.mark.parametrize("name", WRITERS)
def test_relevance_is_of_one_hot_weights_at_one_step_and_the_weights_in_use_at_the_others(name, impose):
    subject, examples = WRITERS[name]
    found = observe_seq2seq(subject, examples, 0, OF_STEPS, impose=impose)
    batch = subject.encode(examples)
    with torch.no_grad():
        used = subject.run(batch, edits=imposed(subject, batch, impose), want=[ATTENTION]).parts[ATTENTION]
        attention, relevance = found.padded("attention"), found.padded("relevance")
        inside = found.valid[:, None].repeat(used.shape[1], axis=1)
        np.testing.assert_allclose(attention, np.where(inside, used, 0), atol=1e-6)
        for step in range(3):
            for token in range(3):
                weights = used.clone()
                weights[:, :, step] = torch.eye(used.shape[-1])[token]
                logs = subject.run(batch, edits={ATTENTION: weights}).logits[:, step].log_softmax(-1)
                right = logs.gather(1, batch.gold[:, step].clamp(min=0)[:, None])[:, 0].numpy()
                np.testing.assert_allclose(
                    relevance[:, step, token], np.where(found.valid[:, step, token], right, 0), atol=1e-5
                )


def test_memory_does_not_grow_with_checkpoints(tmp_path):
    recipe = recipe_of(observe=plan_observe(range(16), examples=40, quantities=OF_STEPS))
    observer = Observer(build_sequences(recipe, CORPUS), CORPUS, recipe, tmp_path)
    assert not piles_up(observer, tmp_path)


def test_a_number_of_checkpoints_is_enough():
    planned = recipe_of(observe="3").observe
    assert planned["steps"] == checkpoint_steps(8, 3)
    assert (planned["examples"], planned["split"], planned["quantities"]) == (50, "test", list(OF_STEPS))


def test_some_of_it_alone(tmp_path):
    recipe = recipe_of(observe=plan_observe([0], examples=4, quantities=["attention"]))
    found = Observer(build_sequences(recipe, CORPUS), CORPUS, recipe, tmp_path).look(0)
    assert set(found.of_steps) == {"attention"}
    with pytest.raises(UnknownName, match="unknown observed quantity 'relevance'"):
        found.padded("relevance")


def test_what_is_about_labels_is_refused_before_anything_is_trained(tmp_path):
    with pytest.raises(BadInput, match=r"influence needs labels.*Observe attention and relevance"):
        fit_recipe(recipe_of(observe=plan_observe([0, 3])), CORPUS, tmp_path / "never", device="cpu")
    empty = replace(CORPUS, splits={**CORPUS.splits, "test": Split("test", ())})
    with pytest.raises(BadInput, match="no examples to observe"):
        check_observe(OBSERVE, empty)
    assert not (tmp_path / "never").exists()


def test_files_that_are_not_whole(folder, tmp_path):
    (tmp_path / "observed").mkdir()
    whole = (folder / "observed" / "00000008.npz").read_bytes()
    (tmp_path / "observed" / "00000008.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BrokenFolder, match="is damaged"):
        read_observed(tmp_path)
