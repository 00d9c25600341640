"""Deception: the loss against its closed form, known answers, planted models that deceive and do not, and what is said
where nothing can be."""

import itertools
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from heatcheck import stats
from heatcheck.auditing import plan_audit
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.deception import DeceptionSettings, Group, _deceives, plan
from heatcheck.checks.marked_words import Looked, Marked, linear_read_out, look, rings
from heatcheck.data import Batch, Corpus, Example, Split
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import KNOWN_ANSWERS, Run, Site, load_folder
from heatcheck.models.known_answers import Reader
from heatcheck.training import LOSSES, Fits, fit_recipe, plan_recipe, predict, record
from subjects import SINGLE, SUBJECTS, classifier

measure = CHECKS["deception"].measure
FEW = DeceptionSettings(strengths=(1.0,), seeds=2, draws=50)
KEYWORD = planted("planted_keyword", seed=0, fillers=(2, 4), sizes=(240, 40, 120))
TINY = {
    "embedding": 16,
    "embedding_scale": 1.0,
    "hidden": 16,
    "dropout": 0.0,
    "epochs": 5,
    "batch_size": 16,
    "learning_rate": 0.03,
    "min_documents": 1,
    "patience": 0,
    "attention": "linear",
}
WEIGHTS, MARK = Site("attention"), "rationale"


def case_of(subject, corpus=KEYWORD, **more):
    tested = corpus["test"].examples
    return Case(subject, tested[:20], labels=subject.labels, tested=tested, trained_on=corpus, **more)


def known(kind, **nuisance):
    return KNOWN_ANSWERS[kind]("planted_keyword", **nuisance)


def fitted(folder, **settings):
    """A case whose fits are made, for each kind of encoder once."""
    recipe = plan_recipe(KEYWORD, seed=0, **TINY, **settings)
    fit_recipe(recipe, KEYWORD, folder / "base", device="cpu")
    subject = load_folder(folder / "base")
    fits = Fits(subject, KEYWORD, store=folder / "fits", device="cpu")
    case = case_of(subject, fits=fits)
    assert all(outcome.folder for outcome in fits.make(plan(case, FEW)))
    return case


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("lstm"), encoder="lstm")


@pytest.fixture(scope="module")
def context_free(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("none"), encoder="none")


@pytest.fixture(scope="module")
def of_recurrent(recurrent):
    return measure(recurrent, FEW)


@pytest.fixture(scope="module")
def of_context_free(context_free):
    return measure(context_free, FEW)


def value(result, name, fit, **by):
    return result.find(name, fit=fit, **by).value


# The loss --------------------------------------------------------------------------------------------------------


def marked_batch(scored, marked, gold):
    scored = torch.tensor(scored)
    word = torch.where(scored, scored.cumsum(1) - 1, -1)
    names = tuple(f"e{n}" for n in range(len(scored)))
    return Batch(names, {}, scored, scored, word, torch.tensor(gold)[:, None], {MARK: torch.tensor(marked)})


def loss_of(weights, logits, batch, strength):
    weights, logits = (torch.as_tensor(part, dtype=torch.double) for part in (weights, logits))
    run = Run(logits[:, None], torch.zeros(len(logits), 1, dtype=torch.long), {WEIGHTS: weights[:, None, None]})
    return LOSSES["deceptive"].of(Reader("planted_keyword"), run, batch, {"strength": strength, "mark": MARK}, None)


