"""Other fits of a subject in a store: made once, resumed after a kill, named when they fail; the texts travel along."""

import os
import shutil
import signal
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from heatcheck import engine
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Recipe, load_folder
from heatcheck.training import Fits, describe, fingerprint, fit_job, fit_jobs, plan_recipe, record, share_done, train
from heatcheck.training import jobs as jobs_module
from heatcheck.training.jobs import keep_corpus, read_corpus, work_of

WHOLE = load_task("planted_keyword")
SIZES = {"train": 60, "dev": 20, "test": 20}
SMALL = replace(WHOLE, splits={s: Split(s, WHOLE[s].examples[:n]) for s, n in SIZES.items()})
TINY = {"hidden": 8, "embedding": 8, "embedding_scale": 1.0, "epochs": 2, "patience": 0, "progress": False}


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    return train(SMALL, encoder="average", out=tmp_path_factory.mktemp("base") / "base", **TINY).subject


@pytest.fixture
def fits(subject, tmp_path):
    return Fits(subject, SMALL, store=tmp_path / "fits")


def seeds(fits, *numbers):
    return [replace(fits.recipe, seed=seed) for seed in numbers]


def guide(fits, parent, seed=0):
    return replace(fits.recipe, seed=seed, impose={"weights": "parent", "parent": parent})


def adversary(fits, seed=7):
    loss = {"name": "adversarial", "parent": fits.base, "strength": 1.0, "as_published": False}
    return replace(fits.recipe, seed=seed, loss={**loss, "start": "fresh", "trains": "all"})


# The corpus in the store ------------------------------------------------------------------------------------------


def test_a_corpus_comes_back_as_it_was(tmp_path):
    examples = (
        Example("a", "not so bad", label=0),
        Example("b", 'τ \u2028 "<unk>"', "", label=1, marks={"rationale": (True, False, True)}),
        Example("c", "a film", "what?", label=1, options=(0, 1)),
        Example("d", "several", label=(0, 1)),
        Example("e", "none", label=()),
        Example("f", "unlabelled"),
    )
    splits = {"train": Split("train", examples), "test": Split("test", examples[:1])}
    corpus = Corpus("mine", ("no", "yes"), splits, "spaces", given_split=False, dropped={"too long": 3})
    back = read_corpus(tmp_path / keep_corpus(corpus, tmp_path))
    assert back == corpus
    assert back.reference == corpus.reference
    assert [type(e.label) for e in back["train"]] == [type(e.label) for e in examples]
    assert keep_corpus(corpus, tmp_path) == keep_corpus(corpus, tmp_path), "kept once"
    assert len(list(tmp_path.iterdir())) == 1
    other = replace(corpus, splits={**splits, "test": Split("test", examples[1:2])})
    assert keep_corpus(other, tmp_path) != keep_corpus(corpus, tmp_path)


# What a recipe learns from ----------------------------------------------------------------------------------------


def test_parents_are_what_the_loss_and_the_imposed_weights_name_each_once():
    plain = Recipe("t@0", {}, {}, 0, {"name": "likelihood"})
    assert plain.parents == ()
    assert replace(plain, impose={"weights": "uniform"}).parents == ()
    both = replace(plain, loss={"name": "adversarial", "parent": "b"}, impose={"weights": "parent", "parent": "a"})
    assert both.parents == ("b", "a")
    assert replace(both, impose={"weights": "parent", "parent": "b"}).parents == ("b",)


def test_the_base_is_named_by_its_weights(fits):
    fits.make(seeds(fits, 1))
    again, other = (load_folder(fits.store / name) for name in (fits.base, seeds(fits, 1)[0].id))
    assert fits.base == fingerprint(again) != fingerprint(other)
    with torch.no_grad():
        again.output.bias.add_(1e-3)
    assert again.recipe == fits.recipe
    assert fingerprint(again) != fits.base, "the same recipe gives other weights on another machine"


# Making and asking ------------------------------------------------------------------------------------------------


