"""Other models with the same answers: what is planned, which of them count, and the numbers made of them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as oracle
from scipy.optimize import linprog

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.adversarial_model import (
    BRACKETED,
    AdversarialModelSettings,
    Point,
    _as_close_as_seeds,
    _cost_of_divergence,
    _excess,
    _instances,
    _reach,
)
from heatcheck.checks.retrained_answers import Said
from heatcheck.data import Corpus, Example, Split, load_task
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import load, load_folder
from heatcheck.training import Fits, fit_recipe, plan_recipe
from subjects import SUBJECTS, classifier

check = CHECKS["adversarial_model"]


def known(name, n=80, **settings):
    subject = load(f"known:{name}")
    examples = load_task(name.partition("@")[2])["test"].examples[:n]
    return check.measure(Case(subject, examples, labels=subject.labels), AdversarialModelSettings(**settings))


# Models whose other fits are closed forms -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "star"),
    [
        ("reader@planted_keyword", {"model": "gauge", "twin": "reversed"}),
        ("gauge_twin@planted_keyword", {"model": "gauge", "twin": "reversed"}),
        ("bystander_right@planted_contrast", {"model": "bystander_wrong"}),
        ("bystander_wrong@planted_lookup", {"model": "bystander_right"}),
        ("leaker@planted_contrast", {"model": "bystander_wrong"}),
    ],
)
def test_a_model_with_the_same_answers_and_another_heatmap_is_found(name, star):
    result = known(name)
    assert result.find("J_star").by == star
    assert result.find("J_star").value == result.find("jsd", **star).value
    assert result.find("J_excess").low > 0.5
    assert result.find("J_seed").high < 0.01
    assert result.find("agreement", **star).value == 1
    assert result.find("tvd_tempered", **star).value <= 0.05


@pytest.mark.parametrize("name", ["reader@planted_contrast", "shifted@planted_keyword", "reader@planted_lookup"])
def test_where_none_is_known_none_is_claimed(name):
    """Nor does the fit under uniform weights count, though for the shifted one it makes the same decisions."""
    result = known(name, n=40, epsilons=(0.05,))
    assert result.facts["qualified"] == []
    assert not [m for m in result.measurements if m.name in ("J_star", "J_excess")]
    assert result.find("jsd", model="uniform").value > 0.4
    assert result.find("J_seed").n == 4


def test_a_witness_that_somebody_brings_counts_too():
    """The bystander's summary and votes are those of the shifted one's deciding word: the same answers."""
    subject, other = (load(f"known:{name}@planted_keyword") for name in ("shifted", "bystander_wrong"))
    examples = load_task("planted_keyword")["test"].examples[:40]
    case = Case(subject, examples, labels=subject.labels, witnesses={"bystander": other})
    result = check.measure(case, AdversarialModelSettings(epsilons=()))
    assert result.facts["qualified"] == ["bystander"]
    assert result.find("J_star").by == {"model": "bystander"}
    strangers = classifier(examples[:5], subject.labels, encoder="average")
    cut = [Example("x", "isn't dull", label=0), Example("y", "dull bana", label=0)]
    case = Case(subject, cut, labels=subject.labels, witnesses={"strangers": strangers})
    with pytest.raises(BadInput, match="strangers splits texts into other tokens"):
        check.measure(case, AdversarialModelSettings(epsilons=()))


def test_every_number_has_its_texts_and_nothing_is_nan():
    result = known("reader@planted_keyword", n=60)
    assert len(result.examples) == 60
    assert not result.excluded
    assert all(np.isfinite(m[1:5]).all() for m in result.measurements)
    assert {len(values) for values in result.per_example.values()} == {60}
    for name in ("jsd", "tvd", "tvd_tempered", "agreement", "accuracy"):
        seeds = [m.by["seed"] for m in result.measurements if m.name == name and m.by["model"] == "seed"]
        assert seeds == [1, 2, 3, 4]
    assert result.find("accuracy", model="uniform").value == 1, "an average is enough for a keyword"


def test_instance_level_adversaries_are_the_exact_optimum():
    """The same ε-max JSD as the check on weights finds, and no text moves by more than ε."""
    subject = load("known:reader@planted_keyword")
    examples = load_task("planted_keyword")["test"].examples[:60]
    case = Case(subject, examples[:30], labels=subject.labels, tested=examples)
    result = check.measure(case, AdversarialModelSettings(epsilons=(0.05, 0.001)))
    exact = CHECKS["counterfactual"].measure(case, CHECKS["counterfactual"].settings())
    for epsilon in (0.05, 0.001):
        found = result.find("jsd", model="instance", epsilon=epsilon)
        assert found.value == pytest.approx(exact.per_example[f"jsd:published:{epsilon:g}"].mean())
        assert found.n == 30
        assert 0 < result.find("tvd", model="instance", epsilon=epsilon).value <= epsilon + 1e-9


@pytest.mark.parametrize(("name", "names"), [("pair merge", {"jsd", "tvd"}), ("average three labels", None)])
def test_instances_of_other_read_outs(name, names):
    """A search where the read-out is not linear, a bracket's lower end where labels are many: both stay within ε."""
    subject, examples = SUBJECTS[name]
    case = Case(subject, examples, labels=subject.labels)
    found = list(_instances(case, AdversarialModelSettings(epsilons=(0.1,))))
    assert {m.name for m in found} == (names or {"jsd", "tvd", "tvd_tempered", "agreement"})
    value = {m.name: m.value for m in found}
    assert value["jsd"] > 0.01
    assert value["tvd"] <= 0.1 + 1e-6
    assert {m.n for m in found} == {min(len(examples), BRACKETED)}


