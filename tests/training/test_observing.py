"""The recorder: what it writes is what the model says, the training never notices, and memory does not grow."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, BrokenFolder, NotSupported, UnknownName
from heatcheck.explainers.influence import token_influence
from heatcheck.models import Recipe, load_folder
from heatcheck.training import (
    LEFT_OUT,
    OF_TOKENS,
    Observer,
    build,
    checkpoint_steps,
    describe,
    fit_recipe,
    observed_steps,
    plan_observe,
    plan_recipe,
    probe_of,
    read_observed,
    record,
    steps_of,
)
from heatcheck.training.fit import fit_into
from heatcheck.training.observing import check_observe
from heatcheck.training.settings import TrainingSettings
from piling_up import piles_up


def cut(corpus, **sizes):
    return replace(corpus, splits={name: Split(name, corpus[name].examples[:n]) for name, n in sizes.items()})


SMALL = cut(load_task("planted_keyword"), train=100, dev=20, test=30)
SHAPE = {"hidden": 4, "embedding": 6, "learning_rate": 0.03}
OBSERVE = plan_observe([0, 3, 8], examples=12)


def recipe_of(corpus=SMALL, observe=OBSERVE, **changes):
    return plan_recipe(
        corpus, observe=observe, **{"encoder": "gru", "epochs": 2, "skip_first": True, **SHAPE, **changes}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A training of 8 steps, two epochs, of which the last is kept."""
    found = tmp_path_factory.mktemp("fits") / "observed"
    fit_recipe(recipe_of(), SMALL, found)
    return found


# Ids -----------------------------------------------------------------------------------------------------------------


def test_recipes_that_observe_nothing_keep_their_names():
    recipe = Recipe("sst@0", {"encoder": "lstm"}, {"epochs": 3}, 1, {"name": "likelihood"}, {"weights": "uniform"})
    assert recipe.id == "6ef5e0f91140", "as it was before there was a recorder"
    seen = replace(recipe, observe=OBSERVE)
    assert seen.id != recipe.id
    assert seen.id != replace(recipe, observe=plan_observe([0, 3])).id
    assert describe(seen) == describe(recipe).replace(", seed", ", observed, seed")


# What it writes ------------------------------------------------------------------------------------------------------


def oracle(subject, examples, impose=None):
    """Weights, votes and answers by the slow ways that other parts of the package go."""
    said = record(subject, examples, impose=impose)
    batch = subject.encode(examples)
    votes = subject.response(batch).relevance[:, 0].detach().numpy()
    found = []
    for row, example in enumerate(examples):
        others = [label for label in range(votes.shape[2]) if label != example.label]
        margin = votes[row, :, example.label] - votes[row][:, others].mean(1)
        found.append(margin[batch.scored[row].numpy()])
    return said, found, token_influence(subject, batch).numpy(), batch.scored.numpy()


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("impose", [None, {"weights": "uniform"}])
def test_equal_to_what_the_model_says(impose, labels):
    three = tuple(
        Example(f"e{n}", " ".join(f"w{(n * k) % 7}" for k in range(1, 2 + n % 5)), label=n % labels) for n in range(20)
    )
    corpus = Corpus(
        "made", tuple("abc")[:labels], {name: Split(name, three) for name in ("train", "dev", "test")}, "spaces"
    )
    recipe = recipe_of(corpus, impose=impose, embedding_scale=1.0)
    subject = build(recipe, corpus).train()
    found = Observer(subject, corpus, recipe, Path("never written")).look(0)
    assert subject.training, "left as it was"
    assert all(parameter.requires_grad for parameter in subject.parameters())
    probe = probe_of(recipe.observe, corpus)
    assert found.ids == tuple(example.id for example in probe)
    said, votes, influence, scored = oracle(subject.eval(), probe, impose)
    np.testing.assert_allclose(found.log_probabilities, said.log_probabilities[:, 0], atol=1e-6)
    np.testing.assert_allclose(found.of_tokens["attention"], np.concatenate([w[0, 0] for w in said.each]), atol=1e-6)
    np.testing.assert_allclose(found.of_tokens["relevance"], np.concatenate(votes), atol=1e-5)
    if impose is None:
        expected = np.concatenate([influence[row][scored[row]] for row in range(len(probe))])
        np.testing.assert_allclose(found.of_tokens["influence"], expected, atol=1e-5)
    else:
        assert {
            len(set(row.round(6))) for row in np.split(found.of_tokens["attention"], found.lengths.cumsum()[:-1])
        } == {1}
    assert found.gold.tolist() == [example.label for example in probe]
    assert found.right.tolist() == [float(a == b) for a, b in zip(said.predicted, found.gold, strict=True)]


