"""Shuffling the weights: against brute force through the whole model, and on models whose answer is known."""

import numpy as np
import pytest
import torch

from heatcheck.checks import CHECKS, Case
from heatcheck.checks.permutation import PermutationSettings, bin_of, shuffled_logits
from heatcheck.data import Example, load_task
from heatcheck.engine import seed_of
from heatcheck.errors import NotSupported
from heatcheck.models import load
from heatcheck.stats import shuffled_weights
from subjects import SUBJECTS

measure = CHECKS["permutation"].measure


def case_of(name, n=None):
    subject, examples = SUBJECTS[name]
    return Case(subject, examples[:n], labels=getattr(subject, "labels", ("a", "b")))


@pytest.mark.parametrize("name", ["lstm", "cnn", "average three labels", "pair merge", "pair dot"])
def test_equal_to_imposing_each_shuffle_on_the_whole_model(name):
    case = case_of(name)
    found = shuffled_logits(case, repeats=6)
    for row, example in enumerate(case.examples):
        batch = case.subject.encode([example])
        site = case.subject.sites[-1]
        with torch.no_grad():
            own = case.subject.run(batch, want=[site]).parts[site]
            seeds = np.array([seed_of(case.seed, "permutation", example.id)], dtype=np.uint64)
            drawn = shuffled_weights(own[:, 0, 0].double().numpy(), batch.scored.numpy(), seeds, 6)
            for number in range(6):
                weights = torch.from_numpy(drawn[:, number]).to(own.dtype)[:, None, None]
                logits = case.subject.run(batch, edits={site: weights}).logits[0, 0].double().numpy()
                shift = found[row, number] - logits
                np.testing.assert_allclose(shift, shift[0], atol=1e-5)  # a softmax does not see a constant


def test_known_answers():
    few = load_task("planted_keyword")["test"].examples[:60]
    for name, low, high in (("reader", 0.0, 0.2), ("bystander_right", 1.0, 1.0), ("bystander_wrong", 1.0, 1.0)):
        subject = load(f"known:{name}@planted_keyword")
        result = measure(Case(subject, few, labels=subject.labels), PermutationSettings())
        assert low <= result.find("q").value <= high
    assert result.per_example["delta"].max() == pytest.approx(0, abs=1e-12)
    assert result.find("flips").value == 0


def test_one_word_is_left_out_by_name_and_counts_add_up():
    case = case_of("lstm")
    result = measure(case, PermutationSettings(repeats=10))
    assert result.excluded == {"e2": "it has only one word, whose weight cannot move"}
    assert len(result.examples) + len(result.excluded) == len(case.examples)
    assert {len(values) for values in result.per_example.values()} == {4}
    by_class = [m.n for m in result.measurements if m.name == "delta" and set(m.by) == {"class"}]
    by_bin = [m.n for m in result.measurements if m.name == "delta" and "bin" in m.by]
    assert sum(by_class) == sum(by_bin) == 4


def test_neither_order_nor_company_matters():
    case = case_of("lstm")
    turned = Case(case.subject, case.examples[::-1], labels=case.labels)
    a, b = (measure(c, PermutationSettings(repeats=20)) for c in (case, turned))
    np.testing.assert_allclose(a.per_example["delta"], b.per_example["delta"][::-1], atol=1e-6)


def test_saturated_outputs_are_numbers():
    subject, _ = SUBJECTS["average"]
    examples = [Example("a", "good good bad", label=0), Example("b", "not so bad", label=1)]
    with torch.no_grad():
        weight = subject.output.weight.clone()
        subject.output.weight.mul_(1e5)
    try:
        result = measure(Case(subject, examples, labels=subject.labels), PermutationSettings())
    finally:
        with torch.no_grad():
            subject.output.weight.copy_(weight)
    assert all(np.isfinite(values).all() for values in result.per_example.values())


def test_bins_are_quarters():
    assert bin_of(np.array([0.0, 0.25, 0.4999, 0.75, 1.0])).tolist() == [0, 1, 1, 3, 3]


def test_without_a_short_cut_it_says_so():
    with pytest.raises(NotSupported, match="no short cut"):
        measure(case_of("seq2seq"), PermutationSettings())