def test_instances_need_a_short_cut():
    subject, examples = SUBJECTS["seq2seq"]
    with pytest.raises(NotSupported, match="no short cut"):
        list(_instances(Case(subject, examples, labels=("a", "b")), AdversarialModelSettings()))


# Which models count, and what is made of them -------------------------------------------------------------------


def point(jsd, p, base=0.8, **by):
    """A model that says p where the subject says `base`, on as many texts as there are divergences."""
    jsd = np.asarray(jsd, dtype=float)
    p, base = (np.broadcast_to(value, jsd.shape).astype(float) for value in (p, base))
    said, own = (np.log(np.stack([1 - value, value], axis=1)) for value in (p, base))
    return Point({"model": "other", **by}, jsd, said, own)


def test_only_models_as_close_as_seeds_count_and_the_farthest_comes_first():
    base = np.array([0.9, 0.7, 0.2, 0.6])
    seeds = [point([0.1] * 4, [0.9, 0.7, 0.2, 0.4], base), point([0.1] * 4, [0.8, 0.7, 0.1, 0.6], base)]
    near, far = point([0.3] * 4, base, base, name="near"), point([0.5] * 4, base, base, name="far")
    other_decision = point([0.6] * 4, [0.9, 0.4, 0.2, 0.4], base, name="half of the decisions")
    far_answers = point([0.6] * 4, [0.51, 0.99, 0.49, 0.99], base, name="other probabilities")
    found = _as_close_as_seeds([near, other_decision, far, far_answers], seeds, AdversarialModelSettings(slack=0.01))
    assert [p.by["name"] for p in found] == ["far", "near"]
    lax = _as_close_as_seeds([near, other_decision, far, far_answers], seeds, AdversarialModelSettings(slack=0.5))
    assert [p.by["name"] for p in lax] == ["other probabilities", "far", "near"]


