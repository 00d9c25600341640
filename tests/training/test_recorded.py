"""What a subject said, kept by example: against whole runs, in any company, and put into another subject's batch."""

import numpy as np
import pytest
import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import NO_EDITS
from heatcheck.training import record
from heatcheck.training.imposed import imposed
from subjects import PAIRS, SINGLE, SUBJECTS, classifier

EACH = ["lstm", "average three labels", "pair merge", "options", "label-wise", "leaker@planted_contrast"]


def one_at_a_time(subject, example, edits=NO_EDITS):
    """Weights [head query token] and log-probabilities [decision label] of a text that is alone in its batch."""
    batch = subject.encode([example])
    site = subject.sites[-1]
    with torch.no_grad():
        run = subject.run(batch, edits=edits, want=[site])
    return run.parts[site][0][..., batch.scored[0]].numpy(), run.logits[0].log_softmax(-1).numpy()


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("batch_size", [2, 128])
def test_equal_to_running_each_text_alone(name, batch_size):
    subject, examples = SUBJECTS[name]
    found = record(subject, examples, batch_size=batch_size)
    assert found.ids == tuple(example.id for example in examples)
    for row, example in enumerate(examples):
        weights, logs = one_at_a_time(subject, example)
        np.testing.assert_allclose(found.each[row], weights, atol=1e-6)
        np.testing.assert_allclose(found.log_probabilities[row], logs, atol=1e-5)
        np.testing.assert_allclose(found.weights[row, found.allowed[row]], weights[:, 0].mean(0), atol=1e-6)
        assert found.predicted[row] == logs[0].argmax()
    assert found.weights[~found.allowed].sum() == 0
    np.testing.assert_allclose(found.weights.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(found.probabilities.sum(1), 1, atol=1e-6)
    assert len({row.tobytes() for row in found.weights}) == len(examples), "the texts have different weights"


def test_weights_land_on_the_tokens_of_another_subject_in_another_order():
    subject, examples = SUBJECTS["lstm"]
    found = record(subject, examples)
    other = classifier(SINGLE, encoder="average")
    for company in (examples[::-1], examples[1:4], examples[3:4]):
        batch = other.encode(company)
        weights = found.weights_for(batch)
        assert weights.shape == (len(company), 1, 1, batch.scored.shape[1])
        assert weights[~batch.scored[:, None, None, :]].abs().sum() == 0
        logs = found.log_probabilities_for(batch)
        for row, example in enumerate(company):
            alone, said = one_at_a_time(subject, example)
            np.testing.assert_allclose(weights[row][..., batch.scored[row]], alone, atol=1e-6)
            np.testing.assert_allclose(logs[row], said, atol=1e-5)


def test_imposed_weights_are_recorded_and_used():
    subject, examples = SUBJECTS["lstm"]
    own = record(subject, examples)
    uniform = record(subject, examples, impose={"weights": "uniform"})
    last = record(subject, examples, impose={"weights": "last"})
    for row in range(len(examples)):
        count = int(own.allowed[row].sum())
        np.testing.assert_allclose(uniform.weights[row, :count], 1 / count, atol=1e-6)
        assert last.weights[row, :count].tolist() == [0.0] * (count - 1) + [1.0]
    longer = own.allowed.sum(1) > 1
    for other in (uniform, last):
        changed = np.abs(other.log_probabilities - own.log_probabilities).max((1, 2))
        assert (changed[longer] > 1e-5).all(), "other weights give other answers"
    np.testing.assert_allclose(uniform.log_probabilities[~longer], own.log_probabilities[~longer], atol=1e-6)


def test_its_own_weights_imposed_change_nothing_and_a_parents_are_its():
    subject, examples = SUBJECTS["lstm"]
    parent = classifier(SINGLE, encoder="cnn")
    own, theirs = record(subject, examples), record(parent, examples)
    again = record(subject, examples, impose={"weights": "parent", "parent": "itself"}, parent=own)
    np.testing.assert_allclose(again.log_probabilities, own.log_probabilities, atol=1e-6)
    guided = record(subject, examples, impose={"weights": "parent", "parent": "cnn"}, parent=theirs, batch_size=2)
    np.testing.assert_allclose(guided.weights, theirs.weights, atol=1e-6)
    assert np.abs(guided.log_probabilities - own.log_probabilities).max() > 1e-4
    batch = subject.encode(examples)
    with pytest.raises(BadInput, match="no parent model was given"):
        imposed(subject, batch, {"weights": "parent", "parent": "nobody"})


def test_what_cannot_be_kept_by_id_is_refused():
    subject, examples = SUBJECTS["lstm"]
    with pytest.raises(BadInput, match="have the same id"):
        record(subject, [*examples, examples[0]])
    with pytest.raises(BadInput, match="no example"):
        record(subject, [])
    found = record(subject, examples)
    with pytest.raises(BadInput, match="the example new were not recorded"):
        found.weights_for(subject.encode([Example("new", "a film")]))
    with pytest.raises(BadInput, match=r"example e1 has 3 tokens here but 2 in the parent.*same tokenizer"):
        found.weights_for(subject.encode([Example("e1", "a film indeed")]))


def test_a_subject_that_decides_at_every_step_is_not_recorded():
    subject, _ = SUBJECTS["seq2seq"]
    with pytest.raises(NotSupported, match="different number of decisions"):
        record(subject, PAIRS, batch_size=1)