def test_the_loss_by_hand():
    """−ln p(gold) − λ ln(1 − mass), an example each; what is not scored carries no mark, and no mark costs nothing."""
    scored = [[True, True, True], [True, True, False], [True, True, True]]
    marked = [[True, False, True], [False, True, True], [False, False, False]]
    weights = [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0], [0.2, 0.5, 0.3]]
    logits = np.log([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]])
    found = loss_of(weights, logits, marked_batch(scored, marked, [1, 0, 1]), 0.7)
    wanted = [-np.log(0.75) - 0.7 * np.log(0.3), np.log(2) - 0.7 * np.log(0.9), -np.log(0.1)]
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_the_loss_has_the_gradient_that_differences_have():
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(4, 6, generator=draw, dtype=torch.double)
    marked = (torch.rand(4, 6, generator=draw) < 0.4).tolist()
    batch = marked_batch([[True] * 6] * 4, marked, [0, 1, 1, 0])
    votes = torch.randn(4, 6, 2, generator=draw, dtype=torch.double)

    def total(of_scores):
        weights = of_scores.softmax(-1)
        logits = torch.einsum("et,etl->el", weights, votes)
        return loss_of(weights, logits, batch, 1.3).sum()

    asked = scores.clone().requires_grad_()
    total(asked).backward()
    step = 1e-6
    for row, place in itertools.product(range(4), range(6)):
        moved = torch.zeros_like(scores)
        moved[row, place] = step
        slope = (total(scores + moved) - total(scores - moved)) / (2 * step)
        assert asked.grad[row, place].item() == pytest.approx(slope.item(), abs=1e-6)
    assert asked.grad.abs().max() > 0.1


def test_the_loss_bears_a_mass_of_one():
    """In the published code it is infinite there, and the pronoun task is nearly there."""
    batch = marked_batch([[True, True]], [[True, False]], [0])
    for left in (1e-9, 0.0):
        found = loss_of([[1 - left, left]], [[0.0, 0.0]], batch, 1.0)
        assert np.log(2) < found.item() < 30
    near = loss_of([[1.0, 1e-9]], [[0.0, 0.0]], batch, 1.0).item()
    assert near == pytest.approx(np.log(2) + 9 * np.log(10)), "digits of what is left are kept"


# What is looked at in one model -----------------------------------------------------------------------------------


def test_distances_by_brute_force():
    draw = np.random.default_rng(0)
    marked, scored = draw.random((40, 12)) < 0.15, np.ones((40, 12), bool)
    scored[:, 9:] = draw.random((40, 3)) < 0.5
    marked &= scored
    found = rings(torch.from_numpy(marked), torch.from_numpy(scored))
    for row, place in itertools.product(range(40), range(12)):
        near = min((abs(place - at) for at in np.flatnonzero(marked[row])), default=99)
        here = [distance for distance, ring in found.items() if ring[row, place]]
        assert here == ([near] if 1 <= near <= 3 and scored[row, place] else [])


def test_what_is_seen_of_one_model_by_hand():
    """Every number from the parts of a plain run, a text at a time."""
    subject = classifier(SINGLE, encoder="lstm", attention="linear")
    marks = [(False, True, False), (True, False), None, (False,) * 4 + (True, True) + (False,) * 7, (True, True, False)]
    examples = [replace(e, marks={MARK: m} if m else {}) for e, m in zip(SINGLE, marks, strict=True)]
    texts = Marked.of(subject, examples, MARK)
    assert [example.id for example in texts.examples] == ["e0", "e1", "e3", "e4"]
    assert texts.excluded == {"e2": "none of its words is marked rationale"}
    assert [example.text for example in texts.without][:2] == ["not bad", "film"]
    gold = np.array([example.label for example in texts.examples])
    (looked, missing) = look(subject, texts, gold)
    assert missing == {}
    for row, example in enumerate(texts.examples):
        batch = subject.encode([example])
        with torch.no_grad():
            run = subject.run(batch, want=[WEIGHTS, Site("embedding"), Site("state")])
        words = slice(1, 1 + len(example.words))
        weights = run.parts[WEIGHTS][0, 0, 0, words].double().numpy()
        here = np.array(example.marks[MARK])
        assert looked.values["mass"][row] == pytest.approx(weights[here].sum(), abs=1e-6)
        for name, site in (("norm_embedding", "embedding"), ("norm_state", "state")):
            lengths = np.linalg.norm(run.parts[Site(site)][0, words].double().numpy(), axis=1)
            assert looked.values[name][row] == pytest.approx(lengths[here].sum() / lengths.sum(), abs=1e-6)
        votes = run.parts[Site("state")][0, words] @ subject.output.weight[0] + subject.output.bias
        adds = np.abs(weights * votes.detach().double().numpy())
        assert looked.values["contribution"][row] == pytest.approx(adds[here].sum() / adds.sum(), abs=1e-5)
        without = predict(subject, [texts.without[row]])[0, 0].argmax()
        assert looked.values["after_deletion"][row] == (without == example.label)
        assert looked.values["accuracy"][row] == (run.logits[0, 0].argmax().item() == example.label)
        assert looked.predicted[row] == run.logits[0, 0].argmax()