def test_confidence_alone_is_no_distance():
    """A twin with every logit tripled: its total variation is large, and after one temperature none is left."""
    logits = np.array([-1.0, -0.4, 0.3, 2.0])
    base = 1 / (1 + np.exp(-logits))
    found = point([0.4] * 4, 1 / (1 + np.exp(-3 * logits)), base)
    assert found.mean("tvd") > 0.1
    assert found.mean("tvd_tempered") < 1e-4
    assert found.mean("agreement") == 1
    honest = point([0.1] * 4, base, base)
    assert _as_close_as_seeds([found], [honest], AdversarialModelSettings(slack=0.01)) == [found]


def test_excess_by_hand():
    """Mean difference; its variance over examples and other seeds, the noise in both once, and Satterthwaite's t."""
    generator = np.random.default_rng(0)
    jsd = generator.uniform(0, 0.2, size=(4, 50))
    star = point(generator.uniform(0.4, 0.6, size=50), 0.8, name="star")
    case = Case(*SUBJECTS["average"], labels=("no", "yes"))
    seeds = [point(row, 0.8) for row in jsd]
    found = {m.name: m for m in _excess(case, AdversarialModelSettings(), [star], seeds)}
    apart = star.jsd - jsd
    of_seeds, of_examples = apart.mean(1).var(ddof=1) / 4, apart.mean(0).var(ddof=1) / 50
    rest = apart - apart.mean(1, keepdims=True) - apart.mean(0) + apart.mean()
    variance = of_seeds + of_examples - (rest**2).sum() / (3 * 49) / 200
    variance = max(variance, of_seeds, of_examples)
    freedom = variance**2 / (of_seeds**2 / 3 + of_examples**2 / 49)
    half = oracle.t.ppf(0.975, freedom) * np.sqrt(variance)
    assert found["J_excess"].value == pytest.approx(star.jsd.mean() - jsd.mean())
    assert found["J_excess"].low == pytest.approx(apart.mean() - half)
    assert found["J_excess"].high == pytest.approx(apart.mean() + half)
    assert found["J_star"].value - found["J_seed"].value == pytest.approx(found["J_excess"].value)
    assert found["J_star"].by["name"] == "star"
    (alone,) = (m for m in _excess(case, AdversarialModelSettings(), [star], seeds[:1]) if m.name == "J_excess")
    assert (alone.low, alone.high) == (-np.inf, np.inf), "one other seed shows no spread"


def test_cost_is_what_the_farthest_model_s_answers_differ_more_than_an_imitator_s():
    case = Case(*SUBJECTS["average"], labels=("no", "yes"))
    base = np.array([0.9, 0.7, 0.2, 0.6])
    star, imitator = point([0.5] * 4, base[::-1], base), point([0.1] * 4, base, base, model="imitator")
    (found,) = _cost_of_divergence(case, AdversarialModelSettings(), [star, imitator], [imitator, star])
    assert found.value == pytest.approx(star.mean("tvd_tempered") - imitator.mean("tvd_tempered"))
    assert found.value > 0.05
    assert found.n == 4
    assert not list(_cost_of_divergence(case, AdversarialModelSettings(), [imitator], [imitator])), "no cost of itself"
    assert not list(_cost_of_divergence(case, AdversarialModelSettings(), [star], [star])), "no imitator, no cost"


def test_reach_is_the_farthest_mixture_of_models_that_keeps_the_answers():
    """A linear program: shares of models and of the subject itself, TVD at most the seeds', JSD as large as can be."""
    generator = np.random.default_rng(0)
    for size in (1, 2, 6):
        for _ in range(20):
            jsd, tvd = generator.uniform(0, 1, size=(2, size))
            limit = generator.uniform(0, 1)
            best = linprog(-jsd, A_ub=[tvd, np.ones(size)], b_ub=[limit, 1.0], bounds=(0, 1))
            found = _reach(np.concatenate([jsd, tvd, [limit]])[None])
            np.testing.assert_allclose(found, -best.fun, atol=1e-9)


