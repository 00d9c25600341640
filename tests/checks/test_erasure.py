"""Erasure's K: right on models whose answer is known, and by brute force."""

import json

import numpy as np
import pytest

from heatcheck.auditing.calibration.draws import draw_subject, draw_texts
from heatcheck.auditing.calibration.truth import Cell
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.erasure import BLANK, ErasureSettings, _summaries, as_drawn
from heatcheck.data import load_task
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import REMOVALS, Scores
from heatcheck.models import KNOWN_ANSWERS, load
from heatcheck.training import predict
from subjects import SINGLE, SUBJECTS

measure = CHECKS["erasure"].measure
QUICK = ErasureSettings(rivals=("leave_one_out", "gradient_x_input"), draws=300, random_orders=3)


def case_of(name, n=150, **nuisance):
    kind, _, task = name.partition("@")
    subject = KNOWN_ANSWERS[kind](task, **nuisance)
    return Case(subject, load_task(task)["test"].examples[:n], labels=subject.labels)


@pytest.mark.parametrize("task", ["planted_keyword", "planted_contrast", "planted_lookup"])
@pytest.mark.parametrize(
    ("kind", "points"), [("reader", True), ("bystander_right", True), ("bystander_wrong", False), ("shifted", False)]
)
def test_known_answers(kind, points, task):
    found = measure(case_of(f"{kind}@{task}", n=60), QUICK)
    for operator in ("deletion", "masking"):
        share = found.find("K", operator=operator)
        assert found.find("room", operator=operator).low > 0.02, "otherwise the question is moot"
        assert (share.low > 0.5) if points else (share.high < 0.5)


def test_a_word_that_nobody_sees_does_not_point():
    # Noise puts the deciding word second in every text, with less than a thousandth of the weight: K was .56.
    cell = Cell("bystander_wrong", "planted_contrast")
    corpus, subject = draw_texts(cell, 403, 100), draw_subject(cell, 403)
    found = measure(Case(subject, corpus["test"].examples, labels=subject.labels), QUICK)
    assert max(found.find("K", operator=operator).high for operator in ("deletion", "masking")) < 0.5


def test_blank_is_what_a_heatmap_leaves_blank():
    weights = [0.6, 0.6 * BLANK, 0.6 * (BLANK + 1e-3), 0.001]
    assert [round(10 * weight / max(weights)) for weight in weights] == [10, 0, 1, 0]  # ten shades up to the largest
    scores = Scores("attention", False, ("x",), np.array([[*weights, 9.0]]), np.array([[True] * 4 + [False]]), {})
    assert as_drawn(scores).values.tolist() == [[0.6, 0.0, 0.6 * (BLANK + 1e-3), 0.0, 9.0]]
    signed = Scores("file", True, ("x",), np.array([[-2.0, 0.05, -0.2]]), np.ones((1, 3), bool), {})
    assert as_drawn(signed).values.tolist() == [[-2.0, 0.0, -0.2]]


def test_effects_by_brute_force():
    subject, _ = SUBJECTS["lstm"]
    case = Case(subject, SINGLE, labels=("no", "yes"))
    found = measure(case, ErasureSettings(sizes=(1, 2), rivals=("leave_one_out",), draws=50))
    scale = case.logit_scale
    for place, name in enumerate(found.examples):
        example = next(e for e in SINGLE if e.id == name)
        weights = case.scores("attention").values[SINGLE.index(example), : len(example.words)]
        label = int(predict(subject, [example])[0, 0].argmax())

        def p(text, label=label):
            logits = scale * predict(subject, [text])[0, 0]
            return np.exp(logits[label]) / np.exp(logits).sum()

        order = np.argsort(-weights, kind="stable")
        for operator in ("deletion", "masking"):
            effects = []
            for size in (1, 2):
                gone = set(order[: min(size, len(example.words) - 1)].tolist())
                effects.append(abs(p(example) - p(REMOVALS[operator](example, gone))))
            assert found.per_example[f"effect:attention:{operator}"][place] == pytest.approx(np.mean(effects), abs=1e-7)


def test_k_is_a_ratio_of_means():
    found = measure(case_of("reader@planted_contrast", n=40), QUICK)
    own, floor, best = (found.per_example[f"effect:{n}:deletion"].mean() for n in ("attention", "random", "best rival"))
    assert found.find("K", operator="deletion").value == pytest.approx((own - floor) / (best - floor))
    assert found.find("room", operator="deletion").value == pytest.approx(best - floor)