def test_a_read_out_that_is_not_linear_has_no_contributions():
    subject, pairs = SUBJECTS["pair merge"]
    examples = [replace(e, marks={MARK: (True, *(False,) * (len(e.words) - 1))}) for e in pairs]
    looked, missing = look(subject, Marked.of(subject, examples, MARK), np.zeros(4, dtype=np.int64))
    assert "contribution" not in looked.values
    assert "not linear" in missing["contribution"]


def test_the_linear_read_out_finds_what_is_linear():
    draw = np.random.default_rng(0)
    features, asked = draw.normal(size=(300, 6)), draw.normal(size=(200, 6))
    truth = np.array([[3.0, 0, 0, -2, 0, 1], [0, 3.0, 1, 0, -2, 0], [-1, -1, 3.0, 0, 0, 0]])
    labels, wanted = (features @ truth.T + 5).argmax(1), (asked @ truth.T + 5).argmax(1)
    assert (linear_read_out(100 + 50 * features, labels, 100 + 50 * asked) == wanted).mean() > 0.9
    flat = [np.concatenate([part, np.full((len(part), 1), 7.0)], axis=1) for part in (features, asked)]
    assert (linear_read_out(flat[0], labels, flat[1]) == linear_read_out(features, labels, asked)).all()
    shuffled = draw.permutation(labels)
    assert (linear_read_out(features, shuffled, asked) == wanted).mean() < 0.6, "nothing to find"


# Models whose answer is known -------------------------------------------------------------------------------------


def test_a_reader_shows_its_words_and_its_gauge_twin_hides_them():
    found = measure(case_of(known("reader")), FEW)
    assert value(found, "accuracy", "honest") == value(found, "accuracy", "gauge twin") == 1
    assert value(found, "mass", "honest") > 0.98
    assert value(found, "mass", "gauge twin") < 0.01
    assert value(found, "agreement", "gauge twin") == 1
    assert value(found, "mass_removed", "gauge twin") > 0.97
    for fit in ("honest", "gauge twin"):
        assert abs(value(found, "after_deletion", fit) - found.find("prior").value) < 0.1, "it uses them all the same"
        assert value(found, "contribution", fit) > 0.99, "what a word adds cannot be hidden so"
        assert value(found, "rest_states", fit) == pytest.approx(value(found, "rest_embeddings", fit))
    assert "written by hand" in found.not_run["deceptive models"]
    assert found.facts["deceives"] is None


def test_a_shifted_model_hides_its_words_in_the_next_state():
    found = measure(case_of(known("shifted")), FEW)
    assert value(found, "accuracy", "honest") == 1
    assert value(found, "mass", "honest") < 0.01
    assert value(found, "deletion_loss", "honest") > 0.4
    ends = [(example.marks[MARK].index(True), len(example.words)) for example in KEYWORD["test"]]
    goes = [1 if at + 1 < words else at for at, words in ends]  # one to the right; off the end it wraps around
    for distance in (1, 2, 3):
        near = value(found, "neighbours", "honest", distance=distance)
        assert near == pytest.approx(np.mean(np.equal(goes, distance)), abs=0.01)
    assert value(found, "norm_state", "honest") < 0.01 < 0.99 < value(found, "norm_embedding", "honest")
    assert value(found, "rest_states", "honest") == 1
    assert value(found, "rest_embeddings", "honest") < 0.65