# Trained adversaries --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A small recurrent model of planted_keyword, and a case with room for its other fits."""
    folder = tmp_path_factory.mktemp("adversarial model")
    whole = load_task("planted_keyword")
    splits = {name: Split(name, whole[name].examples[:n]) for name, n in (("train", 96), ("dev", 32), ("test", 60))}
    corpus = Corpus("small", whole.labels, splits, whole.tokens)
    recipe = plan_recipe(corpus, encoder="lstm", hidden=4, embedding=8, epochs=2, learning_rate=0.02)
    fit_recipe(recipe, corpus, folder / "base")
    subject, test = load_folder(folder / "base"), corpus["test"].examples
    fits = Fits(subject, corpus, store=folder / "fits")
    return Case(subject, test[:30], labels=corpus.labels, tested=test, trained_on=corpus, fits=fits)


def test_the_plan_and_what_is_measured_agree_and_a_missing_fit_loses_nothing_else(trained):
    chosen = {"strengths": (1e-3, 1.0), "starts": ("fresh", "parent"), "scorer_only": True, "search": False}
    settings = AdversarialModelSettings(**chosen, epochs=1, seeds=3, epsilons=(0.05,))
    recipes = check.plan(trained, settings)
    assert len({recipe.id for recipe in recipes}) == len(recipes) == settings.fits == 2 + 1 + 1 + 2 * 3
    assert check.cost(trained, settings) == 60 * (1 + len(recipes))
    assert trained.fits.recipe not in recipes, "the subject is not fitted again"
    kinds = [
        (r.loss["start"], r.loss["trains"], r.loss["strength"]) for r in recipes if r.loss["name"] == "adversarial"
    ]
    assert kinds[0] == ("fresh", "all", 0.0), "the imitator"
    assert kinds[1:] == [
        (*kind, s) for kind in (("fresh", "all"), ("parent", "all"), ("parent", "attention")) for s in (1e-3, 1.0)
    ]
    lost = recipes[4]
    outcomes = trained.fits.make([recipe for recipe in recipes if recipe != lost])
    assert {outcome.state for outcome in outcomes} == {"done"}
    result = check.measure(trained, settings)
    assert list(result.not_run) == ["small: lstm, adversary at λ = 0.001, seed 1000"]
    assert not [m for m in result.measurements if m.by.get("start") == "fresh" and m.by["strength"] == 1e-3]
    for start, trains in (("fresh", "all"), ("parent", "all"), ("parent", "attention")):
        found = result.find("jsd", model="adversary", strength=1.0, start=start, trains=trains, restart=0)
        assert found.n == 60
    assert [m.by["seed"] for m in result.measurements if m.name == "jsd" and m.by["model"] == "seed"] == [1, 2]
    assert result.find("jsd", model="instance", epsilon=0.05).n == 30
    assert not [m for m in result.measurements if m.by.get("model") == "gauge"], "a recurrent model has none"
    assert result.find("tvd_tempered", model="imitator").n == 60
    assert result.find("reach").value >= 0
    assert all(np.isfinite(m[1]) for m in result.measurements)
    again = check.measure(trained, settings)
    assert again.measurements == result.measurements


# The search over λ -----------------------------------------------------------------------------------------------

STRENGTHS = (1e-4, 1e-3, 3e-3, 1e-2, 1e-1)


