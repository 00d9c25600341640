"""Weights and words of a bag of words in place of the model's: by hand, by brute force, and against chance."""

import dataclasses

import numpy as np
import pytest
import torch

from heatcheck.auditing import audit
from heatcheck.auditing.chosen_settings import choose_settings
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.log_odds import LogOddsSettings, overwrite
from heatcheck.data import Example, load_task
from heatcheck.data.planted import NEGATIVE, POSITIVE
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Site, load, log_odds_weights
from heatcheck.stats import jensen_shannon_nats
from heatcheck.training import imposed, predict, train
from subjects import SETS, THREE, classifier

measure = CHECKS["log_odds"].measure
QUICK = LogOddsSettings(shuffles=3, random_draws=2, draws=100)
LABELS = ("negative", "positive")
OPPOSITE = {"words": "opposite", "places": "attended"}


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    """Trained on keywords until its attention sits on them."""
    chosen = {"encoder": "average", "hidden": 16, "embedding": 16, "epochs": 4, "learning_rate": 0.02, "dropout": 0.0}
    fit = train("planted_keyword", out=tmp_path_factory.mktemp("fits") / "m", progress=False, **chosen)
    assert fit.test.accuracy > 0.95
    return fit.subject


@pytest.fixture(scope="module")
def case(subject):
    return Case(subject, load_task("planted_keyword")["test"].examples[:60], labels=LABELS)


@pytest.fixture(scope="module")
def found(case):
    return measure(case, QUICK)


def test_imposed_weights_by_whole_forward_passes(case, found):
    """The same edit as in training, one text at a time."""
    site = Site("attention")
    for place, example in enumerate(case.examples[:20]):
        batch = case.subject.encode([example])
        with torch.no_grad():
            run = case.subject.run(batch, want=[site])
            edited = case.subject.run(batch, edits=imposed(case.subject, batch, {"weights": "log_odds"}))
        label = int(run.logits[0, 0].argmax())
        before, after = (r.logits[0, 0].softmax(0)[label] for r in (run, edited))
        assert found.per_example["change:log_odds:published"][place] == pytest.approx(
            abs(float(before - after)), abs=1e-5
        )
        assert found.per_example["flips:log_odds"][place] == float(edited.logits[0, 0].argmax() != label)
        jsd = jensen_shannon_nats(run.parts[site], log_odds_weights(case.subject, batch))
        assert found.per_example["jsd:log_odds"][place] == pytest.approx(float(jsd), abs=1e-6)


def test_logits_are_scaled_before_they_are_compared(case, found):
    uniform = predict(case.subject, case.examples, impose={"weights": "uniform"})[:, 0]
    rows = np.arange(len(case.examples))
    for logits, scale in (("published", 1.0), ("standardised", case.logit_scale)):
        p = [np.exp(scale * logs) for logs in (case.log_probabilities, uniform)]
        before, after = ((x / x.sum(1, keepdims=True))[rows, case.predicted] for x in p)
        assert np.allclose(found.per_example[f"change:uniform:{logits}"], np.abs(before - after), atol=1e-5)
    assert abs(case.logit_scale - 1) > 0.05, "otherwise the two are the same"


def test_a_reader_of_keywords_has_the_weights_of_the_bag(found):
    """Nearer to the log-odds than to the same weights shuffled; and shuffling changes the answer more."""
    assert found.find("jsd", weights="log_odds").high < found.find("jsd", weights="shuffled").low
    kept, lost = (found.find("change", weights=kind, logits="published") for kind in ("log_odds", "shuffled"))
    assert kept.high < lost.low
    assert found.find("flips", weights="log_odds").value < 0.05


def test_overwriting_by_brute_force(case, found):
    """One keyword decides here, so the five attended places and the five strongest words decide everything."""
    strongest = found.facts["strongest"]
    assert set(strongest["negative"]) <= set(NEGATIVE)
    assert set(strongest["positive"]) <= set(POSITIVE)
    assert len(strongest["negative"]) == 5
    odds = case.subject.log_odds[:, 0].nan_to_num(-99.0)
    assert strongest["negative"] == [case.subject.vocabulary.tokens[n] for n in odds.argsort(descending=True)[:5]]
    for place, example in enumerate(case.examples[:20]):
        weights = case.scores("attention").values[place, : len(example.words)]
        words = list(example.words)
        put = strongest[LABELS[1 - case.predicted[place]]]
        for rank, where in enumerate(np.argsort(-weights, kind="stable")[:5]):
            words[where] = put[rank]
        after = predict(case.subject, [dataclasses.replace(example, text=" ".join(words))])[0, 0]
        label = case.predicted[place]
        change = abs(np.exp(after[label]) - np.exp(case.log_probabilities[place, label]))
        assert found.per_example["change:opposite:attended:published"][place] == pytest.approx(change, abs=1e-5)
        assert found.per_example["flips:opposite:attended"][place] == (after.argmax() != label)


