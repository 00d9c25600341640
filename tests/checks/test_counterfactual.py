"""The check on other weights: beside its floor, null and maximum, on models whose answer is known."""

import numpy as np
import pytest

from heatcheck.auditing import audit
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.counterfactual import CounterfactualSettings
from heatcheck.data import load_task
from heatcheck.data.planted import planted
from heatcheck.errors import BadInput
from heatcheck.models import load
from heatcheck.training import train
from subjects import SUBJECTS

measure = CHECKS["counterfactual"].measure


def result_of(name, n=60, task="planted_keyword", **settings):
    subject = load(f"known:{name}@{task}")
    examples = load_task(task)["test"].examples[:n]
    return measure(Case(subject, examples, labels=subject.labels), CounterfactualSettings(**settings))


def test_the_order_of_floor_optimum_and_most():
    for name in ("reader", "bystander_right", "gauge_twin"):
        found = result_of(name).per_example
        for epsilon in ("0.05", "0.01", "0.001"):
            jsd = found[f"jsd:published:{epsilon}"]
            assert (found["floor"] <= jsd + 1e-9).all()
            assert (jsd <= found["most"] + 1e-9).all()
            np.testing.assert_array_equal(jsd, found[f"upper:published:{epsilon}"])
        assert (found["jsd:published:0.001"] <= found["jsd:published:0.05"] + 1e-9).all()
        assert (found["support"] <= 2).all()


def test_readers_share_is_what_the_algebra_says():
    """Fillers vote nothing, so the output is α_key R: it stays within ε while α_key ≥ α̂_key − d/R. U is small."""
    assert result_of("reader").find("U").high < 0.3
    assert result_of("reader").find("U_null").value > 0.8
    assert result_of("bystander_wrong").find("U").value == pytest.approx(1)


def test_the_published_search_falls_short_and_never_beats_it():
    result = result_of("gauge_twin", n=12, search="jain2019", epsilons=(0.05, 0.01))
    for epsilon in (0.05, 0.01):
        found = result.per_example
        assert (found[f"searched:published:{epsilon:g}"] <= found[f"jsd:published:{epsilon:g}"] + 1e-5).all()
        assert result.find("gap", epsilon=epsilon).value > 0


def test_more_labels_are_bracketed():
    subject, examples = SUBJECTS["average three labels"]
    result = measure(Case(subject, examples, labels=subject.labels), CounterfactualSettings())
    assert result.facts["method"] == "bracket"
    low, high = (result.per_example[f"{end}:published:0.05"] for end in ("jsd", "upper"))
    assert (low <= high + 1e-9).all()
    assert result.find("U").value <= result.find("U_upper").value + 1e-9


def test_counts_add_up_and_nothing_is_nan():
    subject, examples = SUBJECTS["lstm"]
    result = measure(Case(subject, examples, labels=subject.labels), CounterfactualSettings())
    assert len(result.examples) + len(result.excluded) == len(examples)
    assert result.excluded == {"e2": "it has only one word, so there are no other weights"}
    assert all(np.isfinite(values).all() for values in result.per_example.values())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epsilons": (2.0,)}, "changes of probability, at least 0 and below 1"),
        ({"search": "yes"}, "no or jain2019, not 'yes'"),
        ({"shuffles": 0}, "counterfactual.shuffles must be at least 1"),
        ({"epsilons": (0.05, 0.05)}, "names a value twice"),
    ],
)
def test_bad_settings(settings, sentence):
    with pytest.raises(BadInput, match=sentence):
        CounterfactualSettings(**settings)


def audited(subject, task):
    """What the card's line about weights is made of, and no more: one change of probability, few shuffles and draws."""
    quick = {"counterfactual.epsilons": "0.05", "counterfactual.draws": 500}
    quick |= {"permutation.repeats": 50, "permutation.draws": 500}
    return audit(subject, task, examples=40, checks=["permutation", "counterfactual"], settings=quick)


@pytest.mark.parametrize(
    ("name", "task", "state"),
    [
        ("reader", "planted_keyword", "yes"),
        ("reader", "planted_contrast", "unclear"),
        ("reader", "planted_lookup", "yes"),
        ("bystander_right", "planted_keyword", "no"),
        ("bystander_wrong", "planted_contrast", "no"),
        ("shifted", "planted_keyword", "yes"),
        ("gauge_twin", "planted_keyword", "unclear"),
        ("leaker", "planted_contrast", "no"),
    ],
)
def test_the_line_of_the_card(name, task, state):
    """The truth table of spec/verdicts.md §3.1, column hard (a)."""
    found = audited(f"known:{name}@{task}", task)
    line = found.card["hard to manipulate"]
    assert line.state == state
    assert line.sentence
    assert (line.reason == "") == (state != "unclear")
    assert [m.name for m in line.evidence][:2] == ["q", "U"]


def test_a_handful_of_texts_decides_nothing():
    checks = ["erasure", "permutation", "counterfactual"]
    quick = {"erasure.rivals": "leave_one_out"}
    found = audit("known:reader@planted_keyword", "planted_keyword", examples=6, checks=checks, settings=quick)
    for name in ("hard to manipulate", "points at what matters"):
        assert found.card[name].state == "unclear"
        assert "at least 30 examples are needed" in found.card[name].reason
    assert "6 examples are too few" in found.card["hard to manipulate"].sentence


def test_imposed_weights_are_no_heatmap_of_the_model():
    corpus, tiny = planted("planted_keyword", sizes=(60, 20, 20)), {"epochs": 1, "hidden": 8, "embedding": 8}
    fit = train(corpus, impose={"weights": "uniform"}, encoder="average", progress=False, **tiny)
    with pytest.raises(BadInput, match="was trained with replaced attention weights"):
        audit(fit.subject, corpus)


def test_a_model_and_its_temperature_scaled_twin_get_the_same_line():
    states = set()
    values = []
    for scale in (1.0, 10.0):
        subject = type(load("known:reader@planted_keyword"))("planted_keyword", scale=scale)
        found = audited(subject, "planted_keyword")
        states.add(found.card["hard to manipulate"].state)
        values.append(found.results["counterfactual"].find("U").value)
    assert states == {"yes"}
    assert values[0] == pytest.approx(values[1], abs=1e-6)