@pytest.fixture
def trained_up_to(trained, monkeypatch):
    """A store in which fits appear when asked for: those of a strength that passes answer as the subject does.

    It returns the function that goes through the rounds of a search, and says which strengths each kind was tried at.
    """

    def search(passes, **settings):
        settings = AdversarialModelSettings(**{"strengths": STRENGTHS, "starts": ("fresh",), "draws": 50, **settings})
        asked, own = {}, trained.own
        against = replace(own, log_probabilities=own.log_probabilities[..., ::-1].copy())
        monkeypatch.setattr(trained.fits, "failed", {})

        def answers(_, recipes):
            (recipe,) = recipes
            if recipe.id not in asked or recipe.id in trained.fits.failed:
                return Said((), {recipe.id: "it was not requested"})
            keeps = recipe.loss["name"] != "adversarial" or passes(recipe.loss["strength"])
            return Said((own if keeps else against,), {})

        monkeypatch.setattr(sys.modules[AdversarialModelSettings.__module__], "said", answers)
        wanted = check.plan(trained, settings)
        while wanted:
            asked |= {recipe.id: recipe for recipe in wanted}
            fails = [recipe.id for recipe in wanted if passes(recipe.loss.get("strength", 0.0)) is None]
            trained.fits.failed |= dict.fromkeys(fails, "out of memory")
            wanted = [recipe for recipe in check.more(trained, settings) if recipe.id not in asked]
        kinds = {}
        for recipe in asked.values():
            if recipe.loss.get("strength"):
                kind = (recipe.loss["start"], recipe.loss["trains"], recipe.seed)
                kinds.setdefault(kind, []).append(recipe.loss["strength"])
        return settings, kinds, asked

    return search


@pytest.mark.parametrize("passing", range(6))
def test_the_search_ends_at_the_largest_strength_that_keeps_the_answers(trained, trained_up_to, passing):
    settings, kinds, asked = trained_up_to(lambda strength: strength < [*STRENGTHS, 1][passing])
    ((_, tried),) = kinds.items()
    assert tried[0] == 3e-3, "the guide's adversary, which is trained anyway, is in the middle"
    assert len(tried) == [2, 3, 3, 2, 3, 3][passing]
    assert set(STRENGTHS[max(0, passing - 1) : passing + 1]) <= set(tried), "both sides of the limit"
    result = check.measure(trained, settings)
    found = [m.by["strength"] for m in result.measurements if m.name == "jsd" and m.by["model"] == "adversary"]
    assert found == sorted(tried), "what was tried is shown, in the order of λ"
    largest = [name for name in result.facts["qualified"] if f"strength={STRENGTHS[passing - 1]}," in name]
    assert bool(largest) == (passing > 0)
    assert not result.not_run
    assert result.find("reach").n == 60
    assert len(asked) <= settings.fits == 4 + 2 + 3


def test_each_kind_has_its_own_search_and_a_training_that_failed_does_not_pass(trained, trained_up_to):
    """A start that nothing stops, one that fails at the first strength; in any order of the strengths."""
    shuffled = {"strengths": STRENGTHS[::-1], "starts": ("fresh", "parent"), "scorer_only": True, "restarts": 2}
    settings, kinds, _ = trained_up_to(lambda _: True, **shuffled)
    assert len(kinds) == 6
    assert set(map(tuple, kinds.values())) == {(3e-3, 1e-2, 1e-1)}
    searched = check.searches(trained, settings)
    usually = [16 / 6, 16 / 6, 4 / 6, 4 / 6, 16 / 6, 16 / 6]  # the second start only if the first led nowhere
    assert [(len(one.candidates), one.at_most) for one in searched] == [(5, 3)] * 6
    assert [one.usually for one in searched] == pytest.approx(usually)
    _, kinds, _ = trained_up_to(lambda strength: None if strength == 3e-3 else True)
    assert set(map(tuple, kinds.values())) == {(3e-3, 1e-4, 1e-3)}


@pytest.mark.parametrize(("far", "tried"), [(True, {"away"}), (False, {"away", "fresh"})])
def test_a_later_start_is_tried_only_if_the_earlier_ones_led_nowhere(trained, trained_up_to, monkeypatch, far, tried):
    monkeypatch.setattr(sys.modules[AdversarialModelSettings.__module__], "can_look_elsewhere", lambda _: True)
    # Whoever keeps the answers here has the audited model's own weights: 0 nats away, as seeds are.
    settings, kinds, _ = trained_up_to(lambda _: True, starts=("away", "fresh"), far=0.0 if far else 0.25)
    assert {start for start, _, _ in kinds} == tried
    assert all(of == [3e-3, 1e-2, 1e-1] for of in kinds.values())
    found = check.measure(trained, settings).measurements
    assert {m.by["start"] for m in found if m.by.get("model") == "adversary"} == tried