def test_made_once_and_the_subject_never_again(subject, fits):
    wanted = [fits.recipe, *seeds(fits, 1, 2)]
    first = fits.make(wanted)
    assert [(o.job.id, o.state) for o in first] == [(r.id, "done") for r in wanted[1:]]
    assert [o.state for o in fits.make(wanted)] == ["reused"] * 2
    assert not (fits.store / fits.recipe.id).exists()
    test = SMALL["test"].examples
    said = [fits.said(recipe, test, "test") for recipe in wanted]
    np.testing.assert_array_equal(said[0].log_probabilities, record(subject, test).log_probabilities)
    assert fits.of_base(test, "test") is said[0], "asked once"
    for recipe, found in zip(wanted[1:], said[1:], strict=True):
        again = record(load_folder(fits.store / recipe.id), test)
        np.testing.assert_array_equal(found.log_probabilities, again.log_probabilities)
    assert np.abs(said[1].log_probabilities - said[2].log_probabilities).max() > 1e-3, "seeds differ"


def test_other_examples_under_the_same_name_are_asked_afresh(fits):
    test = SMALL["test"].examples
    assert fits.of_base(test[:5], "tested").ids == tuple(e.id for e in test[:5])
    assert fits.of_base(test[5:], "tested").ids == tuple(e.id for e in test[5:])


def test_a_guide_reads_with_the_weights_of_its_parent(subject, fits):
    of_adversary = guide(fits, adversary(fits).id)
    wanted = [of_adversary, adversary(fits), guide(fits, fits.base)]  # in any order
    assert {o.state for o in fits.make(wanted)} == {"done"}
    test = SMALL["test"].examples
    by_base, by_adversary = fits.said(wanted[2], test, "test"), fits.said(of_adversary, test, "test")
    np.testing.assert_allclose(by_base.weights, record(subject, test).weights, atol=1e-6)
    np.testing.assert_allclose(by_adversary.weights, fits.said(adversary(fits), test, "test").weights, atol=1e-6)
    assert np.abs(by_base.weights - by_adversary.weights).max() > 1e-2
    # Training saw them too: with uniform weights instead the same seed ends elsewhere.
    uniform = replace(of_adversary, impose={"weights": "uniform"})
    fits.make([uniform])
    folders = [load_file(fits.store / r.id / "model.safetensors")["output.weight"] for r in (of_adversary, uniform)]
    assert not folders[0].equal(folders[1])


def test_a_fit_job_leaves_a_model_and_nothing_else(fits):
    fits.make([])
    (job,) = fit_jobs(seeds(fits, 3), SMALL, fits.store)
    folder = fits.store / "by hand"
    folder.mkdir()
    fit_job(job.argument, folder, fits.store)
    names = {"config.json", "log_odds.safetensors", "model.safetensors", "training.json", "training.jsonl"}
    assert {path.name for path in folder.iterdir()} == {*names, "seen.safetensors", "vocabulary.json"}
    fits.make(seeds(fits, 3))
    made = fits.store / job.id / "model.safetensors"
    assert made.read_bytes() == (folder / "model.safetensors").read_bytes()


def test_one_job_a_recipe_however_often_it_is_wanted(fits):
    recipe = adversary(fits)
    (job,) = fit_jobs([recipe, recipe], SMALL, fits.store)
    assert (job.id, job.name, job.needs) == (recipe.id, describe(recipe), (fits.base,))


# Failures ---------------------------------------------------------------------------------------------------------


def test_a_failed_fit_is_named_and_loses_nothing_else(fits):
    broken = replace(adversary(fits), training={**fits.recipe.training, "optimizer": "none"})
    child, fine = guide(fits, broken.id), seeds(fits, 1)[0]
    states = {o.job.id: (o.state, o.reason) for o in fits.make([broken, child, fine])}
    assert states[fine.id][0] == "done"
    assert states[broken.id][0] == "failed"
    assert "optimizer" in states[broken.id][1]
    assert states[child.id] == ("skipped", f"needs {describe(broken)}, which failed")
    test = SMALL["test"].examples
    for recipe, reason in ((broken, "optimizer"), (child, "which failed"), (seeds(fits, 9)[0], "not requested")):
        with pytest.raises(NotSupported, match=f"was not trained: .*{reason}") as error:
            fits.said(recipe, test, "test")
        assert describe(recipe) in str(error.value)
    assert len(fits.said(fine, test, "test").ids) == len(test)


