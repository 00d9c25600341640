"""The gradient's estimates of heads' effects, and what is said of their error."""

import numpy as np
import pytest
import torch

from heatcheck.heads.gates import gate_edits
from heatcheck.heads.proxy import estimate_each, losses
from heatcheck.heads.proxy_error import compare
from heatcheck.heads.reading import Reading
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import Answers, Removed, remove_each
from heatcheck.heads.ways import WAYS, Replacements
from heatcheck.heads.where import adjusted_p, gaze_shares, heads_that_matter
from heatcheck.models import differentiate
from tiny_transformers import EXAMPLES, OTHERS, tiny


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_zero_is_the_slope_of_a_gate(family):
    """By finite differences of a gate on one head, each text alone."""
    subject = tiny(family)
    found = estimate_each(subject, EXAMPLES, read_reference(subject, OTHERS), ["zero"])
    for layer, head, row in [(0, 2, 0), (1, 1, 2)]:
        batch = subject.encode([EXAMPLES[row]])
        each = []
        for gate in (1 + 1e-2, 1 - 1e-2):
            gates = torch.ones(3, 4)
            gates[layer, head] = gate
            with torch.no_grad():
                run = subject.run(batch, edits=gate_edits(subject, gates))
            each.append(float(losses(run, batch.gold)))
        slope = (each[0] - each[1]) / 2e-2
        assert found.effects["zero"][layer, head, row] == pytest.approx(-slope, rel=0.05, abs=2e-5)
        assert found.importance[layer, head, row] == pytest.approx(abs(slope), rel=0.05, abs=2e-5)


def test_a_pattern_may_be_estimated_through_the_weights_too():
    """⟨A′ − A, ∂loss/∂A⟩ is the same number, for a head's output is linear in its weights."""
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    found = estimate_each(subject, EXAMPLES, reference)
    batch = subject.encode(EXAMPLES)
    reading = Reading(subject, batch)
    swaps = Replacements(reading, EXAMPLES, reference, list(WAYS), seed=0)
    slopes = differentiate(subject, batch, subject.sites, lambda run: losses(run, batch.gold))
    for layer, site in enumerate(subject.sites):
        heads = reading.heads(layer)
        for way in ("uniform", "offset", "other_text"):
            new = swaps.weights(way, heads.allowed, layer, 4)
            change = torch.where(batch.valid[:, None, :, None], new - heads.weights, 0.0)
            through = torch.einsum("ehqk,ehqk->he", change.double(), slopes[site].double())
            np.testing.assert_allclose(found.effects[way][layer], through.numpy(), atol=1e-6)


def test_estimates_do_not_depend_on_the_batch_and_lose_their_sign_where_asked():
    subject = tiny("gpt2")
    reference = read_reference(subject, OTHERS)
    whole = estimate_each(subject, EXAMPLES, reference)
    alone = [estimate_each(subject, [example], reference) for example in EXAMPLES]
    for way in WAYS:
        one_by_one = np.concatenate([one.effects[way] for one in alone], axis=-1)
        np.testing.assert_allclose(whole.effects[way], one_by_one, atol=1e-6)
    by_token = estimate_each(subject, EXAMPLES, reference, ["zero"], absolute="token")
    assert (by_token.importance >= whole.importance - 1e-9).all()
    assert (by_token.importance > whole.importance + 1e-6).any()


def test_errors_of_a_perfect_an_opposite_and_a_useless_estimate():
    generator = np.random.default_rng(0)
    true = generator.normal(size=(4, 10, 1)) + 0.01 * generator.normal(size=(4, 10, 50))
    same = compare(true, true, generator=generator, draws=200)
    assert [same.found[name].value for name in ("spearman", "recall", "signs", "relative_error")] == [1, 1, 1, 0]
    assert same.top == 4
    assert abs(same.chance["spearman"]) < 0.05
    assert same.chance["recall"] == pytest.approx(0.1, abs=0.03)
    opposite = compare(-true, true, generator=generator, draws=200)
    assert [opposite.found[name].value for name in ("spearman", "signs", "relative_error")] == [-1, 0, 2]
    mixed = np.where(true.mean(-1, keepdims=True) > 0.8, true, generator.permutation(np.minimum(true, 0.7)))
    assert compare(mixed, true, generator=generator, draws=20).found["recall"].value == 1, "the top heads alone"
    other = compare(generator.normal(size=true.shape), true, generator=generator, draws=200)
    assert other.found["spearman"].low < 0 < other.found["spearman"].high


def test_a_head_of_a_tiny_model_is_estimated_about_right():
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    true, estimated = remove_each(subject, EXAMPLES, reference), estimate_each(subject, EXAMPLES, reference)
    found = compare(estimated.effects["mean"], true.effect("mean"), generator=np.random.default_rng(0), draws=50)
    assert found.found["spearman"].value > 0.8


def made_up(effects):
    """Effects as removal gives them, by way: [layer head example]."""
    size = next(iter(effects.values())).shape
    whole = Answers(*(np.zeros(size[-1]) for _ in range(3)))
    without = {way: Answers(values, values, values) for way, values in effects.items()}
    return Removed(tuple(f"e{n}" for n in range(size[-1])), whole, without, np.zeros(size))


def test_where_a_head_looks_matters_or_not():
    """Head 0 for where it looks, head 1 for what it reads; head 2 does nothing; 3 is not there; 4 does harm."""
    generator = np.random.default_rng(0)
    noise = 0.1 * generator.normal(size=(1, 5, 200))
    mean = noise + np.array([1.0, 1.0, 0.0, np.nan, -1.0])[None, :, None]
    pattern = noise[..., ::-1] + np.array([0.9, 0.05, 0.0, np.nan, -1.0])[None, :, None]
    removed = made_up({"mean": mean, "other_text": pattern})
    assert heads_that_matter(mean).tolist() == [[True, True, False, False, False]]
    found = gaze_shares(removed, generator=generator, draws=200)
    assert [(one.head, one.says) for one in found] == [(0, "where"), (1, "what")]
    assert found[0].share.value == pytest.approx(0.9, abs=0.05)
    assert np.isnan(adjusted_p(mean)[0, 3])
    assert adjusted_p(np.full((1, 2, 9), 1e-9)).tolist() == [[1.0, 1.0]], "rounding is no effect"


def test_few_heads_without_an_effect_are_found_to_matter():
    generator = np.random.default_rng(1)
    assert heads_that_matter(generator.normal(size=(12, 12, 100))).sum() <= 3
