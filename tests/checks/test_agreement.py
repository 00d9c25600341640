"""Agreement: planted positives and nulls, its floors against a closed form, and nothing silently dropped."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import kendalltau, kstest

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.agreement import AgreementSettings
from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput
from heatcheck.explainers import Scores, gradient_contains_weight
from heatcheck.models import load
from subjects import SINGLE, SUBJECTS

measure = CHECKS["agreement"].measure
QUICK = AgreementSettings(draws=200, shuffles=3)


def case_of(name, n=60, seed=0):
    task = name.partition("@")[2]
    return Case(load(f"known:{name}"), load_task(task)["test"].examples[:n], labels=("negative", "positive"), seed=seed)


def planted_case(scores, words=30, n=400, seed=0):
    """A case whose scores are given: [example word] by name."""
    examples = [Example(f"e{row}", " ".join(f"w{place}" for place in range(words)), label=0) for row in range(n)]
    case = Case(load("known:reader@planted_keyword"), examples, labels=("negative", "positive"), seed=seed)
    valid = np.ones((n, words), dtype=bool)
    ids = tuple(e.id for e in examples)
    case._scores = {
        (name, "standardised"): Scores(name, False, ids, values, valid, {}) for name, values in scores.items()
    }
    return case


def test_tau_is_scipy_s_on_every_example():
    case = case_of("reader@planted_contrast", n=20)
    found = measure(case, QUICK)
    for row, example in enumerate(case.examples):
        n = len(example.words)
        x, y = case.scores("attention").values[row, :n], np.abs(case.scores("leave_one_out").values[row, :n])
        assert found.per_example["tau:attention|leave_one_out"][row] == pytest.approx(kendalltau(x, y).statistic)
    mean = found.find("tau", pair=["attention", "leave_one_out"], **{"class": None})
    assert mean.value == pytest.approx(np.mean(found.per_example["tau:attention|leave_one_out"]))
    assert mean.low < mean.value < mean.high


def test_a_planted_positive_and_a_planted_null():
    generator = np.random.default_rng(0)
    same, other, noise = (generator.random((400, 30)) for _ in range(3))
    case = planted_case({"attention": same, "gradient": same**2, "leave_one_out": other, "random": noise})
    found = measure(
        case, AgreementSettings(explainers=("attention", "gradient", "leave_one_out", "random"), shuffles=2)
    )
    assert found.find("tau", pair=["attention", "gradient"], **{"class": None}).value == pytest.approx(1)
    null = found.find("tau", pair=["attention", "leave_one_out"], **{"class": None})
    assert null.low < 0 < null.high
    assert kstest(found.per_example["p:attention|leave_one_out"], "uniform").pvalue > 0.001
    share = found.find("significant_share", pair=["attention", "leave_one_out"], correction="none")
    assert 0.02 < share.value < 0.09
    assert found.find("significant_share", pair=["attention", "leave_one_out"], correction="holm").value < 0.01
    assert found.find("significant_share", pair=["attention", "gradient"], correction="holm").value == 1


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_the_mechanical_floor_of_a_gradient_has_a_closed_form(spread):
    """log α and log u independent normals: τ(α, α·u) = (2/π) asin(1/√(1 + σ_u²/σ_α²)), all of it mechanical."""
    generator = np.random.default_rng(1)
    weights, own = np.exp(generator.normal(size=(400, 30))), np.exp(spread * generator.normal(size=(400, 30)))
    case = planted_case({"attention": weights, "gradient": weights * own})
    found = measure(case, AgreementSettings(explainers=("attention", "gradient"), shuffles=5))
    expected = 2 / np.pi * np.arcsin(1 / np.sqrt(1 + spread**2))
    assert found.find("tau", pair=["attention", "gradient"], **{"class": None}).value == pytest.approx(
        expected, abs=0.02
    )
    assert found.find("tau_mechanical_floor", pair=["attention", "gradient"]).value == pytest.approx(expected, abs=0.02)


def test_agreement_that_is_earned_lies_above_the_floor():
    generator = np.random.default_rng(2)
    weights = np.exp(generator.normal(size=(200, 30)))
    case = planted_case({"attention": weights, "gradient": weights * weights}, n=200)
    found = measure(case, AgreementSettings(explainers=("attention", "gradient"), shuffles=3))
    tau = found.find("tau", pair=["attention", "gradient"], **{"class": None})
    assert tau.low > found.find("tau_mechanical_floor", pair=["attention", "gradient"]).high + 0.2


def test_the_floor_of_leave_one_out_follows_the_renormalisation():
    """A context-free reader with its votes shuffled: α_t (r_t − s)/(1 − α_t), by brute force."""
    case = case_of("reader@planted_keyword", n=5)
    found = measure(case, AgreementSettings(draws=50, shuffles=1))
    from heatcheck.engine import stream

    for row, example in enumerate(case.examples):
        n = len(example.words)
        weights = case.scores("attention").values[row, :n]
        order = stream(0, "mechanical floor", 0, example.id).permutation(np.arange(n))
        votes = case.scores("relevance").values[row, :n][order]
        whole = (weights * votes).sum()
        effect = []
        for place in range(n):
            rest = np.delete(weights, place)
            effect.append(abs((rest / rest.sum() * np.delete(votes, place)).sum() - whole))
        expected = kendalltau(weights, np.round(effect, 12)).statistic
        assert found.per_example["floor:attention|leave_one_out"][row] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(("name", "floor"), [("average", True), ("lstm", False), ("cnn", False), ("pair merge", False)])
def test_only_a_context_free_model_has_a_mechanical_floor(name, floor):
    """Elsewhere a word acts through other states too, and the formulas of the floors are not about that model."""
    subject, examples = SUBJECTS[name]
    found = measure(Case(subject, examples, labels=subject.labels), QUICK)
    for rival in ("gradient", "leave_one_out"):
        assert (f"floor:attention|{rival}" in found.per_example) == floor
        assert (rival in found.facts["without_floor"]) == (not floor), "said, and why"
    named = {m.by["pair"][1] for m in found.measurements if m.name == "tau_mechanical_floor"}
    assert named == ({"gradient", "leave_one_out"} if floor else set())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none linear", True),
        ("average three labels", True),
        ("pair average", True),  # its decoder is not linear, its states have no context
        ("gru", False),
        ("conv", False),
        ("pair dot", False),  # a CNN
        ("seq2seq", False),
        ("reader@planted_keyword", True),
    ],
)
def test_whether_a_gradient_contains_the_weight_is_seen_and_not_read_off_a_name(name, expected):
    subject, examples = SUBJECTS[name]
    assert gradient_contains_weight(subject, examples) is expected
    assert gradient_contains_weight(subject, examples, seed=1) is expected, "whichever words lose their weight"


def test_count_in_is_count_out_and_exclusions():
    subject, _ = SUBJECTS["lstm"]
    case = Case(subject, SINGLE, labels=("no", "yes"))
    found = measure(case, QUICK)
    assert len(found.examples) + len(found.excluded) == len(SINGLE)
    assert found.excluded == {"e2": "leave_one_out: one word only: nothing is left without it"}
    assert all(len(values) == len(found.examples) for values in found.per_example.values())


def test_undefined_correlations_are_counted():
    """A bystander's relevances are all equal: τ is undefined everywhere, and no row is invented."""
    found = measure(case_of("bystander_right@planted_keyword", n=10), QUICK)
    assert np.isnan(found.per_example["tau:attention|relevance"]).all()
    assert not [m for m in found.measurements if m.name == "tau" and m.by["pair"] == ["attention", "relevance"]]
    values = np.ones((20, 5))
    values[:15] = np.random.default_rng(0).random((15, 5))
    case = planted_case({"attention": np.random.default_rng(1).random((20, 5)), "gradient": values}, words=5, n=20)
    tau = measure(case, AgreementSettings(explainers=("attention", "gradient"), shuffles=1)).find(
        "tau", pair=["attention", "gradient"], **{"class": None}
    )
    assert (tau.n, tau.by["undefined"]) == (15, 5)


