"""Without learned attention: other weights against whole forward passes, known answers, and fits of a planted task."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck import stats
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.necessity import NecessitySettings, evenness_of, plan
from heatcheck.checks.other_weights import SWAPS, other_weights, swapped_logits
from heatcheck.data import Corpus, Example, Split, load_task, sentence_of
from heatcheck.data.planted import NEGATIVE, POSITIVE
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import KNOWN_ANSWERS, Response, load_folder
from heatcheck.training import Fits, describe, evaluate, fit_recipe, plan_recipe, record
from heatcheck.training import stack as fits
from subjects import HIERARCHICAL, SUBJECTS

measure = CHECKS["necessity"].measure
SEEDS = NecessitySettings(seeds=3, draws=200)


def case_of(name, **more):
    subject, examples = (SUBJECTS | HIERARCHICAL)[name]
    return Case(subject, examples, labels=getattr(subject, "labels", ("a", "b")), **more)


def known(name, n=300, **nuisance):
    kind, task = name.split("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    whole = load_task(task)
    tested = [example for split in ("test", "train", "dev") for example in whole[split]][:n]
    return Case(subject, tested[:50], labels=subject.labels, tested=tested)


class WithoutShortCut:
    """A subject that can only be run whole."""

    def __init__(self, subject):
        self.id, self.sites, self.recipe = subject.id, subject.sites, None
        self.encode, self.run = subject.encode, subject.run


# This model with other weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "cnn", "average three labels", "pair merge", "pair dot", "options"])
def test_swaps_equal_whole_forward_passes(name):
    case = case_of(name)
    whole = Case(WithoutShortCut(case.subject), case.examples, labels=case.labels)
    found, wanted = swapped_logits(case, 4), swapped_logits(whole, 4)
    drawn = {"permuted": 4, "random": 4}
    assert {kind: of.shape[1] for kind, of in found.items()} == dict.fromkeys(("own", *SWAPS), 1) | drawn
    for kind, logits in found.items():
        shift = logits - wanted[kind]
        np.testing.assert_allclose(shift, shift[..., :1].repeat(shift.shape[-1], -1), atol=1e-5)
    assert_as_imposed(case, found)


def assert_as_imposed(case, found):
    """What is the same for every draw is what whole passes under imposed weights give."""
    for kind in ("own", "uniform", "first", "last"):
        impose = None if kind == "own" else {"weights": kind}
        imposed = record(case.subject, case.tested, impose=impose).probabilities
        np.testing.assert_allclose(torch.from_numpy(found[kind][:, 0]).softmax(-1).numpy(), imposed, atol=1e-5)


@pytest.mark.parametrize("name", ["han gru", "han options"])
def test_in_a_hierarchical_model_the_weights_of_sentences_are_swapped(name):
    case = case_of(name)
    assert_as_imposed(case, swapped_logits(case, 2))
    result = measure(case, SEEDS)
    sentences = np.array([row.shape[-1] for row in case.own.each])
    assert sentences.tolist() == [len(set(sentence_of(example.words))) for example in case.tested]
    assert np.isnan(result.per_example["evenness"]).tolist() == (sentences == 1).tolist()
    assert result.find("change", weights="first").value > 0


def test_what_the_other_weights_are():
    own = torch.tensor([[0.7, 0.2, 0.1, 0.0], [0.0, 0.1, 0.9, 0.0]])
    allowed = torch.tensor([[True, True, True, False], [False, True, True, False]])
    response = Response.linear(own[:, None, None], allowed, torch.zeros(2, 1, 4, 2), torch.zeros(1, 2))
    found = {kind: of[:, :, 0].numpy() for kind, of in other_weights(0, ["a", "b"], response, 4000).items()}
    np.testing.assert_allclose(found["own"][:, 0], own, atol=1e-7)
    np.testing.assert_allclose(found["uniform"][:, 0], [[1 / 3, 1 / 3, 1 / 3, 0], [0, 1 / 2, 1 / 2, 0]])
    assert found["first"][:, 0].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert found["last"][:, 0].tolist() == [[0, 0, 1, 0], [0, 0, 1, 0]]
    for kind in ("permuted", "random"):
        assert (found[kind][~np.broadcast_to(allowed[:, None], found[kind].shape)] == 0).all()
        np.testing.assert_allclose(found[kind].sum(-1), 1, atol=1e-12)
    np.testing.assert_allclose(np.sort(found["permuted"][0, :, :3]), np.tile([0.1, 0.2, 0.7], (4000, 1)), atol=1e-7)
    assert len(np.unique(found["permuted"][0].round(6), axis=0)) == 6, "every order of three"
    # Uniform on the simplex of T items: mean 1/T, variance (T − 1)/(T²(T + 1)); of two, the uniform distribution.
    np.testing.assert_allclose(found["random"][0, :, :3].mean(0), 1 / 3, atol=0.015)
    np.testing.assert_allclose(found["random"][0, :, :3].var(0), 2 / (9 * 4), rtol=0.1)
    assert np.quantile(found["random"][1, :, 1], [0.25, 0.75]).tolist() == pytest.approx([0.25, 0.75], abs=0.03)


def test_each_text_has_draws_of_its_own():
    """Draws shared by texts of a length would make their errors go together, and the interval too short."""
    weights = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).expand(2, -1)[:, None, None]
    response = Response.linear(weights, torch.ones(2, 4, dtype=torch.bool), torch.zeros(2, 1, 4, 2), torch.zeros(1, 2))
    alike, apart = (other_weights(0, names, response, 8) for names in (["a", "a"], ["a", "b"]))
    for kind in ("permuted", "random"):
        assert alike[kind][0].equal(alike[kind][1])
        assert not apart[kind][0].equal(apart[kind][1])


def test_neither_order_nor_company_matters():
    case = case_of("lstm")
    turned = Case(case.subject, case.examples, labels=case.labels, tested=case.tested[::-1])
    a, b = (measure(c, NecessitySettings(draws=50)) for c in (case, turned))
    assert a.examples == b.examples[::-1]
    for name, values in a.per_example.items():
        np.testing.assert_allclose(values, b.per_example[name][::-1], atol=1e-6)


def test_change_is_of_standardised_probabilities():
    """A model and its twin with logits five times as large move alike."""
    small, large = (measure(known("reader@planted_contrast", 60, scale=scale), SEEDS) for scale in (1.0, 5.0))
    for kind in SWAPS:
        assert small.find("change", weights=kind).value == pytest.approx(
            large.find("change", weights=kind).value, abs=1e-4
        )
    assert small.find("change", weights="uniform").value > 0.1


def test_most_change_is_the_largest_and_change_the_mean():
    result = measure(known("reader@planted_contrast", 60), SEEDS)
    assert result.find("most_change").value == result.per_example["change:uniform"].max()
    assert result.find("change", weights="uniform").value == pytest.approx(result.per_example["change:uniform"].mean())
    assert result.find("most_change").value > result.find("change", weights="uniform").high


# Known answers ---------------------------------------------------------------------------------------------------


def test_reader_of_contrast_needs_its_weights():
    """Under uniform weights it counts opinions: right where most of the five agree with the one that decides."""
    case = known("reader@planted_contrast", n=None)  # every example of the task
    counted = []
    for example in case.tested:
        words = example.text.split()
        votes = sum(word in POSITIVE for word in words) - sum(word in NEGATIVE for word in words)
        counted.append((votes > 0) == (example.label == 1))
    result = measure(case, NecessitySettings(shuffles=1, draws=1000))
    free = result.find("accuracy", fit="closed form", weights="free")
    assert free.value == pytest.approx(np.mean(counted))
    assert free.low < 11 / 16 < free.high
    prior = result.find("prior").value
    assert prior == pytest.approx(max(np.mean([e.label for e in case.tested]), 1 - np.mean(case.gold)))
    for against in ("swap", "closed form"):
        needed = result.find("N", against=against)
        assert needed.value == pytest.approx((1 - np.mean(counted)) / (1 - prior))
        assert needed.low < (1 - 11 / 16) / (1 - 1 / 2) < needed.high
        assert needed.high - needed.low < 0.1
        assert result.find("headroom", against=against).value == pytest.approx(1 - prior)
    assert result.facts["family"].startswith("closed form")


@pytest.mark.parametrize(
    ("name", "swap", "closed_form"),
    [
        ("reader@planted_lookup", 1, 1),
        ("reader@planted_keyword", 0, 0),
        ("bystander_right@planted_contrast", 0, 0),
        ("bystander_wrong@planted_lookup", 0, 0),
        ("leaker@planted_contrast", 0, 0),
        ("gauge_twin@planted_keyword", 0, 0),
        ("shifted@planted_contrast", 0.625, 0),  # this model needs its weights, its family does not
    ],
)
def test_known_answers(name, swap, closed_form):
    result = measure(known(name), NecessitySettings(draws=200))
    assert result.find("N", against="swap").value == pytest.approx(swap, abs=0.1)
    assert result.find("N", against="closed form").value == pytest.approx(closed_form, abs=0.05)
    assert result.find("accuracy", fit="swapped", weights="own").value == 1
    assert result.find("accuracy", fit="closed form", weights="learned").value == 1


@pytest.mark.parametrize("name", ["bystander_right@planted_keyword", "bystander_wrong@planted_contrast"])
def test_a_bystander_does_not_change_at_all(name):
    result = measure(known(name), SEEDS)
    assert result.find("most_change", weights="uniform").value < 1e-6
    assert result.find("change", weights="random").value < 1e-6


def test_reader_of_keyword_uses_what_it_does_not_need():
    result = measure(known("reader@planted_keyword"), SEEDS)
    assert result.find("change", weights="uniform").value == pytest.approx(0.35, abs=0.02)
    assert result.find("N", against="swap")[1:4] == (0, 0, 0)


# Edges -----------------------------------------------------------------------------------------------------------


def test_every_example_counts_and_no_number_is_undefined():
    case = case_of("average three labels")
    result = measure(case, NecessitySettings(draws=50))
    assert result.examples == tuple(example.id for example in case.tested)
    assert not result.excluded
    assert {len(values) for values in result.per_example.values()} == {len(case.tested)}
    assert not any(math.isnan(number) for m in result.measurements for number in (m.value, m.low, m.high))
    counted = {m.name: m.n + m.by.get("undefined", 0) for m in result.measurements}
    assert set(counted.values()) == {len(case.tested)}
    one_word = [len(example.words) == 1 for example in case.tested]
    assert sum(one_word) == 1
    assert np.isnan(result.per_example["evenness"]).tolist() == one_word
    assert result.find("evenness").by == {"undefined": 1}, "one word has nothing to spread over, and is counted"
    assert np.isfinite([of for name, of in result.per_example.items() if name != "evenness"]).all()


def test_evenness_is_entropy_over_that_of_uniform_weights():
    case = case_of("lstm")
    for row, found in zip(case.own.each, evenness_of(case.own), strict=True):
        weights = row[0, 0]
        if len(weights) == 1:
            assert math.isnan(found)
        else:
            assert found == pytest.approx(-(weights * np.log(weights)).sum() / math.log(len(weights)), abs=1e-6)
    result = measure(case, SEEDS)
    values = result.per_example["evenness"]
    assert result.find("evenness").value == pytest.approx(np.nanmean(values))
    assert 0 < np.nanmin(values) <= np.nanmax(values) <= 1 + 1e-6
    assert np.nanmax(np.abs(1 - evenness_of(record(case.subject, case.tested, impose={"weights": "uniform"})))) < 1e-6


def relabelled(case, labels):
    examples = [replace(example, label=int(label)) for example, label in zip(case.tested, labels, strict=True)]
    return Case(case.subject, examples, labels=case.labels)


def test_without_room_there_is_no_share_of_it():
    case = known("reader@planted_keyword", 40)
    predicted = case.own.predicted
    one, other = (np.flatnonzero(predicted == label)[:8] for label in (0, 1))
    picked = Case(case.subject, [case.tested[i] for i in (*one, *other)], labels=case.labels)
    result = measure(relabelled(picked, [0, 1] * 8), SEEDS)
    assert result.find("headroom", against="swap").value == 0
    assert not [m for m in result.measurements if m.name == "N"]


def test_where_some_resample_has_no_room_nothing_is_known():
    case = known("reader@planted_keyword", 4)
    labels = [1 - case.own.predicted[0], *case.own.predicted[1:]]
    found = [m for m in measure(relabelled(case, labels), SEEDS).measurements if m.name == "N"]
    assert [m[2:4] for m in found] == [(-math.inf, math.inf)] * 2


def test_refusals():
    unlabelled = Case(SUBJECTS["lstm"][0], [Example("a", "not so bad")], labels=("no", "yes"))
    with pytest.raises(NotSupported, match="example a does not have exactly one label"):
        measure(unlabelled, SEEDS)
    several = [Example(f"e{n}", "not so bad", label=n) for n in range(2)]
    with pytest.raises(NotSupported, match="several decisions"):
        measure(Case(SUBJECTS["label-wise"][0], several, labels=("a", "b", "c")), SEEDS)
    with pytest.raises(BadInput, match=r"necessity\.seeds must be at least 1, not 0"):
        NecessitySettings(seeds=0)
    with pytest.raises(UnknownName, match=r"in necessity\.retrained 'lats' .did you mean 'last'"):
        NecessitySettings(retrained=("uniform", "lats"))
    with pytest.raises(BadInput, match="names a kind of weights twice: last,last"):
        NecessitySettings(retrained=("last", "last"))


def test_without_refits_it_says_what_it_can():
    case = case_of("lstm")
    result = measure(case, SEEDS)
    assert plan(case, SEEDS) == []
    assert {m.by["fit"] for m in result.measurements if m.name == "accuracy"} == {"swapped"}
    assert {m.by["against"] for m in result.measurements if m.name in ("N", "headroom")} == {"swap"}
    assert "nothing was retrained" in result.facts["family"]


# Fits of a planted task ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    whole = load_task("planted_keyword")
    sizes = {"train": 200, "dev": 40, "test": 80}
    return replace(whole, splits={name: Split(name, whole[name].examples[:n]) for name, n in sizes.items()})


@pytest.fixture(scope="module")
def store(corpus, tmp_path_factory):
    """The subject, seed 1 of its recipe, and a store in which the fits that necessity plans were made."""
    folder = tmp_path_factory.mktemp("fits")
    recipe = plan_recipe(corpus, encoder="average", hidden=8, embedding=8, epochs=8, learning_rate=0.03, seed=1)
    fit_recipe(recipe, corpus, folder / "base")
    case = refit_case(corpus, folder)
    outcomes = case.fits.make(plan(case, SEEDS))
    assert {outcome.state for outcome in outcomes} == {"done"}
    return folder


def refit_case(corpus, folder, where="fits"):
    subject = load_folder(folder / "base")
    made = Fits(subject, corpus, store=folder / where, device="cpu")
    tested = corpus["test"].examples
    return Case(subject, tested[:40], labels=corpus.labels, tested=tested, trained_on=corpus, fits=made)


def by_hand(case, recipe):
    """The test accuracy of one fit, read from its folder."""
    own = recipe == case.fits.recipe
    subject = case.subject if own else load_folder(case.fits.store / recipe.id)
    return evaluate(subject, case.tested, impose=recipe.impose)


def wanted_recipes(case):
    own = case.fits.recipe
    learned = [own, replace(own, seed=0), replace(own, seed=2)]
    free = {kind: [replace(r, impose={"weights": kind}) for r in learned] for kind in ("uniform", "last")}
    return {"learned": learned, **free}


def test_the_plan_is_every_other_fit_and_not_the_subject_itself(corpus, store):
    case = refit_case(corpus, store)
    wanted = wanted_recipes(case)
    planned = plan(case, SEEDS)
    assert case.fits.recipe not in planned
    assert {r.id for r in planned} == {r.id for of_kind in wanted.values() for r in of_kind} - {case.fits.recipe.id}
    assert len(planned) == 8
    folders = {path.name for path in (store / "fits").iterdir() if (path / "config.json").is_file()}
    assert folders == {r.id for r in planned} | {case.fits.base}, "the subject is kept as it is, not fitted"


def test_retrained_numbers_are_those_of_the_fits(corpus, store, monkeypatch):
    case = refit_case(corpus, store)
    asked = set()
    said = Fits.said
    monkeypatch.setattr(Fits, "said", lambda self, r, *rest: (asked.add(r.id), said(self, r, *rest))[1])
    result = measure(case, SEEDS)
    assert asked == {recipe.id for recipe in plan(case, SEEDS)} | {case.fits.recipe.id}, "plan and measure agree"
    assert result.not_run == {}
    scores = {kind: [by_hand(case, r) for r in recipes] for kind, recipes in wanted_recipes(case).items()}
    accuracy = {kind: np.mean([one.accuracy for one in of_kind]) for kind, of_kind in scores.items()}
    assert accuracy["learned"] > 0.7, "otherwise there is nothing to need"
    assert len(set(accuracy.values())) > 1
    for kind, value in accuracy.items():
        found = result.find("accuracy", fit="retrained", weights=kind)
        assert (found.value, found.n) == (pytest.approx(value), 3)
        assert found.low < value < found.high
        f1 = result.find("f1", fit="retrained", weights=kind)
        assert f1.value == pytest.approx(np.mean([one.f1 for one in scores[kind]]))
    for kind in ("uniform", "last"):
        lost = result.find("difference", free=kind)
        assert lost.value == pytest.approx(accuracy["learned"] - accuracy[kind])
    needed = result.find("N", against="retrained")
    prior = result.find("prior").value
    free = accuracy[needed.by["free"]]
    assert needed.value == pytest.approx((accuracy["learned"] - free) / (accuracy["learned"] - prior))
    assert result.find("headroom", against="retrained").value == pytest.approx(accuracy["learned"] - prior)
    assert result.facts["family"] == (
        "average encoder (8 hidden), tanh attention, linear decoder; at most 8 epochs over 200 texts"
    )


def test_more_kinds_can_be_trained_and_decide_nothing(corpus, store):
    """N, and so the card, is against the better of uniform and last, whatever else was trained."""
    shutil.copytree(store / "fits", store / "more kinds")
    case = refit_case(corpus, store, "more kinds")
    kinds = ("uniform", "last", "first", "permuted")
    every = replace(SEEDS, retrained=kinds)
    planned = plan(case, every)
    assert {r.id for r in plan(case, SEEDS)} < {r.id for r in planned}
    assert len(planned) == 2 + 3 * len(kinds)
    assert {outcome.state for outcome in case.fits.make(planned)} == {"done", "reused"}
    found, few = measure(case, every), measure(case, SEEDS)
    assert found.find("N", against="retrained") == few.find("N", against="retrained")
    for kind in kinds:
        right = [by_hand(case, replace(r, impose={"weights": kind})) for r in wanted_recipes(case)["learned"]]
        accuracy = found.find("accuracy", fit="retrained", weights=kind)
        assert (accuracy.value, accuracy.n) == (pytest.approx(np.mean([one.accuracy for one in right])), 3)
        learned = found.find("accuracy", fit="retrained", weights="learned").value
        assert found.find("difference", free=kind).value == pytest.approx(learned - accuracy.value)
    # With neither of the two there is nothing that N could be against, and no index without uniform weights.
    alone = measure(case, replace(SEEDS, retrained=("permuted",)))
    assert alone.find("difference", free="permuted") == found.find("difference", free="permuted")
    assert [m.by["against"] for m in alone.measurements if m.name == "N"] == ["swap"]
    assert not [m for m in alone.measurements if m.name == "index"]


def test_the_index_is_the_share_of_all_accuracy(corpus, store):
    case = refit_case(corpus, store)
    result = measure(case, SEEDS)
    learned, uniform = (result.find("accuracy", fit="retrained", weights=w).value for w in ("learned", "uniform"))
    index = result.find("index")
    assert index.value == pytest.approx((learned - uniform) / learned)
    assert (index.by, index.n) == ({"against": "retrained", "free": "uniform"}, 3)
    assert index.low < index.value < index.high


def test_pairs_of_a_seed_stay_together(corpus, store):
    """The interval of the difference is that of paired rows, which another order of the seeds would not give."""
    case = refit_case(corpus, store)
    right = {
        kind: np.stack([case.fits.said(r, case.tested, "tested").predicted == case.gold for r in recipes]) * 1.0
        for kind, recipes in wanted_recipes(case).items()
    }
    result = measure(case, SEEDS)
    for kind in ("uniform", "last"):
        found = result.find("difference", free=kind)
        assert found[1:5] == pytest.approx(stats.two_way_interval(right["learned"] - right[kind]))
    needed = result.find("N", against="retrained")
    common = (case.gold == np.bincount(case.gold).argmax()) * 1.0
    lost = right["learned"] - right[needed.by["free"]]
    assert needed[1:5] == pytest.approx(stats.two_way_ratio_interval(lost, right["learned"] - common))
    turned = right["learned"] - right["uniform"][[1, 2, 0]]
    assert result.find("difference", free="uniform").low != pytest.approx(stats.two_way_interval(turned).low)


@pytest.mark.parametrize("better", ["uniform", "last"])
def test_the_better_is_chosen_on_dev(corpus, store, monkeypatch, better):
    case = refit_case(corpus, store)
    said = Fits.said

    def on_dev(self, recipe, examples, where):
        found = said(self, recipe, examples, where)
        if where != "dev":
            return found
        gold = np.array([example.label for example in examples])
        right = gold if recipe.impose["weights"] == better else 1 - gold
        return replace(found, log_probabilities=np.log(np.where(right[:, None] == [0, 1], 0.9, 0.1))[:, None])

    monkeypatch.setattr(Fits, "said", on_dev)
    assert measure(case, SEEDS).find("N", against="retrained").by["free"] == better


def test_a_failed_fit_is_named_and_the_rest_is_used(corpus, store, monkeypatch):
    shutil.copytree(store / "fits", store / "some failed")
    case = refit_case(corpus, store, "some failed")
    recipes = wanted_recipes(case)
    broken = {recipes["uniform"][1].id, recipes["learned"][2].id}
    for name in broken:
        shutil.rmtree(store / "some failed" / name)
    fit_job = fits.fit_job

    def sometimes(argument, folder, where):
        if folder.name.strip(".").removesuffix(".part") in broken:
            raise RuntimeError("out of memory")
        fit_job(argument, folder, where)

    monkeypatch.setattr(fits, "fit_job", sometimes)
    outcomes = case.fits.make(plan(case, SEEDS))
    assert sorted(outcome.state for outcome in outcomes) == ["failed"] * 2 + ["reused"] * 6
    result = measure(case, SEEDS)
    assert set(result.not_run) == {describe(recipes["uniform"][1]), describe(recipes["learned"][2])}
    assert all("out of memory" in reason for reason in result.not_run.values())
    counted = {kind: result.find("accuracy", fit="retrained", weights=kind).n for kind in recipes}
    assert counted == {"learned": 2, "uniform": 2, "last": 3}
    # In pairs: seeds 1 and 0 were learned, seeds 1 and 2 have uniform weights.
    assert result.find("difference", free="uniform").n == 1
    assert result.find("difference", free="last").n == 2
    assert math.isinf(result.find("difference", free="uniform").high)


def test_where_every_fit_failed_the_swaps_remain(corpus, store):
    case = refit_case(corpus, store, "never made")
    result = measure(case, SEEDS)
    assert len(result.not_run) == 8
    assert result.find("accuracy", fit="retrained", weights="learned").n == 1
    assert [m.by["against"] for m in result.measurements if m.name == "N"] == ["swap"]