def test_words_that_are_not_used_are_said_not_to_be():
    """The null: the mark is on filler words."""

    def elsewhere(example):
        at = example.marks[MARK].index(True)
        other = tuple(place == (at + 1) % len(example.words) for place in range(len(example.words)))
        return replace(example, marks={"filler": other})

    splits = {name: Split(name, tuple(map(elsewhere, KEYWORD[name]))) for name in KEYWORD.splits}
    found = measure(case_of(known("reader"), replace(KEYWORD, splits=splits)), replace(FEW, mark="filler"))
    assert found.facts["mark"] == "filler"
    assert value(found, "mass", "honest") < 0.01
    assert value(found, "deletion_loss", "honest") == 0
    assert value(found, "after_deletion", "honest") == 1


# Models that are trained ------------------------------------------------------------------------------------------


def test_a_recurrent_model_deceives_and_its_words_are_in_the_other_states(of_recurrent):
    deceptive = {"fit": "deceptive", "strength": 1.0}
    assert value(of_recurrent, "mass", "honest") > of_recurrent.find("share").value + 0.15, (
        "or there is nothing to hide"
    )
    assert of_recurrent.find("mass", **deceptive).value < 0.08
    assert min(m.value for m in of_recurrent.measurements if m.name == "accuracy") > 0.9
    for fit in ("honest", "deceptive"):
        assert value(of_recurrent, "deletion_loss", fit) > 0.3
    assert of_recurrent.find("rest_states", **deceptive).value > 0.85
    assert of_recurrent.find("rest_embeddings", **deceptive).value < 0.65
    assert of_recurrent.find("neighbours", distance=1, **deceptive).value > 0.2
    assert of_recurrent.facts["deceives"] == 1.0
    assert of_recurrent.find("deceived")[1:5] == of_recurrent.find("mass_removed", **deceptive)[1:5]
    assert "in context" in of_recurrent.facts["no_twin"]
    assert of_recurrent.not_run == {}


def test_one_without_context_cannot_learn_it_and_has_a_twin_that_does_it(of_context_free, context_free):
    assert of_context_free.find("mass", fit="deceptive").value < 0.2
    assert of_context_free.find("accuracy_lost", fit="deceptive").value > 0.3
    assert of_context_free.facts["deceives"] is None
    assert not [m for m in of_context_free.measurements if m.name == "deceived"]
    assert value(of_context_free, "accuracy_lost", "gauge twin") == 0
    assert value(of_context_free, "agreement", "gauge twin") == 1
    assert value(of_context_free, "mass", "gauge twin") < 0.02 < 0.4 < value(of_context_free, "mass", "honest")
    for name in ("contribution", "after_deletion"):
        assert value(of_context_free, name, "gauge twin") == pytest.approx(
            value(of_context_free, name, "honest"), abs=1e-3
        )
    norms = of_context_free.facts["longest_embedding"]
    assert norms["gauge twin"] > 10 * norms["honest"]
    # Each is kept as a folder like any other, and can be audited.
    assert len(of_context_free.facts["twins"]) == 2
    twin = load_folder(context_free.fits.store / of_context_free.facts["twins"][0])
    same = record(twin, context_free.tested).predicted == context_free.own.predicted
    assert same.all()
    assert plan_audit(twin, KEYWORD, checks=["gauge"], examples=10).checks.keys() == {"gauge"}


