"""Scores against captum, brute force and closed forms; and the same alone, in a batch, padded."""

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients

from heatcheck import explain
from heatcheck.data import Example, load_task
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.explainers import EXPLAINERS, REMOVALS, explain_one
from heatcheck.models import Site, load
from heatcheck.training import predict
from subjects import PAIRS, SINGLE, SUBJECTS, classifier, writes

EMBEDDING, ATTENTION = Site("embedding"), Site("attention")
CLASSIFIERS = ["lstm", "cnn", "average", "average three labels", "pair merge", "reader@planted_contrast"]
LINEAR = [name for name in CLASSIFIERS if name != "pair merge"]


OF_LAYERS = {
    "alti",
    "atman",
    "attattr",
    "attention_that_matters",
    "attnlrp",
    "contribution_weights",
    "decompx",
    "effective_attention",
    "flow",
    "gim",
    "globenc",
    "gradient_rollout",
    "norm_rollout",
    "norms",
    "relevance_rollout",
    "rollout",
    "value_zeroing",
}


def supported(name):
    # log_odds needs a model that was trained (test_log_odds_explainer.py), sampling takes its time (test_sampled.py)
    left_out = {"log_odds", "lime", "shapley_sampling"} | OF_LAYERS
    return [e for e in EXPLAINERS if e not in left_out and (e not in ("contribution", "relevance") or name in LINEAR)]


@pytest.mark.parametrize("explainer", sorted(OF_LAYERS))
def test_what_reads_layers_refuses_a_model_without(explainer):
    subject, examples = SUBJECTS["average"]
    with pytest.raises(NotSupported, match="every layer of a transformer"):
        explain_one(subject, examples, explainer)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_alone_as_in_a_batch_and_in_any_order(name):
    subject, examples = SUBJECTS[name]
    for explainer in supported(name):
        together = explain_one(subject, examples, explainer)
        turned = explain_one(subject, examples[::-1], explainer)
        assert np.allclose(together.values, turned.values[::-1], atol=2e-6), explainer
        lengths = [len(example.words) for example in examples]
        for row in (int(np.argmin(lengths)), int(np.argmax(lengths))):
            alone = explain_one(subject, [examples[row]], explainer)
            n = lengths[row]
            assert np.allclose(alone.values[0], together.values[row, :n], atol=2e-6), explainer
            assert (alone.valid[0] == together.valid[row, :n]).all()
            assert not together.valid[row, n:].any()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scores_vary_and_sizes_have_no_sign(name):
    subject, examples = SUBJECTS[name]
    for explainer in supported(name):
        found = explain_one(subject, examples, explainer)
        assert found.values[found.valid].std() > 0, explainer
        assert (found.sizes() >= 0).all()
        assert found.signed or (found.values >= 0).all()


def by_words(batch, of_tokens, words):
    found = np.zeros(words)
    for token, word in enumerate(batch.word[0].tolist()):
        if word >= 0:
            found[word] += float(of_tokens[0, token])
    return found


def probability_of(subject, batch, label, edits=None):
    def forward(embedded):
        run = subject.run(batch, edits={EMBEDDING: embedded, **(edits or {})})
        return run.logits[:, 0].double().softmax(-1)[:, label]

    return forward


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gradients_are_captum_s(name):
    subject, examples = SUBJECTS[name]
    for example in examples[:5]:
        batch = subject.encode([example])
        run = subject.run(batch, want=[EMBEDDING])
        label = int(run.logits[0, 0].argmax())
        embedded = run.parts[EMBEDDING].detach().requires_grad_()
        held = {ATTENTION: torch.Tensor.detach}
        for explainer, edits, signed in (("gradient", held, False), ("gradient_x_input", {}, True)):
            theirs = InputXGradient(probability_of(subject, batch, label, edits)).attribute(embedded).sum(-1).detach()
            theirs = theirs if signed else theirs.abs()
            ours = explain_one(subject, [example], explainer).values[0]
            assert np.allclose(ours, by_words(batch, theirs, len(example.words)), atol=1e-6), explainer


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_leave_one_out_is_captum_s_ablation(name):
    """Features are the presence of words; a word that is absent is deleted."""
    subject, examples = SUBJECTS[name]
    for example in [e for e in examples[:5] if len(e.words) > 1]:
        label = int(predict(subject, [example])[0, 0].argmax())

        def forward(present, example=example, label=label):
            gone = [{p for p, here in enumerate(row) if not here} for row in present.tolist()]
            texts = [REMOVALS["deletion"](example, places) for places in gone]
            return torch.tensor(np.exp(predict(subject, texts)[:, 0, label]))

        theirs = FeatureAblation(forward).attribute(torch.ones(1, len(example.words)))
        assert np.allclose(explain_one(subject, [example], "leave_one_out").values[0], theirs[0].numpy(), atol=2e-6)