def test_a_later_start_is_tried_if_no_adversary_of_the_first_keeps_the_answers(trained_up_to, monkeypatch):
    monkeypatch.setattr(sys.modules[AdversarialModelSettings.__module__], "can_look_elsewhere", lambda _: True)
    _, kinds, _ = trained_up_to(lambda strength: strength == 0, starts=("away", "fresh"), far=0.0)
    assert {start for start, _, _ in kinds} == {"away", "fresh"}


def test_others_in_the_store_change_nothing_and_a_step_that_waits_is_named(trained, trained_up_to):
    settings, _, asked = trained_up_to(lambda strength: strength <= 3e-3)
    before = check.measure(trained, settings)
    every = check.plan(trained, replace(settings, search=False))
    asked |= {recipe.id: recipe for recipe in every}
    assert check.measure(trained, settings).measurements == before.measurements
    (last,) = (r.id for r in asked.values() if r.loss.get("strength") == 1e-2)
    del asked[last]
    assert list(check.measure(trained, settings).not_run) == [last]


def test_the_paper_and_whoever_asks_for_it_get_every_strength(trained):
    for settings in (
        AdversarialModelSettings(as_published=True),
        AdversarialModelSettings(search=False, starts=("fresh",)),
    ):
        planned = [r.loss["strength"] for r in check.plan(trained, settings) if r.loss["name"] == "adversarial"]
        assert planned == [0.0, *STRENGTHS]
        assert check.more(trained, settings) == check.searches(trained, settings) == []
        assert settings.fits == 4 + 2 + 5


def test_restarts_and_the_published_loss_are_other_fits(trained):
    one, two = (check.plan(trained, AdversarialModelSettings(strengths=(1e-3,), restarts=n)) for n in (1, 2))
    assert len(two) == len(one) + 1
    published = check.plan(trained, AdversarialModelSettings(strengths=(1e-3,), as_published=True))
    assert [r.loss.get("as_published") for r in published][-1] is True
    honest = {r.id for r in one if r.loss["name"] != "adversarial"}
    assert {r.id for r in published} & {r.id for r in one} == honest, "honest fits are the same ones"


def test_without_any_other_seed_it_says_so(trained, tmp_path):
    subject, tested = trained.subject, trained.tested
    nothing = Fits(subject, trained.trained_on, store=tmp_path)
    with pytest.raises(NotSupported, match=r"no other seed of the model to compare .* was not trained"):
        check.measure(Case(subject, tested, labels=trained.labels, fits=nothing), AdversarialModelSettings())
    with pytest.raises(NotSupported, match="add --refit"):
        check.measure(Case(subject, tested, labels=trained.labels), AdversarialModelSettings())


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"seeds": 1}, BadInput, "at least 2 .it includes the audited model"),
        ({"strengths": ()}, BadInput, "strengths must be numbers above 0"),
        ({"strengths": (0.0, 1e-3)}, BadInput, "always trains the imitator, which has strength 0"),
        ({"strengths": (-1.0,)}, BadInput, "strengths must be numbers above 0"),
        ({"strengths": (1e-3, 1e-3)}, BadInput, "strengths names a value twice"),
        ({"starts": ("here",)}, UnknownName, "value for adversarial_model.starts 'here'"),
        ({"slack": 1.5}, BadInput, "changes of probability"),
        ({"epsilons": (2.0,)}, BadInput, "changes of probability"),
        ({"epochs": 0}, BadInput, "epochs must be at least 1"),
    ],
)
def test_bad_settings(settings, error, sentence):
    with pytest.raises(error, match=sentence):
        AdversarialModelSettings(**settings)


def test_the_guide_s_strength_is_among_the_defaults():
    assert 1e-3 in AdversarialModelSettings().strengths
    assert len(AdversarialModelSettings().strengths) == 5
