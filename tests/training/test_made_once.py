"""What fits on the same texts share is made once in a process, and each fit ends as it would alone."""

from dataclasses import replace

import pytest
import torch

from heatcheck.data import Split, load_task
from heatcheck.models import Recipe
from heatcheck.models.classifiers.bidirectional import _turned, reversal
from heatcheck.training import Fits, evaluate, fit_recipe, made_once, plan_recipe, steps, train
from heatcheck.training.fit import fit_into
from heatcheck.training.made_once import Kept


def small(task):
    whole = load_task(task)
    return replace(whole, splits={name: Split(name, split.examples[:60]) for name, split in whole.splits.items()})


CORPUS = small("planted_keyword")
SETTINGS = {"epochs": 1, "embedding": 4, "hidden": 4, "encoder": "lstm"}


@pytest.fixture(autouse=True)
def _nothing_made():
    made_once.forget()
    yield
    made_once.forget()


def counted(monkeypatch, name):
    """The calls of a function that makes what is shared."""
    calls = []
    real = getattr(made_once, name)
    monkeypatch.setattr(made_once, name, lambda *given, **named: (calls.append(given), real(*given, **named))[1])
    return calls


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_seeds_share_words_and_regressions_and_end_as_they_would_alone(tmp_path, monkeypatch):
    recipes = [plan_recipe(CORPUS, seed=seed, **SETTINGS) for seed in (0, 1)]
    names = ("build_vocabulary", "fit_bag_of_words", "fit_logistic_regression")
    for recipe in recipes:
        made_once.forget()
        fit_recipe(recipe, CORPUS, tmp_path / "alone" / recipe.id, device="cpu")
    made_once.forget()
    calls = [counted(monkeypatch, name) for name in names]
    for recipe in recipes:
        fit_recipe(recipe, CORPUS, tmp_path / "together" / recipe.id, device="cpu")
    assert [len(of) for of in calls] == [1, 1, 1]
    for recipe in recipes:
        assert files_of(tmp_path / "together" / recipe.id) == files_of(tmp_path / "alone" / recipe.id)


def test_other_words_or_other_texts_are_not_taken_for_the_same(tmp_path, monkeypatch):
    calls = [counted(monkeypatch, name) for name in ("build_vocabulary", "fit_bag_of_words", "fit_logistic_regression")]
    other = small("planted_majority")
    fit_recipe(plan_recipe(CORPUS, **SETTINGS), CORPUS, tmp_path / "a", device="cpu")
    fit_recipe(plan_recipe(CORPUS, min_documents=9, **SETTINGS), CORPUS, tmp_path / "b", device="cpu")
    fit_recipe(plan_recipe(other, **SETTINGS), other, tmp_path / "c", device="cpu")
    assert [len(of) for of in calls] == [3, 3, 3]


def test_a_parent_is_asked_once_for_all_who_learn_from_it(tmp_path, monkeypatch):
    subject = train(CORPUS, out=tmp_path / "own", device="cpu", progress=False, **SETTINGS).subject
    fits = Fits(subject, CORPUS, tmp_path / "store", device="cpu")
    fits.keep(subject)
    calls = counted(monkeypatch, "record")

    def adversary(seed: int) -> Recipe:
        loss = {"name": "adversarial", "parent": fits.base, "strength": 0.01}
        return plan_recipe(CORPUS, seed=seed, loss=loss, **SETTINGS)

    fits.make([adversary(5), adversary(6)])
    assert len(calls) == 1
    made_once.forget()
    alone = tmp_path / "alone"
    alone.mkdir()
    fit_into(adversary(6), CORPUS, alone, fits.store, device="cpu")
    assert files_of(alone) == files_of(fits.store / adversary(6).id)
    assert len(calls) == 2


def test_a_parent_that_was_made_anew_is_asked_again(tmp_path, monkeypatch):
    store = tmp_path / "store"
    calls = counted(monkeypatch, "record")
    recipe = plan_recipe(CORPUS, impose={"weights": "parent", "parent": "other"}, **SETTINGS)
    found = []
    for seed in (0, 1):
        fit_recipe(plan_recipe(CORPUS, seed=seed, **SETTINGS), CORPUS, store / f"made-{seed}", device="cpu")
        (store / f"made-{seed}").rename(store / "other")
        found += [made_once.record_parents(recipe, CORPUS, store, "cpu")["other"]] * 2
        assert made_once.record_parents(recipe, CORPUS, store, "cpu")["other"] is found[-1]
        (store / "other").rename(store / f"gone-{seed}")
    assert len(calls) == 2
    assert (found[0].log_probabilities != found[-1].log_probabilities).any()


def test_only_the_last_few_are_kept():
    kept = Kept[str](most=2)
    made = []

    def get(key):
        return kept.get(key, lambda: (made.append(key), key)[1])

    assert [get(key) for key in "abacab"] == list("abacab")
    assert made == ["a", "b", "c", "b"], "what was asked for last is kept"
    kept.forget()
    assert get("a") == "a"
    assert made[-1] == "a"


def test_evaluation_encodes_each_example_once(tmp_path, monkeypatch):
    subject = train(CORPUS, out=tmp_path / "own", device="cpu", progress=False, **SETTINGS).subject
    seen = []
    real = subject.encode
    monkeypatch.setattr(subject, "encode", lambda examples: (seen.extend(e.id for e in examples), real(examples))[1])
    evaluate(subject, CORPUS["dev"])
    assert sorted(seen) == sorted(example.id for example in CORPUS["dev"])


@pytest.mark.parametrize("by_step", [False, True])  # a recurrent layer's states lie in memory step by step
def test_texts_turned_row_by_row_are_the_same_to_the_bit(by_step):
    torch.manual_seed(0)
    lengths = torch.tensor([5, 1, 7, 7])
    turn = reversal(torch.arange(7) < lengths[:, None])
    shape = (7, 4, 3) if by_step else (4, 7, 3)
    own = torch.randn(shape, requires_grad=True)
    states = own.transpose(0, 1) if by_step else own
    into = torch.randn(4, 7, 3)
    plain, quick = states.take_along_dim(turn[..., None], 1), _turned(states, turn)
    assert quick.equal(plain)
    assert quick.is_contiguous()
    of_plain, of_quick = (torch.autograd.grad((found * into).sum(), own)[0] for found in (plain, quick))
    assert of_quick.equal(of_plain)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 5.0, 100.0, float("nan")])
def test_clipped_as_torch_clips(scale):
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    for module in (one, other):
        module.weight.grad, module.bias.grad = torch.ones(2, 3) / 8**0.5, scale * torch.ones(2) / 8**0.5
    steps._clip(list(one.parameters()), 5.0)
    torch.nn.utils.clip_grad_norm_(other.parameters(), 5.0)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=0, atol=0, equal_nan=True)