def test_files_hold_each_step_and_the_last_is_the_model(folder):
    assert observed_steps(folder) == [0, 3, 8]
    last, first = read_observed(folder), read_observed(folder, 0)
    assert (last.step, first.step) == (8, 0)
    subject = load_folder(folder)
    probe = probe_of(subject.recipe.observe, SMALL)
    assert last.ids == first.ids == tuple(example.id for example in probe)
    assert len(probe) == 12
    now = record(subject, probe)
    np.testing.assert_allclose(last.padded("attention"), now.weights, atol=1e-6)
    np.testing.assert_allclose(last.log_probabilities, now.log_probabilities[:, 0], atol=1e-6)
    start = record(build(recipe_of(), SMALL).eval(), probe)
    np.testing.assert_allclose(first.padded("attention"), start.weights, atol=1e-6)
    assert not np.allclose(first.padded("relevance"), last.padded("relevance"), atol=1e-3)
    assert (last.padded("relevance")[~last.valid] == 0).all()


def without(batch, token):
    """The batch as if this token had never been read."""
    kept = [place for place in range(batch.valid.shape[1]) if place != token]
    cut = {name: getattr(batch, name)[:, kept] for name in ("valid", "scored", "word")}
    return replace(batch, inputs={**batch.inputs, "tokens": batch.inputs["tokens"][:, kept]}, **cut)


@pytest.mark.parametrize("encoder", ["gru", "lstm", "average", "cnn"])
def test_left_out_is_what_the_loss_gains_without_each_token(encoder):
    texts = ("not so bad", "isn't it good", "dull", "the plot is thin but the acting is very good indeed")
    made = tuple(Example(f"e{n}", text, label=n % 2) for n, text in enumerate(texts))
    corpus = Corpus("made", ("no", "yes"), {name: Split(name, made) for name in ("train", "dev", "test")})
    recipe = recipe_of(
        corpus, plan_observe([0], quantities=[*OF_TOKENS, LEFT_OUT]), encoder=encoder, embedding_scale=1.0, dropout=0.5
    )
    subject = build(recipe, corpus).train()
    found = Observer(subject, corpus, recipe, Path("never written")).look(0)
    assert found.of_tokens.keys() == {*OF_TOKENS, LEFT_OUT}
    values, sizes = found.padded(LEFT_OUT), []
    subject.eval()
    for row, example in enumerate(probe_of(recipe.observe, corpus)):
        batch = subject.encode([example])
        places = batch.scored[0].nonzero()[:, 0].tolist()  # not the marks at its ends

        def loss(of, label=example.label):
            with torch.no_grad():
                return -float(subject.run(of).logits[0, 0].double().log_softmax(-1)[label])

        expected = [loss(without(batch, at)) - loss(batch) if len(places) > 1 else 0.0 for at in places]
        np.testing.assert_allclose(values[row, : found.lengths[row]], expected, atol=1e-5)
        sizes += [abs(one) for one in expected]
    assert max(sizes) > 1e-3
    assert found.lengths.tolist()[1] > 3, "a word of two tokens is left out by halves"


@pytest.mark.parametrize("changes", [{"impose": {"weights": "uniform"}}, {"hierarchical": True}])
def test_left_out_is_of_weights_of_ones_own(changes, tmp_path):
    recipe = recipe_of(observe=plan_observe([0], quantities=["attention", LEFT_OUT]), **changes)
    with pytest.raises(NotSupported, match=r"bserve influence instead|attends to (words|sentences)"):
        Observer(build(recipe, SMALL), SMALL, recipe, tmp_path)


# The training never notices ------------------------------------------------------------------------------------------


def test_the_weights_end_the_same_bit_for_bit(folder, tmp_path):
    fit_recipe(recipe_of(observe=None), SMALL, tmp_path / "plain")
    ours, plain = load_folder(folder).state_dict(), load_folder(tmp_path / "plain").state_dict()
    assert all(torch.equal(ours[name], plain[name]) for name in plain)
    assert not (tmp_path / "plain" / "observed").exists()


def test_a_training_that_was_killed_and_resumed_observed_the_same(folder, tmp_path):
    recipe, scratch = recipe_of(), tmp_path / "scratch"
    scratch.mkdir()

    def killed(epoch, seen, _):
        if epoch == 1 and seen > 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_into(recipe, SMALL, scratch, tmp_path, device="cpu", watch=killed)
    assert observed_steps(scratch) == [0, 3]
    fit_into(recipe, SMALL, scratch, tmp_path, device="cpu")
    assert observed_steps(scratch) == [0, 3, 8]
    for step in (0, 3, 8):
        one, other = read_observed(scratch, step), read_observed(folder, step)
        for name in OF_TOKENS:
            np.testing.assert_array_equal(one.of_tokens[name], other.of_tokens[name])


def test_what_another_recipe_left_is_not_kept(tmp_path):
    scratch = tmp_path / "scratch"
    (scratch / "observed").mkdir(parents=True)
    (scratch / "observed" / "00000005.npz").write_bytes(b"of another recipe")
    fit_into(recipe_of(encoder="none", epochs=1), SMALL, scratch, tmp_path, device="cpu")
    assert observed_steps(scratch) == [0, 3, 4], "and the end, though the recipe names a later step"