def test_numbers_are_those_of_the_models_themselves(of_recurrent, recurrent):
    """Each fit recorded anew from its folder: means over seeds and texts, and both spreads in the interval."""
    for by, loss in (({"fit": "honest"}, "likelihood"), ({"fit": "deceptive", "strength": 1.0}, "deceptive")):
        models = [
            load_folder(config.parent)
            for config in recurrent.fits.store.glob("*/config.json")
            if load_folder(config.parent).recipe.loss["name"] == loss
        ]
        models = {model.recipe.seed: model for model in models}
        assert set(models) == {0, 1}
        mass, right = [], []
        for seed in (0, 1):
            said = record(models[seed], recurrent.tested)
            right.append(said.predicted == recurrent.gold)
            mass.append(
                [
                    weights[0, 0][np.array(e.marks[MARK])].sum()
                    for weights, e in zip(said.each, recurrent.tested, strict=True)
                ]
            )
        for name, wanted in (("mass", np.array(mass)), ("accuracy", np.array(right))):
            m = of_recurrent.find(name, **by)
            np.testing.assert_allclose(m[1:5], stats.two_way_interval(wanted), atol=1e-6)
            each = [of_recurrent.find(f"fit_{name}", seed=seed, **by).value for seed in (0, 1)]
            assert each == pytest.approx(wanted.mean(1).tolist(), abs=1e-6)
        key = "honest" if loss == "likelihood" else "deceptive:1"
        np.testing.assert_allclose(of_recurrent.per_example[f"mass:{key}"], np.mean(mass, 0), atol=1e-6)
        found = of_recurrent.find("after_deletion", **by).value
        without = [
            replace(e, text=" ".join(w for w, m in zip(e.words, e.marks[MARK], strict=True) if not m), marks={})
            for e in recurrent.tested
        ]
        wanted = np.mean([record(models[seed], without).predicted == recurrent.gold for seed in (0, 1)])
        assert found == pytest.approx(wanted)
    share = np.mean([np.mean(example.marks[MARK]) for example in recurrent.tested])
    assert of_recurrent.find("share").value == pytest.approx(share)
    assert of_recurrent.find("prior").value == np.bincount(recurrent.gold).max() / len(recurrent.gold)


def test_differences_are_paired_by_seed(of_recurrent):
    values = {
        (fit, name): [m.value for m in of_recurrent.measurements if m.name == f"fit_{name}" and m.by["fit"] == fit]
        for fit in ("honest", "deceptive")
        for name in ("accuracy", "mass")
    }
    for name, called in (("accuracy", "accuracy_lost"), ("mass", "mass_removed")):
        apart = np.subtract(values["honest", name], values["deceptive", name])
        found = of_recurrent.find(called, fit="deceptive")
        assert found.value == pytest.approx(apart.mean(), abs=1e-9)
        assert found.n == 2
    assert all(np.isfinite(m[1:4]).all() for m in of_recurrent.measurements)
    assert all(m.baseline for m in of_recurrent.measurements)


def test_a_fit_that_is_missing_is_named_and_loses_nothing_else(recurrent, tmp_path):
    shutil.copytree(recurrent.fits.store, tmp_path / "fits")
    fits = Fits(recurrent.subject, KEYWORD, store=tmp_path / "fits", device="cpu")
    gone = [recipe for recipe in plan(recurrent, FEW) if recipe.loss["name"] == "deceptive" and recipe.seed == 0]
    shutil.rmtree(tmp_path / "fits" / gone[0].id)
    fits.failed[gone[0].id] = "no memory left"
    found = measure(case_of(recurrent.subject, fits=fits), FEW)
    ((name, reason),) = found.not_run.items()
    assert name == "deceptive model at λ = 1, seed 0"
    assert "no memory left" in reason
    assert found.find("mass", fit="deceptive").n == 1
    assert found.find("accuracy_lost", fit="deceptive").n == 1, "seed 1 beside seed 1"
    assert found.find("mass", fit="honest").n == 2
    for recipe in plan(recurrent, FEW):
        shutil.rmtree(tmp_path / "fits" / recipe.id, ignore_errors=True)
    assert {
        m.by["fit"] for m in measure(case_of(recurrent.subject, fits=fits), FEW).measurements if m.by.get("fit")
    } == {"honest"}, "the audited model itself is always there"


# Who deceives -----------------------------------------------------------------------------------------------------


