"""Removal of heads: exact, in every way, whatever stands beside an example in its batch."""

import numpy as np
import pytest
import torch

import tiny_language_models as language
from heatcheck.errors import BadInput, UnknownName
from heatcheck.heads.other_texts import Shape, align, choose_others, shapes
from heatcheck.heads.reading import Reading
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import remove_each
from heatcheck.heads.ways import WAYS, Replacements
from heatcheck.models import Site
from heatcheck.models.contract.edits import only_head, uniform, zero
from heatcheck.models.hf.prompted import Prompted
from tiny_transformers import EXAMPLES, OTHERS, tiny

FAMILIES = ["bert", "albert", "gpt2", "llama", "modernbert"]


LONG = {"negative": " dull bad", "positive": " so good"}  # answers of two tokens, and of four


def prompted(labels):
    return Prompted(language.network(), language.tokenizer(), name="tiny", prompt=language.PROMPT, labels=labels)


ASKED = {"one token": lambda: prompted(language.LABELS), "several tokens": lambda: prompted(LONG)}


def one_by_one(subject, example, layer, head, part, edit):
    """A whole pass over one text alone."""
    site = Site(part, subject.sites[layer].where)
    batch = subject.encode([example])
    with torch.no_grad():
        logits = subject.run(batch, edits={site: only_head(head, edit)}).logits
    return float(torch.nn.functional.cross_entropy(logits[:, 0].double(), batch.gold[:, 0]))


@pytest.mark.parametrize("family", [*FAMILIES, *ASKED])
def test_each_effect_is_that_of_a_whole_pass_over_the_text_alone(family):
    """Restarts, stacks of heads and padding change nothing. ALBERT uses one module for all layers."""
    subject = ASKED[family]() if family in ASKED else tiny(family)
    reference = read_reference(subject, OTHERS)
    found = remove_each(subject, EXAMPLES, reference)
    assert found.without["zero"].loss.shape == (3, 4, 3)
    for layer, head, row in [(0, 1, 0), (1, 3, 1), (2, 0, 2)]:
        mean = reference.mean[layer].float()
        expected = {
            "zero": ("context", zero),
            "uniform": ("attention", uniform),
            "mean": ("context", lambda own, mean=mean: mean[None, :, None].expand_as(own)),
        }
        for way, (part, edit) in expected.items():
            alone = one_by_one(subject, EXAMPLES[row], layer, head, part, edit)
            assert found.without[way].loss[layer, head, row] == pytest.approx(alone, abs=1e-5), (way, layer, head)
    assert np.ptp(found.effect("zero")) > 0.01, "heads differ"
    assert all(found.without[way].moved.max() > 1e-4 for way in WAYS)


def test_the_mean_is_over_the_tokens_of_other_texts_and_offsets_sum_along_diagonals():
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    total, tokens, weights, pairs = 0.0, 0, 0.0, 0
    for other in OTHERS:  # one by one: no padding
        with torch.no_grad():
            parts = subject.run(
                subject.encode([other]), want=[Site("context", subject.sites[1].where), subject.sites[1]]
            ).parts
        context, own = parts[Site("context", subject.sites[1].where)][0], parts[subject.sites[1]][0]
        total, tokens = total + context.double().sum(1), tokens + context.shape[1]
        diagonal = own.diagonal(-2, 1, 2)
        weights, pairs = weights + diagonal.double().sum(1), pairs + diagonal.shape[1]
    torch.testing.assert_close(reference.mean[1], total / tokens, atol=1e-6, rtol=1e-5)
    by_offset = reference.by_offset[1]
    found = by_offset.weights[:, 2 - by_offset.first]
    torch.testing.assert_close(found.double(), weights / pairs, atol=1e-6, rtol=1e-5)