def test_one_that_stops_early_is_observed_at_its_end(tmp_path):
    observe = plan_observe(checkpoint_steps(400, 5), examples=4)
    fit_recipe(recipe_of(observe=observe, epochs=100, patience=1, learning_rate=0.0), SMALL, tmp_path / "short")
    assert observed_steps(tmp_path / "short")[-1] == 12, "three epochs of four steps"


# Memory --------------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_checkpoints(tmp_path):
    recipe = recipe_of(observe=plan_observe(range(16), examples=30))
    subject = build(recipe, SMALL)
    observer = Observer(subject, SMALL, recipe, tmp_path)
    assert not piles_up(observer, tmp_path)


# Plans and refusals --------------------------------------------------------------------------------------------------


def test_steps_are_the_start_the_end_and_more_early_than_late():
    steps = checkpoint_steps(3255, 20)
    assert (steps[0], steps[1], steps[-1], len(steps)) == (0, 10, 3255, 20)
    assert np.median(steps) < 3255 / 10
    assert checkpoint_steps(4, 20) == [0, 1, 2, 3, 4]
    assert checkpoint_steps(1, 2) == [0, 1]
    assert steps_of(TrainingSettings(epochs=3, batch_size=32, accumulate=2), 100) == 6


@pytest.mark.parametrize("observe", [3, "3"])
def test_a_number_of_checkpoints_is_enough(observe):
    planned = recipe_of(observe=observe).observe
    assert planned["steps"] == checkpoint_steps(8, 3)
    assert (planned["split"], planned["examples"], planned["quantities"]) == ("test", 200, [*OF_TOKENS])


@pytest.mark.parametrize(
    ("observe", "words"),
    [
        (1, r"at least 2 \(the start and the end\), not 1"),
        ("few", r"a number of checkpoints, at least 2 \(the start and the end\), not few"),
    ],
)
def test_numbers_that_are_none(observe, words):
    with pytest.raises(BadInput, match=words):
        recipe_of(observe=observe)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": []}, "but are empty"),
        ({"steps": [3, 3]}, "but are 3, 3"),
        ({"steps": [-1, 3]}, "but are -1, 3"),
        ({"examples": 0}, "must be at least 1, not 0"),
        ({"quantities": ["attentoin"]}, "did you mean 'attention'"),
    ],
)
def test_plans_that_cannot_be_followed(changes, words):
    with pytest.raises(BadInput, match=words):
        check_observe({**OBSERVE, **changes}, SMALL)


def test_observed_texts_have_one_label_and_are_there():
    unknown = replace(SMALL, splits={**SMALL.splits, "test": Split("test", (Example("e", "a b"),))})
    with pytest.raises(BadInput, match="the example e of test does not have exactly one label"):
        check_observe(OBSERVE, unknown)
    with pytest.raises(BadInput, match="no examples to observe"):
        check_observe(OBSERVE, replace(SMALL, splits={**SMALL.splits, "test": Split("test", ())}))
    with pytest.raises(BadInput, match="observe lacks the key 'split'"):
        check_observe({"steps": [0], "examples": 3}, SMALL)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hierarchical": True}, "attends to (words|sentences)"),
        ({"label_wise": True}, "makes several decisions per text|decides several things"),
    ],
)
def test_models_that_cannot_be_observed_are_refused_before_they_are_trained(changes, words, tmp_path):
    recipe = recipe_of(**changes)
    with pytest.raises(NotSupported, match=words):
        Observer(build(recipe, SMALL), SMALL, recipe, tmp_path)


def test_relevance_needs_a_linear_read_out_and_the_rest_does_not(tmp_path):
    corpus = cut(load_task("planted_lookup"), train=40, dev=10, test=10)
    recipe = recipe_of(corpus, encoder="none")
    assert recipe.model["decoder"] == "merge"
    with pytest.raises(NotSupported, match="Observe attention and influence only"):
        Observer(build(recipe, corpus), corpus, recipe, tmp_path)
    few = recipe_of(corpus, encoder="none", observe=plan_observe([0], quantities=["attention", "influence"]))
    found = Observer(build(few, corpus), corpus, few, tmp_path).look(0)
    assert found.of_tokens.keys() == {"attention", "influence"}
    with pytest.raises(UnknownName, match="unknown observed quantity 'relevance'"):
        found.padded("relevance")


def test_files_that_are_not_there_or_not_whole(folder, tmp_path):
    with pytest.raises(BadInput, match="no checkpoints were recorded"):
        read_observed(tmp_path)
    with pytest.raises(UnknownName, match="unknown observed step '4'"):
        read_observed(folder, 4)
    (tmp_path / "observed").mkdir()
    whole = (folder / "observed" / "00000008.npz").read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"text"):
        (tmp_path / "observed" / "00000008.npz").write_bytes(broken)
        with pytest.raises(BrokenFolder, match="is damaged"):
            read_observed(tmp_path)


def test_the_probe_is_the_same_whatever_the_seed():
    one, other = (probe_of(recipe_of(seed=seed).observe, SMALL) for seed in (0, 1))
    assert one == other
