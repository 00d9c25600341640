"""The shuffle that a report shows: the median in effect, against brute force through the whole model."""

import numpy as np
import pytest
import torch
from scipy.special import softmax

from heatcheck.auditing.audited_examples import audited_examples, rival_of
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.permutation import PermutationSettings, shuffled_logits, typical_weights
from heatcheck.engine import seed_of
from heatcheck.models.hf import Transformer
from heatcheck.stats import shuffled_weights
from rearranged import lively
from subjects import HIERARCHICAL, SUBJECTS
from tiny_transformers import EXAMPLES

REPEATS = 25
TRANSFORMERS = ["bert", "gpt2"]
SINGLE = ["lstm", "cnn", "average three labels", "pair merge", "pair dot"]


def case_of(name):
    if name in TRANSFORMERS:
        subject = lively(name)
        return Case(subject, EXAMPLES, labels=subject.labels)
    subject, examples = {**SUBJECTS, **HIERARCHICAL}[name]
    return Case(subject, examples, labels=subject.labels)


def measured(case):
    return CHECKS["permutation"].measure(case, PermutationSettings(repeats=REPEATS))


def under_each_shuffle(case, example):
    """Probabilities of the labels, and the mean weights of the heads, under every draw; the whole model is run."""
    site = case.subject.sites[-1]
    batch = case.subject.encode([example])
    # A transformer's special tokens carry weight too, so they are among what is shuffled.
    keys = (batch.valid if isinstance(case.subject, Transformer) else batch.scored).numpy()
    with torch.no_grad():
        run = case.subject.run(batch, want=[site])
        own, query = run.parts[site], run.row[0, 0] if isinstance(case.subject, Transformer) else 0
        seed = seed_of(case.seed, "permutation", example.id)
        heads = [
            shuffled_weights(own[:, head, query].double().numpy(), keys, np.array([seed + head], np.uint64), REPEATS)[0]
            for head in range(own.shape[1])
        ]
        logits = []
        for draw in range(REPEATS):
            imposed = own.clone()
            for head, drawn in enumerate(heads):
                imposed[0, head, query] = torch.from_numpy(drawn[draw]).to(own.dtype)
            logits.append(case.subject.run(batch, edits={site: imposed}).logits[0, 0].double().numpy())
        before = case.subject.run(batch).logits[0, 0].double().numpy()
    word = batch.word[0].numpy()
    of_words = np.array([[sum(w[word == n]) for n in range(len(example.words))] for w in np.mean(heads, axis=0)])
    scale = case.logit_scale
    return softmax(scale * np.array(logits), -1), softmax(scale * before), of_words


@pytest.mark.parametrize("name", [*SINGLE, *TRANSFORMERS])
def test_it_is_the_median_in_effect_and_its_probability_that_of_the_model_under_it(name):
    case = case_of(name)
    result = measured(case)
    draws = result.per_example["typical_draw"].astype(int)
    weights = typical_weights(case, dict(zip(result.examples, draws.tolist(), strict=True)))
    for row, example in enumerate(case.examples):
        if example.id in result.excluded:
            continue
        at = result.examples.index(example.id)
        shuffled, own, of_words = under_each_shuffle(case, example)
        answer = case.predicted[row]
        assert answer == own.argmax()
        assert result.per_example["p_own"][at] == pytest.approx(own[answer], abs=1e-5)
        assert result.per_example["p_typical"][at] == pytest.approx(shuffled[draws[at], answer], abs=1e-5)
        change = np.abs(shuffled - own).sum(-1) / 2
        assert change[draws[at]] == pytest.approx(np.sort(change)[(REPEATS - 1) // 2], abs=1e-5)
        shown = np.array([*weights][row])
        np.testing.assert_allclose(shown[np.isfinite(shown)], of_words[draws[at]][np.isfinite(shown)], atol=1e-6)


def test_of_an_even_number_it_is_the_lower_of_the_middle_two():
    case = case_of("lstm")
    result = CHECKS["permutation"].measure(case, PermutationSettings(repeats=2))
    logits, own = shuffled_logits(case, 2), case.own_logits[:, None]
    probabilities = [softmax(case.logit_scale * of, -1) for of in (logits, own)]
    change = np.abs(probabilities[0] - probabilities[1]).sum(-1) / 2
    kept = [row for row, example in enumerate(case.examples) if example.id not in result.excluded]
    assert result.per_example["typical_draw"].tolist() == change.argmin(1)[kept].tolist()


@pytest.mark.parametrize("name", SINGLE)
def test_the_row_is_a_permutation_of_the_heatmap(name):
    case = case_of(name)
    result = measured(case)
    shown, _ = audited_examples(case, {"permutation": result})
    moved = 0
    for one in shown:
        if one.id in result.excluded:
            assert "shuffled" not in one.scores, "one word has nothing to be shuffled with"
            continue
        attention, shuffled = (np.array(one.scores[name], float) for name in ("attention", "shuffled"))
        assert len(shuffled) == len(one.words)
        np.testing.assert_allclose(np.sort(shuffled), np.sort(attention), atol=1e-6)
        assert shuffled.sum() == pytest.approx(attention.sum(), abs=1e-6)
        moved += not np.allclose(attention, shuffled)
    assert moved, "the same row again is no shuffle"
    assert result.excluded


def test_heads_are_shuffled_apart_and_special_tokens_too():
    """So the words of a transformer have no permutation of their weights."""
    case = case_of("bert")
    shown, _ = audited_examples(case, {"permutation": measured(case)})
    for one in shown:
        assert sum(one.scores["shuffled"]) <= 1 + 1e-6
        assert not np.allclose(np.sort(one.scores["shuffled"]), np.sort(one.scores["attention"]))


@pytest.mark.parametrize("name", ["lstm", *TRANSFORMERS])
def test_neither_order_nor_company_matters(name):
    case = case_of(name)

    def rows(examples):
        of = Case(case.subject, examples, labels=case.labels)
        of.__dict__["logit_scale"] = case.logit_scale  # it is of the whole sample
        result = measured(of)
        shown, _ = audited_examples(of, {"permutation": result})
        typical = dict(zip(result.examples, result.per_example["p_typical"].tolist(), strict=True))
        return {one.id: (one.scores["shuffled"], typical[one.id]) for one in shown if "shuffled" in one.scores}

    together = rows(case.examples)
    alone = [rows([example]) for example in case.examples if example.id in together]
    for others in (rows(case.examples[::-1]), {name: row for one in alone for name, row in one.items()}):
        assert others.keys() == together.keys()
        for example, (weights, probability) in together.items():
            np.testing.assert_allclose(others[example][0], weights, atol=1e-5)
            assert others[example][1] == pytest.approx(probability, abs=1e-5)


@pytest.mark.parametrize("name", HIERARCHICAL)
def test_where_sentences_are_shuffled_no_word_has_a_row(name):
    case = case_of(name)
    shown, _ = audited_examples(case, {"permutation": measured(case)})
    assert all("shuffled" not in one.scores for one in shown)


def test_without_shuffles_there_is_no_row():
    shown, rival = audited_examples(case_of("lstm"))
    assert all("shuffled" not in one.scores for one in shown)
    assert rival == "leave_one_out"


def test_what_is_shuffled_is_no_rival():
    assert rival_of(["attention", "shuffled"]) is None
    assert rival_of(["attention", "shuffled", "norms", "zeta"]) == "norms"
