"""Words removed in the order of every explanation: by hand, by brute force, and on models whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

from heatcheck.checks import CHECKS, Case, answers
from heatcheck.checks.perturbation import PerturbationSettings, size_of
from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import EXPLAINERS, REMOVALS
from heatcheck.models import KNOWN_ANSWERS, load
from heatcheck.training import predict
from subjects import SINGLE, SUBJECTS
from tiny_transformers import EXAMPLES, tiny

measure = CHECKS["perturbation"].measure
QUICK = PerturbationSettings(
    explainers=("attention", "leave_one_out", "gradient_x_input"),
    operators=("masking", "deletion"),
    draws=100,
    random_orders=3,
)


def case_of(name, n=40, **nuisance):
    kind, _, task = name.partition("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    return Case(subject, load_task(task)["test"].examples[:n], labels=subject.labels)


@pytest.fixture(scope="module")
def reader():
    return measure(case_of("reader@planted_keyword"), QUICK)


def test_by_hand():
    """The reader of a keyword: with its word gone at once, everything it has to lose is lost, at every share."""
    subject = load("known:reader@planted_keyword")
    example = load_task("planted_keyword")["test"].examples[0]
    case = Case(subject, [example], labels=subject.labels)
    found = measure(case, replace(QUICK, explainers=("attention",), shares=(0.5,), operators=("masking",)))
    words = example.words
    order = np.argsort(-case.scores("attention").values[0, : len(words)], kind="stable")
    label, half = int(case.predicted[0]), len(words) // 2 if len(words) % 2 == 0 else (len(words) + 1) // 2

    def p(gone):
        logits = case.logit_scale * predict(subject, [REMOVALS["masking"](example, set(gone.tolist()))])[0, 0]
        return np.exp(logits[label]) / np.exp(logits).sum()

    nothing = p(order[:0])
    most, least = nothing - p(order[:half]), nothing - p(order[::-1][:half])
    assert found.per_example["aopc:attention:masking"] == pytest.approx([most])
    assert found.per_example["aopc_least:attention:masking"] == pytest.approx([least])
    assert found.find("area", ranking="attention", operator="masking").value == pytest.approx(most - least)
    assert most > 0.3, "its keyword is among the half that goes first"
    assert abs(least) < 0.05, "and not among the half that goes last"


def test_by_brute_force():
    subject, _ = SUBJECTS["lstm"]
    case = Case(subject, SINGLE, labels=("no", "yes"))
    settings = replace(QUICK, explainers=("gradient_x_input",), shares=(0.3, 0.6))
    found = measure(case, settings)
    for place, name in enumerate(found.examples):
        row = next(n for n, e in enumerate(SINGLE) if e.id == name)
        example, label = SINGLE[row], int(case.predicted[row])
        values = case.scores("gradient_x_input").values[row, : len(example.words)]

        def p(gone, operator, example=example, label=label):
            text = REMOVALS[operator](example, set(map(int, gone)))
            logits = case.logit_scale * predict(subject, [text])[0, 0]
            return np.exp(logits[label]) / np.exp(logits).sum()

        for ranking, scores in (("gradient_x_input", np.abs(values)), ("gradient_x_input (signed)", values)):
            order = np.argsort(-scores, kind="stable")
            areas = []
            for operator in ("masking", "deletion"):
                sizes = [size_of(share, len(order)) for share in (0.3, 0.6)]
                most = np.mean([p([], operator) - p(order[:k], operator) for k in sizes])
                least = np.mean([p([], operator) - p(order[::-1][:k], operator) for k in sizes])
                assert found.per_example[f"aopc:{ranking}:{operator}"][place] == pytest.approx(most, abs=1e-6)
                assert found.per_example[f"aopc_least:{ranking}:{operator}"][place] == pytest.approx(least, abs=1e-6)
                areas.append(most - least)
            assert found.per_example[f"area:{ranking}:both"][place] == pytest.approx(np.mean(areas), abs=1e-6)


def test_the_readers_attention_is_best_and_random_worst(reader):
    for operator in ("masking", "deletion", "both"):
        ranks = {
            m.by["ranking"]: m
            for m in reader.measurements
            if m.name == "rank" and m.by["operator"] == operator and m.by["among"] == "by size"
        }
        assert ranks.keys() == {"attention", "leave_one_out", "gradient_x_input", "random"}
        assert ranks["random"].value == 4
        assert ranks["random"].low == 4
        assert ranks["attention"].high < 4
        assert reader.find("area", ranking="attention", operator=operator).low > 0.2
        assert reader.find("above_random", ranking="attention", operator=operator).low > 0.2
        random = reader.find("area", ranking="random", operator=operator)
        assert random.low < 0.1
        assert random.high > -0.1


def test_weights_on_the_wrong_word_are_no_better_than_random():
    found = measure(case_of("bystander_wrong@planted_keyword"), QUICK)
    assert found.find("rank", ranking="attention", operator="both", among="by size").low > 1
    assert found.find("above_random", ranking="attention", operator="both").low < 0.05
    assert found.find("above_random", ranking="leave_one_out", operator="both").low > 0.2


def test_ranks_are_places(reader):
    """With nothing tied, the ranks of a league are 1 to its size; tied ones share theirs."""
    for league in ("by size", "with sign"):
        ranks = [m for m in reader.measurements if m.name == "rank" and m.by.get("among") == league]
        of_both = [m.value for m in ranks if m.by["operator"] == "both"]
        assert sum(of_both) == pytest.approx(len(of_both) * (len(of_both) + 1) / 2)
        assert all(m.low <= m.value <= m.high for m in ranks)
    signed = {m.by["ranking"] for m in reader.measurements if m.by.get("among") == "with sign"}
    assert signed == {"leave_one_out (signed)", "gradient_x_input (signed)", "random"}


def test_the_means_are_those_of_the_curves(reader):
    shares = reader.settings["shares"]
    of = {"ranking": "leave_one_out", "operator": "deletion"}
    most, least = (
        np.mean([reader.find("lost", direction=direction, share=share, **of).value for share in shares])
        for direction in ("MoRF", "LeRF")
    )
    assert reader.find("aopc", **of).value == pytest.approx(most)
    assert reader.find("aopc_least", **of).value == pytest.approx(least)
    assert reader.find("area", **of).value == pytest.approx(most - least)
    both = [reader.find("area", ranking="leave_one_out", operator=o).value for o in ("masking", "deletion", "both")]
    assert both[2] == pytest.approx(np.mean(both[:2]))


def test_each_text_is_read_once(monkeypatch):
    seen = []

    def watched(subject, texts, **options):
        seen.extend((e.id, e.text, e.masked) for e in texts)
        return predict(subject, texts, **options)

    monkeypatch.setattr(answers, "predict", watched)
    measure(case_of("reader@planted_keyword", n=5), replace(QUICK, operators=("masking",)))
    assert seen
    assert len(seen) == len(set(seen))


def test_by_default_every_explainer_that_can_be_run():
    found = measure(Case(tiny("bert"), EXAMPLES, labels=("0", "1")), PerturbationSettings(draws=20, shares=(0.5,)))
    run, not_run = found.facts["explainers"], found.not_run
    assert {*run, *not_run, "random", "influence_left_out"} == set(EXPLAINERS), "the last is nearly leave_one_out"
    assert "influence_left_out" not in {*run, *not_run}
    assert {"attention", "leave_one_out", "gradient"} <= set(run)
    assert {m.by["ranking"] for m in found.measurements} >= {*run, "random"}
    assert all(np.isfinite([m.value, m.low, m.high]).all() for m in found.measurements)


def test_what_is_left_out_has_a_name():
    case = Case(*SUBJECTS["lstm"], labels=("no", "yes"))
    found = measure(case, replace(QUICK, texts=2))
    assert len(found.examples) == 2
    assert len(found.examples) + len(found.excluded) == len(case.examples)
    assert any("perturbation.texts" in reason for reason in found.excluded.values())
    assert any("one word" in reason or "two words" in reason for reason in found.excluded.values())
    with pytest.raises(BadInput, match="can use none of the examples"):
        measure(Case(SUBJECTS["lstm"][0], [Example("a", "dull", label=0)], labels=("no", "yes")), QUICK)


def test_a_sample_does_not_change_an_example():
    case = case_of("reader@planted_keyword", n=12)
    whole = measure(case, QUICK)
    few = Case(case.subject, case.examples[5:8], labels=case.labels)
    few.logit_scale = case.logit_scale  # the one thing that is of the whole sample
    alone = measure(few, QUICK)
    for ranking in ("random", "attention", "leave_one_out (signed)"):
        name = f"area:{ranking}:both"
        np.testing.assert_allclose(alone.per_example[name], whole.per_example[name][5:8], atol=1e-6)


def test_settings():
    for wrong, sentence in [
        ({"shares": (0.0,)}, "between 0 and 1"),
        ({"shares": (1.0,)}, "between 0 and 1"),
        ({"shares": (0.1, 0.1)}, "twice"),
        ({"texts": 0}, "at least 1"),
        ({"operators": ()}, "is empty"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            PerturbationSettings(**wrong)
    with pytest.raises(UnknownName, match="removal operator"):
        PerturbationSettings(operators=("burning",))


def test_the_plan_is_an_upper_bound(monkeypatch):
    count = 0

    def counted(subject, texts, **options):
        nonlocal count
        count += len(texts)
        return predict(subject, texts, **options)

    monkeypatch.setattr(answers, "predict", counted)
    case = case_of("reader@planted_keyword", n=5, filler=0.05)  # no two words are tied
    measure(case, QUICK)
    assert 0 < count <= CHECKS["perturbation"].cost(case, QUICK)