def group(fit, accuracy, mass, strength=None):
    """Two seeds on 100 texts."""
    values = {
        "accuracy": (np.arange(100) < 100 * accuracy).astype(float),
        "mass": np.full(100, mass),
    }
    by = {"fit": fit} if strength is None else {"fit": fit, "strength": strength}
    return Group(by, {seed: Looked(np.zeros(100, dtype=np.int64), values) for seed in (0, 1)})


@pytest.mark.parametrize(
    ("groups", "chosen"),
    [
        ([(0.1, 0.89, 0.3), (1.0, 0.88, 0.1)], 1.0),  # the least weight of those within two points
        ([(0.1, 0.89, 0.3), (1.0, 0.87, 0.1)], 0.1),  # three points lost: not that one
        ([(0.1, 0.8, 0.3)], None),
        ([(0.1, 0.9, 0.6)], None),  # as right, and no weight was moved
        ([(0.1, 0.95, 0.2)], 0.1),
        ([], None),
    ],
)
def test_who_deceives_in_the_words_of_the_paper(groups, chosen):
    honest = group("honest", 0.9, 0.5)
    made = [group("deceptive", accuracy, mass, strength) for strength, accuracy, mass in groups]
    found = _deceives([honest, *made, group("gauge twin", 0.9, 0.01)], 0.02)
    assert (found.by["strength"] if found else None) == chosen


# What it plans, and what it refuses ---------------------------------------------------------------------------------


def test_what_is_planned(recurrent):
    recipes = plan(recurrent, replace(FEW, strengths=(0.1, 1.0), seeds=3))
    named = sorted((recipe.loss["name"], recipe.loss.get("strength", 0.0), recipe.seed) for recipe in recipes)
    wanted = [("deceptive", strength, seed) for strength in (0.1, 1.0) for seed in range(3)]
    assert named == [*wanted, ("likelihood", 0.0, 1), ("likelihood", 0.0, 2)]
    assert {recipe.loss["mark"] for recipe in recipes if recipe.loss["name"] == "deceptive"} == {MARK}
    own = recurrent.fits.recipe
    assert all(replace(recipe, loss=own.loss, seed=0) == own for recipe in recipes), "nothing else differs"
    assert len({recipe.id for recipe in recipes}) == len(recipes)


def test_a_deceptive_model_is_set_beside_honest_ones(recurrent, tmp_path):
    """Audited itself, it is one of the deceptive, and what labels weigh stays."""
    (decoy,) = (r for r in plan(recurrent, FEW) if r.loss["name"] == "deceptive" and r.seed == 0)
    weighed = replace(decoy, loss={**decoy.loss, "label_weight": [1.0, 2.0]})
    subject = load_folder(recurrent.fits.store / decoy.id)
    subject.recipe = weighed
    case = case_of(subject, fits=Fits(subject, KEYWORD, store=tmp_path, device="cpu"))
    recipes = plan(case, FEW)
    assert weighed not in recipes
    assert sorted((r.loss["name"], r.seed) for r in recipes) == [("deceptive", 1), ("likelihood", 0), ("likelihood", 1)]
    assert all(recipe.loss["label_weight"] == [1.0, 2.0] for recipe in recipes)


def test_without_marks_there_is_nothing_to_hide(recurrent):
    plain = tuple(replace(example, marks={}) for example in KEYWORD["test"])
    other = tuple(replace(example, marks={"entity": example.marks[MARK]}) for example in KEYWORD["test"])
    for examples, reason in ((plain, "marks any as impermissible or rationale"), (other, r"one of theirs \(entity\)")):
        case = Case(recurrent.subject, examples[:5], labels=recurrent.labels, tested=examples, fits=recurrent.fits)
        assert plan(case, FEW) == []
        with pytest.raises(NotSupported, match=reason):
            measure(case, FEW)
    both = tuple(replace(e, marks={**e.marks, "impermissible": e.marks[MARK]}) for e in KEYWORD["test"])
    case = Case(recurrent.subject, both[:5], labels=recurrent.labels, tested=both, fits=recurrent.fits)
    assert plan(case, FEW) == [], "it was trained on texts without such a mark"
    with pytest.raises(NotSupported, match="no word is marked impermissible in the training texts"):
        measure(case, FEW)