@pytest.mark.parametrize("name", ["lstm", "average", "pair merge"])
def test_integrated_gradients_are_captum_s_and_complete(name):
    subject, examples = SUBJECTS[name]
    for example in examples[:3]:
        batch = subject.encode([example])
        run = subject.run(batch, want=[EMBEDDING])
        label = int(run.logits[0, 0].argmax())
        forward = probability_of(subject, batch, label)
        embedded = run.parts[EMBEDDING].detach()
        slopes = []
        for share in (torch.arange(60) + 0.5) / 60:  # from the middles of its parts the integral is near at once
            leaf = (share * embedded).detach().requires_grad_()
            (slope,) = torch.autograd.grad(forward(leaf).sum(), leaf)
            slopes.append(slope)
        by_hand = (torch.stack(slopes).mean(0) * embedded).sum(-1)
        ours = explain_one(subject, [example], "integrated_gradients").values[0]
        assert np.allclose(ours, by_words(batch, by_hand, len(example.words)), atol=1e-3)
        marks = by_hand[0][batch.word[0] < 0].sum()  # start and end are read too, and take their part
        gain = float((forward(embedded) - forward(torch.zeros_like(embedded))).detach())
        assert ours.sum() + float(marks.detach()) == pytest.approx(gain, abs=2e-3)
        one_at_a_time = IntegratedGradients(lambda e, f=forward: torch.cat([f(x[None]) for x in e]))
        theirs = one_at_a_time.attribute(embedded, n_steps=50).sum(-1)
        assert np.allclose(ours, by_words(batch, theirs, len(example.words)), atol=1e-5)


def test_attention_sums_to_one_over_words_and_pools_their_tokens():
    subject, _ = SUBJECTS["lstm"]
    found = explain_one(subject, [Example("x", "isn't good !")], "attention")
    assert found.values[0].sum() == pytest.approx(1)
    batch = subject.encode([Example("x", "isn't good !")])
    weights = subject.run(batch, want=[ATTENTION]).parts[ATTENTION][0, 0, 0]
    assert found.values[0, 0] == pytest.approx((weights[1] + weights[2]).item())


def test_a_word_without_a_token_has_no_score():
    subject, _ = SUBJECTS["lstm"]
    found = explain_one(subject, [Example("x", "good  film")], "attention")
    assert found.valid[0].tolist() == [True, False, True]


def test_relevance_is_what_the_reader_hears():
    subject, examples = SUBJECTS["reader@planted_contrast"]
    found = explain_one(subject, examples, "relevance")
    predicted = predict(subject, examples)[:, 0].argmax(-1)
    for row, example in enumerate(examples):
        from heatcheck.data.planted import OPINIONS

        side = {word: (1 if word in OPINIONS[1] else -1) for word in OPINIONS[0] + OPINIONS[1]}
        sign = 1 if predicted[row] == 1 else -1
        expected = [3.0 * sign * side.get(word, 0) for word in example.words]
        assert found.values[row, : len(expected)].tolist() == pytest.approx(expected)


def test_relevance_needs_linear_logits():
    subject, examples = SUBJECTS["pair merge"]
    with pytest.raises(NotSupported, match="relevance needs logits that are linear in the weights"):
        explain_one(subject, examples, "relevance")


def test_one_word_cannot_be_left_out():
    subject, _ = SUBJECTS["lstm"]
    found = explain_one(subject, SINGLE, "leave_one_out")
    assert found.missing == {"e2": "one word only: nothing is left without it"}
    assert not found.valid[2].any()
    assert explain_one(subject, [SINGLE[2]], "leave_one_out").missing


def test_words_that_change_nothing_are_tied():
    """The noise of float32 is not a ranking: deleting filler changes a bystander's summary by nothing."""
    subject, examples = SUBJECTS["bystander_right@planted_keyword"]
    found = explain_one(subject, examples, "leave_one_out")
    for row, example in enumerate(examples):
        scores = found.values[row, : len(example.words)]
        assert (scores[~np.array(example.marks["rationale"])] == 0).all()
        assert np.abs(scores).max() > 0.1


def test_a_masked_word_is_one_unknown_token():
    subject, _ = SUBJECTS["lstm"]
    masked = REMOVALS["masking"](Example("x", "not so bad", marks={"rationale": (True, True, True)}), {1})
    assert (masked.text, masked.masked_text) == ("not so bad", "not <unk> bad")
    assert masked.marks == {}
    assert subject.encode([masked]).inputs["tokens"][0, 2] == 1
    spaces = classifier(SINGLE)
    assert spaces.encode([masked]).word[0].tolist() == [-1, 0, 1, 2, -1]


def test_random_scores_are_an_example_s_own():
    subject, _ = SUBJECTS["lstm"]
    examples = load_task("planted_keyword")["test"].examples
    found = explain_one(subject, examples, "random", seed=1)
    assert 0.45 < found.values[found.valid].mean() < 0.55
    assert not np.allclose(found.values, explain_one(subject, examples, "random", seed=2).values)


def test_explain_one_text():
    found = explain(load("known:reader@planted_contrast"), "it is dull but gripping .", by=["attention", "random"])
    word, score = max(found["attention"], key=lambda pair: pair[1])
    assert word == "gripping"
    assert score > 0.95
    assert len(found["random"]) == 6
    subject, _ = SUBJECTS["pair merge"]
    assert len(explain(subject, "a film", text_pair=PAIRS[0].text_pair, by=["attention"])["attention"]) == 2


def test_unknown_explainer():
    subject, examples = SUBJECTS["lstm"]
    with pytest.raises(UnknownName, match=r"unknown explainer 'gradients' \(did you mean 'gradient'\?\)"):
        explain_one(subject, examples, "gradients")


def test_a_model_that_writes_has_no_words_to_score_for_a_label():
    with pytest.raises(BadInput, match="is a sequence-to-sequence model, but explain scores words for a label"):
        explain(writes(PAIRS), "a b")