def test_classes_partition_the_examples():
    case = case_of("reader@planted_keyword")
    found = measure(case, QUICK)
    rows = [m for m in found.measurements if m.name == "tau" and m.by["pair"] == ["attention", "gradient"]]
    assert sum(m.n for m in rows if "class" in m.by) == next(m.n for m in rows if "class" not in m.by)


def test_nothing_depends_on_the_order_of_examples():
    case = case_of("reader@planted_contrast", n=20)
    turned = Case(case.subject, case.examples[::-1], labels=case.labels)
    one, other = measure(case, QUICK), measure(turned, QUICK)
    for name, values in one.per_example.items():
        assert np.allclose(values, other.per_example[name][::-1], equal_nan=True), name


def test_a_subject_that_cannot_have_a_relevance_says_so():
    subject, examples = SUBJECTS["pair merge"]
    found = measure(Case(subject, examples, labels=subject.labels), QUICK)
    assert "relevance" in found.not_run
    assert not [m for m in found.measurements if "relevance" in m.by.get("pair", ())]


def test_one_explainer_is_not_enough():
    with pytest.raises(BadInput, match="agreement needs at least two explainers"):
        measure(case_of("reader@planted_keyword", n=3), dataclasses.replace(QUICK, explainers=("attention",)))
    with pytest.raises(BadInput, match="no example to audit"):
        Case(load("known:reader@planted_keyword"), [], labels=("a", "b"))
