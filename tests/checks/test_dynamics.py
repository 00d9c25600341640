"""Training looked at: agreements against loops on made-up trainings, when they start, ξ, and fits of a planted task."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from heatcheck import stats
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.dynamics import PAIRS, SCORES, DynamicsSettings, Seed, Trainings, plan
from heatcheck.data import Split, load_task
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import load, load_folder
from heatcheck.results import kept_facts, results_from
from heatcheck.training import Fits, Observed, describe, fit_recipe, plan_recipe, probe_of, read_observed
from heatcheck.training import stack as fits
from subjects import SUBJECTS

check = CHECKS["dynamics"]
# Through sys.modules: as an attribute of the package the name is the check, not its file.
module = sys.modules[plan.__module__]
LENGTHS = np.array([7, 30, 1, 12, 25])
STEPS = [0, 5, 20, 60]


def made_up(number, *, right=0.5, attention=None):
    """A training with random numbers at every checkpoint; attention as given, an array a checkpoint."""
    generator = np.random.default_rng(number)
    total = int(LENGTHS.sum())
    gold = np.arange(len(LENGTHS)) % 2
    seen = []
    for at, step in enumerate(STEPS):
        likely = np.where(
            np.arange(len(LENGTHS)) < (right if np.isscalar(right) else right[at]) * len(LENGTHS), gold, 1 - gold
        )
        weights = np.concatenate([generator.dirichlet(np.ones(n)) for n in LENGTHS])
        of_tokens = {
            "attention": weights if attention is None else attention[at],
            "relevance": generator.normal(size=total),
            "influence": generator.normal(size=total),
            "leave_one_out": generator.normal(size=total),
        }
        logs = np.log(np.where(np.eye(2)[likely] > 0, 0.9, 0.1))
        seen.append(Observed(step, tuple("abcde"), gold, logs, LENGTHS, of_tokens))
    return seen


def trainings(*seeds):
    first = next(of[0] for seed in seeds for of in (seed.learned, seed.uniform) if of is not None)
    return Trainings(seeds, STEPS, first.valid, LENGTHS > 1, 0.05)


def three():
    odds = np.random.default_rng(99).normal(size=(5, 30))
    return [Seed(made_up(n), made_up(10 + n), made_up(20 + n), odds) for n in range(3)]


def agreement(u, v):
    """A of one text by its definition."""
    return float(sum(other > v[int(np.argmax(u))] for other in v) < math.ceil(len(v) / 20))


@pytest.mark.parametrize("pair", PAIRS)
def test_agreements_are_those_of_loops(pair):
    seeds, per_example = three(), {}
    rows = list(module._agreement(trainings(*seeds), pair, per_example))
    texts = [row for row in range(5) if LENGTHS[row] > 1]
    for at, step in enumerate(STEPS):
        values = np.array(
            [
                [agreement(*(SCORES[name](seed, at)[row, : LENGTHS[row]] for name in pair)) for row in texts]
                for seed in seeds
            ]
        )
        (found,) = [m for m in rows if m.name == "A" and m.by == {"pair": list(pair), "step": step}]
        assert found[1:5] == pytest.approx(stats.two_way_interval(values))
        (floor,) = [m for m in rows if m.name == "A_floor" and m.by == {"pair": list(pair), "step": step}]
        assert floor.value == pytest.approx(np.mean([math.ceil(LENGTHS[row] / 20) / LENGTHS[row] for row in texts]))
        (above,) = [m for m in rows if m.name == "A_above" and m.by == {"pair": list(pair), "step": step}]
        assert above.value == pytest.approx(found.value - floor.value)
    (last,) = [m for m in rows if m.name == "A" and m.by.get("at") == "last"]
    (most,) = [m for m in rows if m.name == "A" and m.by.get("at") == "max"]
    assert last.by["step"] == 60
    assert most.value == max(m.value for m in rows if m.name == "A")
    np.testing.assert_allclose(per_example["A:" + ", ".join(pair)], values.mean(0))


def test_pairs_are_taken_at_the_right_checkpoints():
    (seed, *_) = three()
    assert np.array_equal(SCORES["attention"](seed, 1), seed.learned[1].padded("attention"))
    assert np.array_equal(SCORES["final uniform relevance"](seed, 1), seed.uniform[-1].padded("relevance"))
    assert np.array_equal(SCORES["final attention"](seed, 0), seed.learned[-1].padded("attention"))
    assert np.array_equal(SCORES["proxy relevance"](seed, 0), seed.proxy[-1].padded("relevance"))
    published = replace(seed, sign=-1)
    assert np.array_equal(SCORES["influence"](published, 2), -SCORES["influence"](seed, 2))
    assert np.array_equal(SCORES["relevance"](published, 2), SCORES["relevance"](seed, 2))
    left_out = SCORES["leave-one-out influence"]
    assert np.array_equal(left_out(seed, 2), seed.learned[2].padded("leave_one_out"))
    assert np.array_equal(left_out(published, 2), -left_out(seed, 2))


def above(*lows):
    return [
        module.Measurement("A_above", low + 0.1, low, low + 0.2, 3, "0", {"step": step})
        for low, step in zip(lows, STEPS, strict=True)
    ]


@pytest.mark.parametrize(
    ("lows", "value", "low"),
    [
        ((-0.1, -0.1, 0.1, 0.2), 20, 5),
        ((0.1, -0.1, 0.1, 0.2), 20, 5),  # what does not stay has not started
        ((0.1, 0.1, 0.1, 0.1), 0, 0),
        ((0.1, 0.1, 0.1, -0.1), math.inf, 60),
        ((-math.inf,) * 4, math.inf, 60),
    ],
)
def test_it_starts_where_it_is_above_its_floor_for_good(lows, value, low):
    found = module._start(above(*lows), {})
    assert (found.value, found.low, found.high) == (value, low, value)


def test_xi_is_the_accuracy_of_others_once_they_foretell_as_well():
    """Others' weights come to peak where the reference's do at the third checkpoint; relevances never do."""
    places = np.concatenate([[0], LENGTHS.cumsum()[:-1]])
    flat = np.concatenate([np.linspace(1, 2, n) for n in LENGTHS])
    there, away = flat.copy(), flat.copy()
    there[places] += 5
    away[places] = 0
    reference = made_up(0, attention=[away, away, there, there], right=1.0)
    others = [made_up(n, attention=[away, away, there, there], right=(0.2, 0.2, 0.6, 1.0)) for n in (1, 2)]
    for seen in (reference, *others):
        for found in seen:
            found.of_tokens["relevance"][:] = -there  # the reference's highest word is the least of these
    uniform = made_up(5)
    uniform[-1].of_tokens["relevance"][:] = there
    seeds = [Seed(reference, uniform, None, None), *(Seed(other, None, None, None) for other in others)]
    found = {m.by["foretold_by"]: m for m in module._foretold(trainings(*seeds))}
    assert found.keys() == {"final uniform relevance", "relevance", "influence"}
    reached = found["relevance"]
    assert (reached.by["reached"], reached.by["step"]) == (True, 20)
    right = np.array([other[2].right[LENGTHS > 1] for other in others])
    assert reached[1:5] == pytest.approx(stats.two_way_interval(right))
    assert reached.baseline.startswith("1.000")
    never = found["final uniform relevance"]
    assert (never.by["reached"], never.by["step"]) == (False, 60), "nothing is better than full agreement"
    assert list(module._foretold(trainings(seeds[0]))) == [], "without another seed there is no ξ"


def test_a_fit_that_is_not_there_takes_only_its_own_pairs_with_it():
    seeds = three()
    seeds[1] = replace(seeds[1], uniform=None)
    both = list(module._agreement(trainings(*seeds), ("attention", "final uniform relevance"), {}))
    assert {m.n for m in both} == {2}
    own = list(module._agreement(trainings(*seeds), ("attention", "relevance"), {}))
    assert {m.n for m in own} == {3}
    alone = [replace(seed, uniform=None) for seed in seeds]
    assert list(module._agreement(trainings(*alone), PAIRS[0], {})) == []


def test_texts_without_an_order_are_counted():
    seeds = three()
    odds = seeds[0].log_odds.copy()
    odds[1] = 0.0  # a text of stop words
    seeds = [replace(seed, log_odds=odds) for seed in seeds]
    rows = list(module._agreement(trainings(*seeds), ("uniform relevance", "log-odds"), {}))
    taus = [m for m in rows if m.name == "tau"]
    assert {m.by["undefined"] for m in taus} == {1}
    assert not any(math.isnan(number) for m in rows for number in (m.value, m.low, m.high))


# Fits of a planted task ------------------------------------------------------------------------------------------


FEW = DynamicsSettings(seeds=2, checkpoints=5, examples=30, shown=2)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    whole = load_task("planted_keyword")
    sizes = {"train": 320, "dev": 20, "test": 40}
    corpus = replace(whole, splits={name: Split(name, whole[name].examples[:n]) for name, n in sizes.items()})
    folder = tmp_path_factory.mktemp("dynamics")
    shape = {"encoder": "none", "attention": "linear", "embedding": 8, "dropout": 0.0}
    recipe = plan_recipe(corpus, epochs=4, learning_rate=0.1, batch_size=16, observe=2, **shape)
    fit_recipe(recipe, corpus, folder / "base")
    subject = load_folder(folder / "base")
    return Case(subject, corpus["test"].examples, labels=corpus.labels, fits=Fits(subject, corpus, folder / "fits"))


def test_what_is_trained(case):
    planned = plan(case, FEW)
    learned, uniform, proxy = planned[:2], planned[2:4], planned[4:]
    assert len({recipe.id for recipe in planned}) == len({recipe.seed for recipe in planned}) == 6, "no shared starts"
    assert [recipe.impose for recipe in planned] == [None] * 2 + [{"weights": "uniform"}] * 4
    assert {recipe.model["encoder"] for recipe in proxy} == {"none"}
    assert {recipe.training["patience"] for recipe in planned} == {0}
    assert {tuple(recipe.observe["steps"]) for recipe in planned} == {(0, 10, 20, 40, 80)}
    assert replace(learned[0], observe=None, training=case.fits.recipe.training) == case.fits.recipe
    assert case.subject.recipe.observe is not None
    assert case.fits.recipe.observe is None, "other checks fit it again without looking"
    assert all(recipe.model == case.fits.recipe.model for recipe in [*learned, *uniform])


def test_attention_comes_to_follow_the_relevance_of_a_model_that_never_attended(case, monkeypatch):
    fit_job = fits.fit_job
    planned = plan(case, FEW)

    def sometimes(argument, folder, where):
        if argument["recipe"]["seed"] == planned[-1].seed:
            raise RuntimeError("the machine went away")
        fit_job(argument, folder, where)

    monkeypatch.setattr(fits, "fit_job", sometimes)
    case.fits.make(planned)
    found = check.measure(case, FEW)
    assert list(found.not_run) == [describe(planned[-1])]
    assert found.facts["fitted"] == {"learned": 2, "uniform": 2, "proxy": 1}
    first = list(PAIRS[0])
    assert found.find("A", pair=first, at="last").value > 0.8
    assert found.find("A_above", pair=first, step=0).value < 0.3
    assert found.find("A_above", pair=first, at="last").low > 0.3
    assert found.find("starts", pair=first).value in (10, 20, 40)
    assert found.find("evenness", step=80).value < found.find("evenness", step=0).value
    assert found.find("accuracy", fit="learned", step=80).value > 0.9 > found.find("prior").value
    assert found.find("A", pair=["uniform relevance", "proxy relevance"], at="last").n == 1
    assert found.find("A", pair=["uniform relevance", "log-odds"], at="last").value > 0.8
    probe = probe_of(planned[0].observe, case.fits.corpus)
    assert found.examples == tuple(example.id for example in probe)
    assert set(map(len, found.per_example.values())) == {30}
    assert len(found.facts["shown_texts"]) == 2
    _shown_as_observed(case, found, planned, probe)
    back = results_from(kept_facts({"dynamics": found}), {f"dynamics/{k}": v for k, v in found.per_example.items()})
    assert back["dynamics"].measurements == found.measurements
    turned = check.measure(case, replace(FEW, as_published=True))
    pair = ["influence", "final uniform relevance"]
    assert turned.find("tau", pair=pair, at="last").value == pytest.approx(
        -found.find("tau", pair=pair, at="last").value
    )
    assert turned.find("A", pair=first, at="last") == found.find("A", pair=first, at="last")


def test_influence_by_leaving_out_takes_other_honest_fits_and_the_same_twins(case):
    left_out = replace(FEW, influence="leave_one_out")
    plain, other = plan(case, FEW), plan(case, left_out)
    assert [recipe.id for recipe in other[2:]] == [recipe.id for recipe in plain[2:]], "no twin is trained again"
    assert [replace(recipe, observe=plain[0].observe) for recipe in other[:2]] == plain[:2]
    assert other[0].observe["quantities"] == ["attention", "relevance", "influence", "leave_one_out"]
    case.fits.make([*plain, *other])
    gate, found = check.measure(case, FEW), check.measure(case, left_out)
    assert (gate.settings["influence"], found.settings["influence"]) == ("gate", "leave_one_out")
    pair, of_gate = ["leave-one-out influence", PAIRS[2][1]], list(PAIRS[2])
    assert not [m for m in gate.measurements if m.by.get("pair") == pair]
    assert not [m for m in found.measurements if m.by.get("pair") == of_gate]
    assert found.find("A_above", pair=pair, at="last").low > 0.3, "the keyword is what lowers the loss"
    assert found.find("A", pair=list(PAIRS[0]), at="last") == gate.find("A", pair=list(PAIRS[0]), at="last")
    assert {m.by["foretold_by"] for m in found.measurements if m.name == "xi"} >= {"leave-one-out influence"}
    turned = check.measure(case, replace(left_out, as_published=True))
    assert turned.find("tau", pair=pair, at="last").value == pytest.approx(
        -found.find("tau", pair=pair, at="last").value
    )


def _shown_as_observed(case, found, planned, probe):
    text = found.facts["shown_texts"][1]
    row = [example.id for example in probe].index(text["id"])
    seen = read_observed(case.fits.store / planned[0].id, 40)
    weights = seen.padded("attention")[row][seen.valid[row]]
    assert text["words"] == list(probe[row].words)
    np.testing.assert_allclose(text["attention"][3], weights, atol=1e-4)
    uniform = read_observed(case.fits.store / planned[2].id, 40)
    np.testing.assert_allclose(
        text["uniform_relevance"][3], uniform.padded("relevance")[row][seen.valid[row]], atol=1e-4
    )
    assert text["label"] == case.labels[probe[row].label]


# What it cannot look at ------------------------------------------------------------------------------------------


def test_it_is_run_only_when_named_and_needs_other_fits():
    assert check.refits
    assert not check.default
    subject, examples = SUBJECTS["lstm"]
    alone = Case(subject, examples, labels=subject.labels)
    assert plan(alone, FEW) == []
    with pytest.raises(NotSupported, match="add --refit"):
        check.measure(alone, FEW)
    known = load("known:reader@planted_keyword")
    with pytest.raises(NotSupported, match="written by hand, so there is no training"):
        check.measure(Case(known, load_task("planted_keyword")["test"].examples[:3], labels=known.labels), FEW)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"hf": "somewhere"}, "not linear in the weights"),
        ({"decoder": "merge"}, "not linear in the weights"),
        ({"hierarchical": True}, "attends to sentences"),
        ({"label_wise": True}, "makes several decisions"),
    ],
)
def test_models_without_relevances_of_words(case, monkeypatch, model, words):
    recipe = case.fits.recipe
    monkeypatch.setattr(case.fits, "recipe", replace(recipe, model={**recipe.model, **model}))
    assert plan(case, FEW) == []
    with pytest.raises(NotSupported, match=words):
        check.measure(case, FEW)


def test_without_any_fit_it_says_why(case, tmp_path):
    alone = Fits(case.subject, case.fits.corpus, store=tmp_path / "empty")
    empty = Case(case.subject, case.examples, labels=case.labels, fits=alone)
    with pytest.raises(NotSupported, match=r"no training .* was not trained: it was not requested"):
        check.measure(empty, FEW)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": 0}, r"dynamics\.seeds must be at least 1"),
        ({"examples": 0}, r"dynamics\.examples must be at least 1"),
        ({"checkpoints": 1}, "at least 2 .it includes start and end"),
        ({"top": 0.0}, "above 0 and at most 1"),
        ({"shown": -1}, "at least 0, not -1"),
        ({"influence": "leave_one_in"}, "did you mean 'leave_one_out'"),
    ],
)
def test_refusals(changes, words):
    with pytest.raises(BadInput, match=words):
        DynamicsSettings(**changes)