def test_random_removal_is_zero_and_the_rival_itself_is_one():
    case = case_of("reader@planted_contrast", n=300)
    nothing = measure(case, ErasureSettings(explainer="random", rivals=("leave_one_out",), draws=300))
    everything = measure(case, ErasureSettings(explainer="leave_one_out", rivals=("leave_one_out",), draws=300))
    for operator in ("deletion", "masking"):
        share = nothing.find("K", operator=operator)
        assert share.low < 0.05
        assert share.high > -0.05
        assert everything.find("K", operator=operator).value == pytest.approx(1)


def test_the_rival_is_chosen_on_the_other_half():
    """Each of two rivals is best on one half: then each half gets the one that is best on the other."""
    case = case_of("reader@planted_keyword", n=40)
    rows = np.arange(40)
    first = np.array([stream(case.seed, "half", example.id).random() < 0.5 for example in case.examples])
    assert 5 < first.sum() < 35
    effects = {"a": first * 1.0, "b": ~first * 1.0, "a (signed)": first * 1.0, "random orders": np.zeros(40)}
    assert (_summaries(case, rows, effects, ["a", "b"])["best rival"] == 0).all()


def test_one_rival_that_is_best_everywhere_is_chosen_everywhere():
    found = measure(
        case_of("reader@planted_keyword", n=60), ErasureSettings(rivals=("leave_one_out", "random"), draws=50)
    )
    best, good = (found.per_example[f"effect:{name}:deletion"] for name in ("best rival", "leave_one_out"))
    assert np.array_equal(best, good)


@pytest.mark.parametrize("name", ["reader@planted_contrast", "bystander_wrong@planted_contrast"])
def test_confidence_does_not_change_it(name):
    """A model and its temperature-scaled twin get the same K from the same effects."""
    one, other = (measure(case_of(name, n=40, scale=scale), QUICK) for scale in (1.0, 30.0))
    for operator in ("deletion", "masking"):
        for name, by in (
            ("K", {}),
            ("room", {}),
            ("effect", {"ranking": "attention"}),
            ("effect", {"ranking": "random"}),
        ):
            pair = [found.find(name, operator=operator, **by).value for found in (one, other)]
            assert pair[0] == pytest.approx(pair[1], abs=0.02)


def test_count_in_is_count_out_and_exclusions():
    subject, _ = SUBJECTS["lstm"]
    found = measure(Case(subject, SINGLE, labels=("no", "yes")), QUICK)
    assert found.excluded == {"e2": "leave_one_out: one word only: nothing is left without it"}
    assert len(found.examples) + len(found.excluded) == len(SINGLE)


def test_an_example_without_scores_is_left_out_by_name(tmp_path):
    """Counted with an effect of nothing, a short scores file would speak against itself."""
    case = case_of("reader@planted_contrast", n=20)
    rows = [{"id": e.id, "scores": [int(m) for m in e.marks["rationale"]]} for e in case.examples[:12]]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, rows)))
    name = f"file:{tmp_path / 'some.jsonl'}"
    found = measure(case, ErasureSettings(explainer=name, rivals=("leave_one_out",), draws=50))
    assert len(found.examples) == 12
    assert found.excluded == {e.id: f"{name}: no scores in some.jsonl" for e in case.examples[12:]}
    assert found.find("K", operator="deletion").value > 0.9


def test_nothing_depends_on_the_order_of_examples():
    case = case_of("reader@planted_contrast", n=30)
    turned = Case(case.subject, case.examples[::-1], labels=case.labels)
    one, other = measure(case, QUICK), measure(turned, QUICK)
    for name, values in one.per_example.items():
        assert np.allclose(values, other.per_example[name][::-1], atol=1e-6), name


def test_what_is_refused():
    with pytest.raises(UnknownName, match="unknown removal operator 'burning'; known: deletion, masking"):
        ErasureSettings(operators=("burning",))
    with pytest.raises(BadInput, match="at least 1"):
        ErasureSettings(sizes=(0,))
    case = Case(
        load("known:reader@planted_keyword"), load_task("planted_keyword")["test"].examples[:3], labels=("a", "b")
    )
    with pytest.raises(BadInput, match="erasure needs attention and at least one other method"):
        measure(case, ErasureSettings(rivals=()))
