"""Models that are trained side by side end as they would alone: in threads, from recorded steps, and after a kill."""

import multiprocessing
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from heatcheck import engine
from heatcheck.data import Split, load_task
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput
from heatcheck.training import (
    TREATMENTS,
    Fits,
    build,
    evaluate,
    fit_job,
    fit_jobs,
    fit_recipe,
    plan_recipe,
    record,
    stack,
    train,
)
from heatcheck.training.captured import CapturedSteps, rounded
from heatcheck.training.encoded import Encoded, answers_to
from heatcheck.training.evaluation import score
from heatcheck.training.loop import make_optimizer
from heatcheck.training.settings import TrainingSettings
from heatcheck.training.steps import NO_ROOM, Steps

SMALL = {"hidden": 8, "embedding": 8}
KILLS = int(os.environ.get("HEATCHECK_KILLS", "2"))  # ten take a minute
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def part(task, texts):
    whole = load_task(task)
    return replace(whole, splits={name: Split(name, split.examples[:texts]) for name, split in whole.splits.items()})


def stacked(corpus):
    """Two seeds, one with uniform weights, one of another encoder: all with dropout."""
    plans = ({"seed": 0}, {"seed": 1}, {"seed": 1, "impose": {"weights": "permuted"}}, {"seed": 0, "encoder": "cnn"})
    return [plan_recipe(corpus, epochs=3, **SMALL, **plan) for plan in plans]


def same(one, other):
    found = [load_file(folder / "model.safetensors") for folder in (one, other)]
    return all(found[0][name].equal(found[1][name]) for name in found[0])


def test_side_by_side_in_threads_each_ends_as_it_would_alone(tmp_path):
    corpus = part("reviews", 200)
    recipes = stacked(corpus)
    jobs = fit_jobs(recipes, corpus, tmp_path / "together", device="cpu")
    outcomes = list(engine.map(fit_job, jobs, tmp_path / "together", threads=4))
    assert [outcome.state for outcome in outcomes] == ["done"] * 4, [outcome.reason for outcome in outcomes]
    for recipe in recipes:
        fit_recipe(recipe, corpus, tmp_path / "alone" / recipe.id, device="cpu")
        assert same(tmp_path / "together" / recipe.id, tmp_path / "alone" / recipe.id), recipe
    firsts = [load_file(tmp_path / "alone" / recipe.id / "model.safetensors") for recipe in recipes[:2]]
    assert not firsts[0]["output.weight"].equal(firsts[1]["output.weight"]), "or equality would say nothing"


processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["heatcheck.training", "sklearn.linear_model", "torch._dynamo"])


def train_stack(store):
    torch.set_num_threads(1)
    corpus = part("planted_keyword", 200)
    jobs = fit_jobs(long_stack(corpus), corpus, Path(store), device="cpu")
    list(engine.map(fit_job, jobs, Path(store), threads=3))


def long_stack(corpus):
    return [plan_recipe(corpus, epochs=12, patience=0, seed=seed, **SMALL) for seed in range(3)]


def test_a_stack_killed_at_random_moments_and_resumed_has_the_same_bits(tmp_path):
    corpus, moments, seconds = part("planted_keyword", 200), random.Random(1), 2.0
    recipes = long_stack(corpus)
    killed = 0
    for _ in range(10 * KILLS):
        store = tmp_path / f"killed{killed}"
        process = processes.Process(target=train_stack, args=(str(store),))
        process.start()
        while process.is_alive() and not list(store.glob(".*.part/checkpoint.safetensors")):
            time.sleep(0.005)
        process.join(moments.uniform(0, seconds))
        process.kill()
        process.join()
        if all((store / recipe.id).is_dir() for recipe in recipes):
            seconds /= 2  # it had ended before the kill: again, and sooner
            for recipe in recipes:
                (store / recipe.id).rename(tmp_path / f"{recipe.id}-{seconds}")
            continue
        assert list(store.glob(".*.part")), "something was under way"
        killed += 1
        again = processes.Process(target=train_stack, args=(str(store),))
        again.start()
        again.join()
        if killed == KILLS:
            break
    assert killed == KILLS
    for recipe in recipes:
        fit_recipe(recipe, corpus, tmp_path / "alone" / recipe.id, device="cpu")
        for number in range(killed):
            assert same(tmp_path / f"killed{number}" / recipe.id, tmp_path / "alone" / recipe.id)


def test_runs_that_find_no_room_beside_others_run_when_these_have_ended(tmp_path, monkeypatch):
    """Of six runs three find no room four at a time, and a seventh needs one of them; the eighth never fits."""
    together = []

    def fit(argument, folder, _):
        together.append(threads)
        if argument["never"] or (argument["large"] and threads > 1):
            raise BadInput(f"a batch of 32 examples {NO_ROOM}. Use smaller ones.")
        (folder / "done").touch()

    threads, real = 4, engine.map

    def watched(*arguments, **options):
        nonlocal threads
        threads = options["threads"]
        return real(*arguments, **options)

    monkeypatch.setattr(stack, "fit_stacked", fit)
    monkeypatch.setattr(stack, "at_once", lambda *_: 4)
    monkeypatch.setattr(engine, "map", watched)
    jobs = [engine.Job(f"a{n}", f"run {n}", (), {"large": n < 3, "never": False}) for n in range(6)]
    jobs += [
        engine.Job("b", "needs a large one", ("a0",), {"large": False, "never": False}),
        engine.Job("c", "never fits", (), {"large": True, "never": True}),
        engine.Job("d", "needs what never fits", ("c",), {"large": False, "never": False}),
    ]
    told = []
    outcomes = list(stack._side_by_side(jobs, tmp_path, lambda *of: told.append(of[1:]), tuple))
    assert {one.job.id: one.state for one in outcomes} == {
        **{f"a{n}": "done" for n in range(6)},
        "b": "done",
        "c": "failed",
        "d": "skipped",
    }
    assert told == [(n + 1, 9) for n in range(9)], "each is told once, of all"
    assert together.count(1) == 5, "the three large ones, who needs one of them, and what never fits"