def test_a_guide_whose_parent_is_gone_is_named(fits):
    parent, child = adversary(fits), guide(fits, adversary(fits).id)
    fits.make([parent, child])
    shutil.rmtree(fits.store / parent.id)
    with pytest.raises(NotSupported, match=parent.id):
        fits.said(child, SMALL["test"].examples, "test")


def test_only_what_it_was_trained_on_and_how_it_was_made(subject, tmp_path):
    with pytest.raises(BadInput, match="--train"):
        Fits(subject, WHOLE, store=tmp_path)
    unknown = copy(subject)
    unknown.recipe = None
    with pytest.raises(NotSupported, match="has no training recipe, so heatcheck cannot retrain it"):
        Fits(unknown, SMALL, store=tmp_path)
    glove = tmp_path / "glove.txt"
    glove.write_text("the 0.1 0.2\n")
    assert Fits(subject, SMALL, store=tmp_path, vectors=glove).vectors is None, "it started from none"


# Kill and resume --------------------------------------------------------------------------------------------------


def killed_at_its_second_epoch(argument, folder, store):
    """As fit_job, in a process of its own that is killed once its first epoch is in the checkpoint."""

    def say(path, facts):
        if (folder / "checkpoint.safetensors").is_file():
            os.kill(os.getpid(), signal.SIGKILL)
        engine.write_json(path, facts)

    jobs_module.SECONDS, jobs_module.write_json = 0.0, say
    fit_job(argument, folder, store)


def test_a_killed_fit_goes_on_where_it_was(fits, tmp_path, monkeypatch):
    recipe = replace(adversary(fits), training={**fits.recipe.training, "epochs": 4})
    fits.make([])
    (job,) = fit_jobs([recipe], SMALL, fits.store)
    (outcome,) = engine.map(killed_at_its_second_epoch, [job], fits.store, workers=1)
    assert (outcome.state, outcome.reason) == ("failed", "its process died with signal 9")
    assert 0 < share_done(recipe.id, fits.store) < 1

    epochs = []
    monkeypatch.setattr(jobs_module, "SECONDS", 0.0)
    monkeypatch.setattr(jobs_module, "write_json", lambda _, facts: epochs.append(int(4 * facts["share"] - 1e-9)))
    (resumed,) = fits.make([recipe])
    assert resumed.state == "done"
    assert set(epochs) == {1, 2, 3}, "its first epoch is not done again"
    assert share_done(recipe.id, fits.store) == 1

    alone = Fits(fits.subject, SMALL, store=tmp_path / "alone")
    alone.make([recipe])
    for name in ("model.safetensors", "training.jsonl"):
        one, other = (where.store / recipe.id / name for where in (fits, alone))
        assert one.read_bytes() == other.read_bytes()
    assert not list(fits.store.glob(".*.part"))
    assert not (fits.store / recipe.id / "share.json").exists()


def test_how_much_is_done_and_how_much_there_is(fits, tmp_path):
    assert share_done("ab", tmp_path) == 0
    (tmp_path / ".ab.part").mkdir()
    (tmp_path / ".ab.part" / "share.json").write_text("{")
    assert share_done("ab", tmp_path) == 0, "half a word is no word"
    lstm = plan_recipe(SMALL, encoder="lstm", epochs=3)
    assert work_of(lstm, 60) == 180
    assert work_of(fits.recipe, 60) == 60 * 2 / 8


def test_described_in_words(fits):
    recipe = fits.recipe
    hidden = {**adversary(fits).loss, "start": "parent", "trains": "attention"}
    for changes, words in (
        ({}, "average, seed 0"),
        ({"impose": {"weights": "uniform"}, "seed": 2}, "average, uniform weights, seed 2"),
        ({"impose": {"weights": "parent", "parent": "ab"}}, "average, weights of ab, seed 0"),
        ({"loss": adversary(fits).loss}, "average, adversary at λ = 1, seed 0"),
        ({"loss": hidden}, "average, adversary at λ = 1, from its parent, attention only, seed 0"),
        ({"loss": {"name": "log_odds_regularised"}}, "average, log odds regularised, seed 0"),
        ({"loss": {"name": "deceptive", "strength": 0.1}}, "average, deceptive at λ = 0.1, seed 0"),
    ):
        assert describe(replace(recipe, **changes)) == f"planted_keyword: {words}"