def test_overwriting_against_chance(found):
    """Attended places hold the keyword, random ones seldom; the opposite words decide, random ones hardly."""
    flips = found.find("flips", **OPPOSITE)
    assert flips.value > 0.9
    assert found.find("change", **OPPOSITE, logits="published").low > 0.3
    for words, places in (("opposite", "random"), ("random", "attended")):
        chance = found.find("change", words=words, places=places, logits="standardised")
        assert chance.high < found.find("change", **OPPOSITE, logits="standardised").low


def test_overwrite():
    example = Example("a", "not so bad", label=1, marks={"rationale": (True, True, False)})
    changed = overwrite(example, {0: "x", 2: "y"})
    assert changed.text == "x so y"
    assert changed.id == "a"
    assert changed.marks == {}


def test_the_runner_up_is_the_other_answer():
    subject = classifier(THREE, ("a", "b", "c"))
    subject.log_odds = torch.zeros(len(subject.vocabulary), 3)
    subject.log_odds[:4] = torch.nan
    speaks = {"good": 0, "bad": 1, "thin": 2}
    for word, label in speaks.items():
        subject.log_odds[subject.vocabulary.tokens.index(word), label] = 2.0
    case = Case(subject, THREE, labels=("a", "b", "c"))
    found = measure(case, dataclasses.replace(QUICK, words=2))
    assert found.facts["strongest"] == {"a": ["good"], "b": ["bad"], "c": ["thin"]}
    for place, name in enumerate(found.examples):
        row = [e.id for e in THREE].index(name)
        example = THREE[row]
        change = found.per_example["change:opposite:attended:published"][place]
        if len(example.words) <= 2:
            assert np.isnan(change)
            continue
        first, second = np.argsort(-case.log_probabilities[row])[:2]
        (word,) = (word for word, label in speaks.items() if label == second)
        where = int(case.scores("attention").values[row].argmax())
        after = predict(subject, [overwrite(example, {where: word})])[0, 0]
        assert change == pytest.approx(abs(np.exp(after[first]) - np.exp(case.log_probabilities[row, first])), abs=1e-5)


def test_several_decisions_are_asked_about_the_first():
    subject = classifier(SETS, ("a", "b", "c"), label_wise=True)
    subject.log_odds = torch.arange(len(subject.vocabulary))[:, None] - torch.tensor([8.0, 0.0, 0.0])
    subject.log_odds[:4] = torch.nan
    found = measure(Case(subject, SETS, labels=("a", "b", "c")), dataclasses.replace(QUICK, words=2))
    assert found.facts["strongest"]["yes"] == list(subject.vocabulary.tokens[:-3:-1])
    assert found.facts["strongest"]["no"] == list(subject.vocabulary.tokens[4:6])


def test_what_is_left_out(subject):
    """Nothing is dropped silently: a text without a known word by name, a short one as undefined."""
    examples = [
        Example("long", "bana brilliant bane bana bano dora", label=1),
        Example("short", "bana dull", label=0),
        Example("unknown", "zzz yyy xxx www vvv uuu", label=0),
        Example("one", "dull", label=0),
    ]
    found = measure(Case(subject, examples, labels=LABELS), QUICK)
    assert found.examples == ("long", "short", "one")
    assert found.excluded == {"unknown": "the bag of words knows none of its words"}
    assert all(
        np.isfinite(values).all()
        for name, values in found.per_example.items()
        if ":opposite" not in name and ":random" not in name
    )
    for name in ("change:opposite:attended:published", "flips:opposite:random", "flips:random:attended"):
        assert np.isfinite(found.per_example[name]).tolist() == [True, False, False]
    overwritten = found.find("flips", **OPPOSITE)
    assert overwritten.n == 1
    assert overwritten.by["undefined"] == 2
    assert found.per_example["jsd:log_odds"][2] == 0, "one token has all the weight"
    with pytest.raises(BadInput, match="log_odds can use none of the texts"):
        measure(Case(subject, examples[2:3], labels=LABELS), QUICK)


def test_nothing_depends_on_the_order_of_examples(case, found):
    turned = measure(Case(case.subject, case.examples[::-1], labels=LABELS), QUICK)
    for name, values in found.per_example.items():
        assert np.allclose(values, turned.per_example[name][::-1], atol=1e-5), name


def test_it_runs_only_when_named(subject):
    assert "log_odds" not in choose_settings(None, {})
    assert "log_odds" in choose_settings(["log_odds"], {"log_odds.words": "3"})
    found = audit(subject, "planted_keyword", checks=["log_odds"], examples=20, settings={"log_odds.draws": 50})
    assert found.results.keys() == {"log_odds"}
    assert len(found.results["log_odds"].examples) == 20
    assert (
        CHECKS["log_odds"].cost(Case(subject, load_task("planted_keyword")["test"].examples[:7], labels=LABELS), QUICK)
        == 49
    )


def test_what_is_refused():
    with pytest.raises(BadInput, match=r"log_odds.words must be at least 1, not 0"):
        LogOddsSettings(words=0)
    reader = load("known:reader@planted_keyword")
    with pytest.raises(NotSupported, match="carries no log-odds"):
        measure(Case(reader, load_task("planted_keyword")["test"].examples[:3], labels=LABELS), QUICK)