# Recorded steps -------------------------------------------------------------------------------------------------


def twenty_steps(corpus, recipe, parent, device, *, recorded):
    """The weights after twenty steps, taken from examples or from texts that are on the device already.

    In double precision: Adam makes a step of the rounding of a gradient that is almost 0, and CPUs round differently.
    """
    settings = TrainingSettings(**recipe.training)
    subject = build(recipe, corpus).to(device).double()
    subject.generator = torch.Generator(device)
    examples = corpus["train"].examples[: 20 * settings.batch_size]
    steps = Steps(subject, recipe, settings, make_optimizer(subject, settings), examples, parent, None)
    if recorded:
        steps = CapturedSteps(steps, Encoded.of(subject, examples), record=device == "cuda")
    subject.train()
    loss = steps.epoch(0, lambda *_: None, lambda _: None)
    subject.eval()
    return subject, loss


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize("task", ["reviews", "planted_lookup"])
@pytest.mark.parametrize("encoder", ["lstm", "cnn", "average"])
@pytest.mark.parametrize("attention", ["tanh", "dot"])
def test_equal_after_twenty_steps_to_rounding(task, encoder, attention, device):
    corpus = load_task(task)
    model = {"encoder": encoder, "attention": attention, "hidden": 16, "embedding": 12, "dropout": 0.0}
    says = record(build(plan_recipe(corpus, seed=9, **model), corpus).eval(), corpus["train"].examples)
    for loss in ("likelihood", {"name": "adversarial", "parent": "x", "strength": 0.01}):
        recipe = plan_recipe(corpus, seed=3, loss=loss, **model)
        parent = None if loss == "likelihood" else says
        (one, alone), (other, together) = (
            twenty_steps(corpus, recipe, parent, device, recorded=recorded) for recorded in (False, True)
        )
        assert together == pytest.approx(alone, abs=1e-9)
        start = build(recipe, corpus).state_dict()
        for name, tensor in other.state_dict().items():
            apart = float((tensor - one.state_dict()[name]).abs().max())
            assert apart < 1e-5 * (1e-3 + float((tensor.cpu() - start[name]).abs().max())), (name, apart)
        tested = corpus["dev"].examples[:100]
        logs, gold = answers_to(other, Encoded.of(other, tested), None, None)
        assert score(logs, gold).loss == pytest.approx(evaluate(other, tested).loss, abs=1e-6)


def test_texts_in_groups_are_all_answered_in_their_order(monkeypatch):
    corpus = load_task("reviews")
    subject = build(plan_recipe(corpus, **SMALL), corpus).eval()
    monkeypatch.setattr("heatcheck.training.encoded.TOKENS_AT_ONCE", 300)
    texts = Encoded.of(subject, corpus["test"].examples)
    groups = list(texts.groups())
    assert sorted(row for rows in groups for row in rows) == list(range(len(corpus["test"])))
    assert all(len(rows) * texts.longest(rows)["tokens"] <= 300 or len(rows) == 1 for rows in groups)
    assert len(groups) > 3
    scores = score(*answers_to(subject, texts, {"weights": "uniform"}, None))
    assert scores.loss == pytest.approx(evaluate(subject, corpus["test"], impose={"weights": "uniform"}).loss, abs=1e-6)


def test_lengths_are_few_and_no_text_is_cut():
    lengths = [rounded(tokens) for tokens in range(1, 2001)]
    assert all(tokens <= length <= max(tokens + 3, 1.125 * tokens) for tokens, length in enumerate(lengths, start=1))
    assert len(set(lengths)) < 60


@GPU
def test_on_a_gpu_an_audits_models_are_trained_side_by_side(tmp_path):
    corpus = load_task("reviews")
    base = train(corpus, out=tmp_path / "base", epochs=1, device="cuda", **SMALL).subject
    fits = Fits(base, corpus, store=tmp_path / "fits", device="cuda")
    recipes = [replace(fits.recipe, seed=seed) for seed in (1, 2)]
    adversary = {"name": "adversarial", "parent": fits.base, "strength": 0.01, "as_published": False}
    recipes.append(replace(fits.recipe, seed=7, loss=adversary))
    outcomes = fits.make(recipes)
    assert [outcome.state for outcome in outcomes] == ["done"] * 3, [outcome.log for outcome in outcomes]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
@pytest.mark.parametrize("name", sorted(TREATMENTS))
def test_treated_models_too(name, device):
    corpus = planted("planted_keyword", sizes=(192, 8, 8))
    recipe = plan_recipe(corpus, treatment=name, dropout=0.0, **SMALL)
    (one, alone), (other, together) = (
        twenty_steps(corpus, recipe, None, device, recorded=recorded) for recorded in (False, True)
    )
    if name == "masked_words":  # which words are hidden is drawn for texts with their padding, which differs
        assert together == pytest.approx(alone, rel=0.2)
        return
    assert together == pytest.approx(alone, abs=1e-5)
    for of, tensor in other.state_dict().items():
        torch.testing.assert_close(tensor, one.state_dict()[of], atol=1e-4, rtol=1e-3)