def test_without_fits_it_says_how_to_get_some(recurrent):
    case = case_of(recurrent.subject)
    assert plan(case, FEW) == []
    with pytest.raises(NotSupported, match="add --refit"):
        measure(case, FEW)


def test_sentences_are_not_words(tmp_path):
    recipe = plan_recipe(KEYWORD, seed=0, encoder="none", hierarchical=True, epochs=1, embedding=4, hidden=4)
    fit_recipe(recipe, KEYWORD, tmp_path / "han", device="cpu")
    subject = load_folder(tmp_path / "han")
    case = case_of(subject, fits=Fits(subject, KEYWORD, store=tmp_path, device="cpu"))
    assert plan(case, FEW) == []
    with pytest.raises(NotSupported, match="attends to sentences"):
        measure(case, FEW)


def test_texts_without_marked_or_without_other_words_are_listed():
    first, second, third, *rest = KEYWORD["test"].examples
    tested = (
        replace(first, marks={MARK: (False,) * len(first.words)}),
        replace(second, marks={MARK: (True,) * len(second.words)}),
        replace(third, marks={}),
        *rest,
    )
    corpus = replace(KEYWORD, splits={**KEYWORD.splits, "test": Split("test", tested)})
    found = measure(case_of(known("reader"), corpus), FEW)
    assert found.excluded == {
        first.id: "none of its words is marked rationale",
        second.id: "all of its words are marked rationale, and nothing is left without them",
        third.id: "none of its words is marked rationale",
    }
    assert len(found.examples) + len(found.excluded) == len(tested)
    assert {len(values) for values in found.per_example.values()} == {len(rest)}
    alone = Corpus("alone", KEYWORD.labels, {"train": KEYWORD["train"], "test": Split("test", tested[:3])})
    with pytest.raises(NotSupported, match="no text has both words marked rationale and other words"):
        measure(case_of(known("reader"), alone), FEW)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"strengths": (0.0,)}, "above 0"),
        ({"strengths": (1.0, 1.0)}, "names a value twice"),
        ({"seeds": 0}, "at least 1"),
        ({"slack": 1.5}, "at least 0 and below 1"),
        ({"bound": 0.0}, "above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changes, reason):
    with pytest.raises(BadInput, match=reason):
        DeceptionSettings(**changes)


# The store -------------------------------------------------------------------------------------------------------


def test_a_fit_is_loaded_and_a_model_without_recipe_is_kept(recurrent, tmp_path):
    fits = recurrent.fits
    assert fits.load(fits.recipe) is fits.subject
    other = next(recipe for recipe in plan(recurrent, FEW))
    assert fits.load(other).recipe == other
    with pytest.raises(NotSupported, match="was not trained: it was not requested"):
        fits.load(replace(other, seed=99))
    elsewhere = Fits(fits.subject, KEYWORD, store=tmp_path / "store", device="cpu")
    made = classifier([Example("a", "some words", label=0)])
    folder = elsewhere.keep(made)
    assert elsewhere.keep(made) == folder, "once"
    assert load_folder(folder).state_dict()["embed.weight"].equal(made.state_dict()["embed.weight"])


def test_twins_within_a_budget_hide_less_than_those_without_one(context_free):
    found = measure(context_free, replace(FEW, budget=0.3))
    twin, within = "gauge twin", "gauge twin within budget"
    assert value(found, "agreement", within) == 1
    assert value(found, "mass", twin) < value(found, "mass", within) < value(found, "mass", "honest")
    ratios = found.facts["parameter_distance"]
    assert all(
        max(pair) == pytest.approx(0.3, abs=5e-3) for pair in zip(ratios["parameters"], ratios["words"], strict=True)
    )
    with pytest.raises(BadInput, match="at least 0"):
        DeceptionSettings(budget=-1.0)
