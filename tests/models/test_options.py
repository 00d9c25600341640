"""Answers restricted to some labels an example: the others get no probability, and nothing becomes infinite."""

from dataclasses import replace

import pytest
import torch

from heatcheck.auditing.planning import _relabelled
from heatcheck.data import Corpus, Example, Split, build_vocabulary
from heatcheck.errors import BadInput
from heatcheck.explainers.word_removal import REMOVALS
from heatcheck.models import Site, differentiate, response
from heatcheck.models.classifiers.classifier import NOT_AN_OPTION
from subjects import CHOICES, SUBJECTS, classifier

each_decoder = pytest.mark.parametrize("name", ["options", "options merge"])
ALLOWED = torch.tensor(
    [[True, True, True, False], [False, True, False, False], [True] * 4, [True, False, False, True], [False, True] * 2]
)


@each_decoder
def test_only_options_have_a_probability(name):
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    assert torch.equal(batch.options, ALLOWED)
    logits = subject.run(batch).logits[:, 0]
    assert (logits[~ALLOWED] == NOT_AN_OPTION).all()
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        probabilities = logits.to(dtype).softmax(-1)
        assert (probabilities[~ALLOWED] == 0).all()
        assert torch.allclose(probabilities.sum(-1), torch.ones(5, dtype=dtype), atol=1e-2)
        assert logits.to(dtype).log_softmax(-1).isfinite().all()
    free = subject.run(subject.encode([replace(e, options=None) for e in examples])).logits[:, 0]
    assert torch.equal(logits[ALLOWED], free[ALLOWED]), "what is allowed is as it was"
    assert logits[1].softmax(-1).tolist() == [0, 1, 0, 0], "one option is no choice"


@each_decoder
def test_the_response_gives_the_very_logits_of_a_run(name):
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    quick = response(subject, batch)
    logits = quick.logits(quick.attention[:, None])[:, 0]
    assert (logits[:, 0][~ALLOWED] == NOT_AN_OPTION).all()
    assert torch.allclose(logits, subject.run(batch).logits, atol=1e-5)
    if name == "options":
        assert quick.bias.shape == (5, 1, 4)
        assert (quick.relevance[:, 0].transpose(1, 2)[~ALLOWED] == 0).all()
    else:
        assert quick.relevance is None


@each_decoder
def test_losses_and_gradients_are_finite(name):
    subject, examples = SUBJECTS[name]
    batch = subject.encode(examples)
    loss = torch.nn.functional.cross_entropy(subject.run(batch).logits[:, 0], batch.gold[:, 0])
    assert loss < 5
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in subject.parameters())
    subject.zero_grad(set_to_none=True)
    (found,) = differentiate(
        subject, batch, [Site("embedding")], lambda run: run.logits[:, 0].softmax(-1)[:, 1]
    ).values()
    assert found.isfinite().all()
    assert (found[3] == 0).all(), "a label that is no option does not depend on the text"
    assert (found[0] != 0).any()


@pytest.mark.parametrize("wrong", [(), (0, 4), (-1,)])
def test_options_that_are_no_labels(wrong):
    subject, examples = SUBJECTS["options"]
    with pytest.raises(BadInput, match=r"example e0: its options .* are not among the 4 labels"):
        subject.encode([replace(examples[0], options=wrong)])


def test_a_decision_for_each_label_has_no_options():
    label_wise = classifier(CHOICES, "abcd", segments=2, label_wise=True)
    with pytest.raises(BadInput, match="options need a model that makes one decision"):
        label_wise.encode(CHOICES)


def test_options_are_part_of_what_names_a_corpus_only_where_there_are_any():
    plain = Split("test", (Example("a", "x", label=1),))
    assert plain.fingerprint == "416293e8f0b2", "as before there were options"
    given = [Split("test", (Example("a", "x", label=1, options=o),)).fingerprint for o in ((0, 1), (1, 2))]
    assert len({plain.fingerprint, *given}) == 3


def test_taking_words_out_leaves_the_options():
    for remove in REMOVALS.values():
        assert remove(CHOICES[0], {0}).options == (0, 1, 2)


def test_an_audit_numbers_options_as_the_subject_does():
    subject, _ = SUBJECTS["options"]
    corpus = Corpus("other", ("d", "a", "b"), {"test": Split("test", (Example("x", "y", "z", 0, options=(0, 2)),))})
    (example,) = _relabelled(subject, corpus, corpus["test"].examples)
    assert (example.label, example.options) == (3, (3, 1))


def test_answers_are_in_the_vocabulary_however_rare():
    vocabulary = build_vocabulary(["@a met @b", "@a left"], min_documents=2, rule="spaces", always=("@b", "@c"))
    assert vocabulary.tokens[4:] == ("@a", "@b", "@c")


def test_a_repeated_batch_repeats_its_options():
    subject, examples = SUBJECTS["options"]
    again = subject.encode(examples).repeat(2)
    assert torch.equal(again.options, torch.cat([ALLOWED, ALLOWED]))
    assert subject.run(again).logits.shape == (10, 1, 4)
