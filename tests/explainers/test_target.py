"""Scores for a label that somebody names instead of the predicted one."""

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import EXPLAINERS, explain, explain_one
from heatcheck.explainers.decompx import logit_parts
from heatcheck.explainers.gradient_rollout import gradient_rollout
from heatcheck.explainers.scores import Aim
from heatcheck.training import predict
from subjects import classifier
from tiny_transformers import make

LABELS = ("bad", "fair", "good")
EXAMPLE = Example("e", "not a very good film")
# All probabilities sum to 1, and relevances are taken less the mean of the other labels: over labels these cancel.
CANCEL = ("leave_one_out", "gradient_x_input", "integrated_gradients", "shapley_sampling", "relevance", "contribution")
SIZES = ("gradient", "gradient_uniform", "gradient_through")
KNOW_NO_LABEL = {
    "alti",
    "attention",
    "attention_that_matters",
    "contribution_weights",
    "counterfactual",
    "effective_attention",
    "flow",
    "globenc",
    "norm_rollout",
    "norms",
    "random",
    "rollout",
    "value_zeroing",
}


@pytest.fixture(scope="module")
def subject():
    return classifier([EXAMPLE], LABELS, encoder="lstm")


def of_each_label(subject, name):
    return np.stack([explain_one(subject, [EXAMPLE], name, label=label).values[0] for label in range(len(LABELS))])


def test_every_explainer_knows_whether_it_depends_on_a_label():
    assert {name for name, explainer in EXPLAINERS.items() if explainer.aimed is None} == KNOW_NO_LABEL


@pytest.mark.parametrize("name", CANCEL)
def test_over_all_labels_the_scores_cancel(subject, name):
    each = of_each_label(subject, name)
    assert np.abs(each).max() > 1e-4
    np.testing.assert_allclose(each.sum(0), 0, atol=1e-4 * np.abs(each).max())
    predicted = int(predict(subject, [EXAMPLE])[0, 0].argmax())
    np.testing.assert_allclose(each[predicted], explain_one(subject, [EXAMPLE], name).values[0], atol=1e-9)


@pytest.mark.parametrize("name", ["influence", "influence_left_out"])
def test_losses_of_the_named_label_though_another_is_right(subject, name):
    """Σ_k p_k d ln p_k = 0; the loss of a label is what its probability loses, as a share, to first order."""
    known = Example("e", EXAMPLE.text, label=1)
    each = [explain_one(subject, [known], name, label=label).values[0] for label in range(len(LABELS))]
    p = np.exp(predict(subject, [EXAMPLE])[0, 0])
    if name == "influence":
        np.testing.assert_allclose(p @ np.stack(each), 0, atol=1e-6)
    np.testing.assert_allclose(each[1], explain_one(subject, [known], name).values[0], atol=1e-9)
    assert not np.allclose(each[0], each[1], atol=1e-4)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_gradients_are_those_of_the_named_label(subject, name):
    each = of_each_label(subject, name)
    assert all(not np.allclose(one, other, rtol=0.01) for one, other in ((each[0], each[1]), (each[1], each[2])))
    if name == "gradient_through":
        np.testing.assert_allclose(each, np.abs(of_each_label(subject, "gradient_x_input")), rtol=1e-6)


def test_a_bag_of_words_is_asked_about_the_named_label(subject):
    words = len(subject.vocabulary)
    subject.log_odds = torch.arange(3.0 * words).reshape(words, 3)
    each = of_each_label(subject, "log_odds")
    np.testing.assert_allclose(each - each[0], np.arange(3)[:, None] * np.ones_like(each))


def test_the_logit_of_a_transformer_s_label():
    subject = make("bert", labels=3, sharp=8.0)
    batch = subject.encode([EXAMPLE])
    logits = subject.run(batch).logits[0, 0].detach()
    for label in range(3):
        parts = logit_parts(subject, batch, label)
        assert float(parts.logit[0]) == pytest.approx(float(logits[label]), abs=1e-5)
        assert float(parts.tokens.sum() + parts.rest[0]) == pytest.approx(float(logits[label]), abs=1e-4)
    rolled = [gradient_rollout.aimed(subject, [EXAMPLE], 0, Aim(label=label))[0] for label in range(3)]
    assert not np.allclose(rolled[0], rolled[1], rtol=0.01)


