"""What each word adds to the answer: it adds up to the answer, and a gauge twin cannot change it."""

import numpy as np
import pytest
import torch

from heatcheck.data import Example, load_task
from heatcheck.errors import NotSupported
from heatcheck.explainers import EXPLAINERS, explain_one
from heatcheck.models.known_answers import GaugeTwin, Reader
from subjects import CHOICES, SUBJECTS


def margins(subject, examples):
    """The predicted label's logit less the mean of the others', by hand."""
    found = []
    for example in examples:
        with torch.no_grad():
            logits = subject.run(subject.encode([example])).logits[0, 0].double().numpy()
        here = list(example.options or range(len(logits)))
        best = int(logits.argmax())
        others = [logits[label] for label in here if label != best]
        found.append(logits[best] - (np.mean(others) if others else 0.0))
    return found


@pytest.mark.parametrize("name", ["lstm", "cnn", "average", "average three labels", "pair dot", "options"])
def test_contributions_add_up_to_the_margin(name):
    """The bias is in them, because the weights sum to 1; labels that an example may not have are not."""
    subject, examples = SUBJECTS[name]
    found = explain_one(subject, examples, "contribution")
    np.testing.assert_allclose(found.values.sum(1), margins(subject, examples), atol=1e-5)


def test_an_example_with_options_is_compared_with_those_only():
    assert {example.options for example in CHOICES} == {(0, 1, 2), (1,), None, (0, 3), (1, 3)}
    subject, examples = SUBJECTS["options"]
    assert np.abs(explain_one(subject, examples, "contribution").values).max() < 100


def test_each_word_of_a_reader_adds_its_weight_times_its_vote():
    """Fillers vote nothing; the deciding word votes 3 for its label, times the weight it has."""
    subject, examples = SUBJECTS["reader@planted_keyword"]
    found = explain_one(subject, examples, "contribution")
    weights = explain_one(subject, examples, "attention")
    for row, example in enumerate(examples):
        decides = np.array(example.marks["rationale"])
        here = slice(0, len(decides))
        expected = np.where(decides, 3.0 * weights.values[row, here], 0.0)
        np.testing.assert_allclose(found.values[row, here], expected, atol=1e-6)


def test_a_sign_says_for_or_against():
    subject = Reader("planted_contrast", sharpness=1.0, jitter=0.0)
    found = explain_one(subject, [Example("x", "bana gripping bana but dull")], "contribution")
    assert found.signed
    assert found.values[0, 4] > 0 > found.values[0, 1]
    assert found.values[0, [0, 2, 3]].tolist() == [0.0, 0.0, 0.0]


def test_a_gauge_twin_changes_the_weights_and_not_the_contributions():
    examples = load_task("planted_keyword")["test"].examples[:30]
    reader, twin = (kind("planted_keyword", sharpness=2.0, jitter=0.0) for kind in (Reader, GaugeTwin))
    ours, theirs = (explain_one(subject, examples, "contribution").values for subject in (reader, twin))
    np.testing.assert_allclose(ours / ours.sum(1, keepdims=True), theirs / theirs.sum(1, keepdims=True), atol=1e-6)
    heatmaps = [explain_one(subject, examples, "attention").values for subject in (reader, twin)]
    assert np.abs(heatmaps[0] - heatmaps[1]).max(1).min() > 0.2


def test_it_needs_logits_that_are_linear_in_the_weights():
    subject, examples = SUBJECTS["pair merge"]
    with pytest.raises(NotSupported, match="contribution needs logits that are linear in the weights"):
        explain_one(subject, examples, "contribution")


def test_it_is_listed_with_its_sign():
    assert EXPLAINERS["contribution"].signed