def test_a_causal_model_has_no_weight_on_later_tokens_in_any_way():
    subject = tiny("llama")
    reading = Reading(subject, subject.encode(EXAMPLES))
    swaps = Replacements(reading, EXAMPLES, read_reference(subject, OTHERS), list(WAYS), seed=0)
    heads = reading.heads(1)
    for way in ("uniform", "offset", "other_text"):
        weights = swaps.weights(way, heads.allowed, 1, 4)
        assert not weights.triu(1).any()
        real = weights.sum(-1).transpose(1, 2)[reading.batch.valid]
        torch.testing.assert_close(real, torch.ones_like(real))
        assert not weights[:, :, :, -1][~reading.batch.valid[:, -1]][:, :, :2].any(), "nor on padding"


def test_a_pattern_of_the_same_text_changes_nothing():
    """What is put in its place is what was there: the way itself costs nothing."""
    subject = tiny("bert")
    reading = Reading(subject, subject.encode(EXAMPLES))
    twins = [example.but(id=f"twin {example.id}", text=f"{example.text} ") for example in EXAMPLES]
    swaps = Replacements(reading, EXAMPLES, read_reference(subject, twins), ["other_text"], seed=0)
    for layer in range(3):
        heads = reading.heads(layer)
        own = swaps.output("other_text", heads, layer).transpose(1, 2)[reading.batch.valid]
        torch.testing.assert_close(own, heads.context.transpose(1, 2)[reading.batch.valid], atol=1e-5, rtol=1e-5)


def test_other_texts_are_as_long_where_there_is_one_and_marks_stay_aligned():
    subject = tiny("bert")
    others = choose_others(subject, EXAMPLES, OTHERS, seed=0)
    assert [len(other.words) for other in others] == [6, 2, 10]
    assert all(other.text != own.text for own, other in zip(EXAMPLES, others, strict=True))
    assert shapes(subject.encode(EXAMPLES))[1] == Shape(1, 2, 1)
    assert align([Shape(1, 3, 1)], [Shape(1, 2, 1)], 5).tolist() == [[0, 1, 2, 2, 3]], "a shorter one"
    assert align([Shape(4, 2, 2)], [Shape(4, 5, 2)], 9).tolist() == [[0, 1, 2, 3, 4, 8, 9, 10, 0]], "a prompt around it"


def test_neither_the_order_of_examples_nor_the_size_of_a_batch_matters(monkeypatch):
    subject = tiny("gpt2")
    reference = read_reference(subject, OTHERS)
    found = remove_each(subject, EXAMPLES, reference)
    monkeypatch.setattr("heatcheck.models.hf.transformer.CACHED", 12)
    other = remove_each(subject, EXAMPLES[::-1], reference)
    for way in WAYS:
        np.testing.assert_allclose(found.effect(way), other.effect(way)[..., ::-1], atol=1e-6)
    np.testing.assert_allclose(found.sink, other.sink[..., ::-1], atol=1e-6)


def test_without_gold_labels_the_loss_is_that_of_the_models_own_answer():
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    unlabelled = [EXAMPLES[0], EXAMPLES[1].but(label=None), EXAMPLES[2]]
    found = remove_each(subject, unlabelled, reference, ["zero"])
    assert (found.whole.right == 1).all()
    assert (found.whole.loss < np.log(2)).all()
    assert (found.whole.moved == 0).all()


def test_what_cannot_be_asked_is_said():
    subject = tiny("bert")
    reference = read_reference(subject, OTHERS)
    with pytest.raises(UnknownName, match="way to remove a head"):
        remove_each(subject, EXAMPLES, reference, ["cut"])
    with pytest.raises(BadInput, match="example o1 is a reference text too"):
        remove_each(subject, OTHERS[1:2], reference)
    with pytest.raises(BadInput, match="no examples to remove heads on"):
        remove_each(subject, [], reference)
    with pytest.raises(BadInput, match="Give at least one other text"):
        read_reference(subject, [])
    same = EXAMPLES[0].but(id="again")
    with pytest.raises(BadInput, match="no reference text differs"):
        remove_each(subject, EXAMPLES[:1], read_reference(subject, [same]), ["other_text"])