def test_by_name_or_number_and_unknown_in_a_sentence(subject):
    asked = {"by": ["leave_one_out", "attention"]}
    named = explain(subject, EXAMPLE.text, target="fair", **asked)
    assert (
        named
        == explain(subject, EXAMPLE.text, target=1, **asked)
        == explain(subject, EXAMPLE.text, target="1", **asked)
    )
    assert named["attention"] == explain(subject, EXAMPLE.text, **asked)["attention"]
    with pytest.raises(BadInput, match=r"has no label 'superb': name one of bad \(0\), fair \(1\), good \(2\)\.$"):
        explain(subject, EXAMPLE.text, target="superb", **asked)
    for wrong in (3, -1, True):
        with pytest.raises(BadInput):
            explain(subject, EXAMPLE.text, target=wrong, **asked)


@pytest.fixture(scope="module")
def three():
    found = make("bert", labels=3, sharp=8.0)
    found.labels = LABELS
    return found


def scores_of(found, name):
    return np.array([score for _, score in found[name]])


@pytest.mark.parametrize("kind", ["recurrent", "transformer"])
def test_one_label_rather_than_another(kind, subject, three):
    asked = subject if kind == "recurrent" else three
    found = explain(asked, EXAMPLE.text, by="leave_one_out,gradient_x_input", target="good-bad")
    texts = [EXAMPLE, *(EXAMPLE.but(text=" ".join(EXAMPLE.words[:n] + EXAMPLE.words[n + 1 :])) for n in range(5))]
    logs = predict(asked, texts)[:, 0]
    chance = 1 / (1 + np.exp(logs[:, 0] - logs[:, 2]))
    np.testing.assert_allclose(scores_of(found, "leave_one_out"), chance[0] - chance[1:], atol=2e-6)
    assert str(found.target.label) == "good rather than bad"
    assert found.target.probability == pytest.approx(chance[0], abs=1e-6)
    assert found.prediction.label == LABELS[int(logs[0].argmax())]
    back = explain(asked, EXAMPLE.text, by="gradient_x_input", target=("bad", "good"))
    np.testing.assert_allclose(scores_of(back, "gradient_x_input"), -scores_of(found, "gradient_x_input"), rtol=1e-4)


def test_logits_less_logits(three):
    batch = three.encode([EXAMPLE])
    apart = [logit_parts(three, batch, label).tokens for label in (2, 0)]
    whole = scores_of(explain(three, EXAMPLE.text, by="decompx", target="2-0"), "decompx")
    np.testing.assert_allclose(whole, (apart[0] - apart[1])[0, 1:-1].numpy(), rtol=1e-4, atol=1e-7)
    contrast = three.contrast(2, 0)
    assert contrast.labels == ("bad", "good")
    with torch.no_grad():
        own, asked = three.run(batch).logits[0, 0], contrast.run(batch).logits[0, 0]
    assert asked.tolist() == pytest.approx([0.0, float(own[2] - own[0])], abs=1e-6)
    assert three.labels == LABELS, "the model itself is as it was"


def test_one_decision_of_several():
    several = make("bert", labels=3, sharp=8.0)
    several.labels, several.several = LABELS, True
    with pytest.raises(BadInput, match="says yes or no to each of its 3 labels"):
        explain(several, EXAMPLE.text, by="attention")
    found = explain(several, EXAMPLE.text, by="leave_one_out", target="fair")
    texts = [EXAMPLE, *(EXAMPLE.but(text=" ".join(EXAMPLE.words[:n] + EXAMPLE.words[n + 1 :])) for n in range(5))]
    chance = np.exp(predict(several, texts)[:, 1, 1])
    np.testing.assert_allclose(scores_of(found, "leave_one_out"), chance[0] - chance[1:], atol=2e-6)
    yes = chance[0] > 0.5
    assert found.prediction.label == ("fair" if yes else "not fair")
    assert found.prediction.probability == pytest.approx(chance[0] if yes else 1 - chance[0], abs=1e-6)


def test_names_with_a_hyphen_and_what_is_refused(three):
    hyphened = make("bert", labels=3, sharp=8.0)
    hyphened.labels = ("semi-good", "good", "semi")
    name = "attention"
    assert explain(hyphened, EXAMPLE.text, by=name, target="semi-good").target.label == "semi-good"
    found = explain(hyphened, EXAMPLE.text, by=name, target="semi-good-semi").target.label
    assert found == "semi-good rather than semi"
    for target, said in (
        ("good-good", "with itself"),
        ("good-better", "no label 'good-better'"),
        (("good",), "two labels to compare"),
        (("good", None), "name both labels"),
    ):
        with pytest.raises(BadInput, match=said):
            explain(three, EXAMPLE.text, by=name, target=target)


def test_a_method_of_one_logit_says_that_it_cannot_compare(subject):
    with pytest.raises(NotSupported, match="relevance explains one label at a time"):
        explain(subject, EXAMPLE.text, by="relevance", target="good-bad")
