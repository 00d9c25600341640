"""A batch that does not fit is halved, and nothing else changes."""

import numpy as np
import pytest
import torch

from heatcheck.data import load_task
from heatcheck.errors import BadInput
from heatcheck.explainers import explain_one, responses
from heatcheck.models import load
from heatcheck.models.contract.memory import in_memory, shrinking
from heatcheck.training import predict, record

EXAMPLES = load_task("planted_contrast")["test"].examples[:37]


class Cramped:
    """A subject on a machine that holds `most` texts at a time."""

    def __init__(self, subject, most):
        self.subject, self.most, self.sizes = subject, most, []
        # From Python 3.12 on, who asks whether this is a Subject does not ask __getattr__.
        self.id, self.sites, self.recipe = subject.id, subject.sites, subject.recipe

    def __getattr__(self, name):
        return getattr(self.subject, name)

    def encode(self, examples):
        return self.subject.encode(examples)

    def run(self, batch, **how):
        return self._within(batch, lambda: self.subject.run(batch, **how))

    def response(self, batch):
        return self._within(batch, lambda: self.subject.response(batch))

    def _within(self, batch, work):
        if len(batch) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.sizes.append(len(batch))
        return work()


@pytest.fixture(params=[1, 5])
def cramped(request):
    return Cramped(load("known:reader@planted_contrast"), request.param)


def test_the_same_is_found_in_small_batches(cramped):
    whole = load("known:reader@planted_contrast")
    assert np.allclose(predict(cramped, EXAMPLES), predict(whole, EXAMPLES), atol=1e-6)
    assert max(cramped.sizes) <= cramped.most
    assert sum(cramped.sizes) == len(EXAMPLES)
    kept, found = record(cramped, EXAMPLES), record(whole, EXAMPLES)
    assert kept.ids == found.ids
    assert np.allclose(kept.weights, found.weights, atol=1e-6)
    ours, theirs = (explain_one(s, EXAMPLES, "attention", seed=0) for s in (cramped, whole))
    assert np.allclose(ours.values, theirs.values, atol=1e-6, equal_nan=True)


def test_responses_come_in_parts_that_fit(cramped):
    parts = list(responses(cramped, EXAMPLES))
    assert sorted(i for indices, _, _ in parts for i in indices) == list(range(len(EXAMPLES)))
    assert all(len(indices) == len(batch) <= cramped.most for indices, batch, _ in parts)


def test_sets_of_weights_come_in_parts_that_fit():
    subject = load("known:reader@planted_contrast")
    plain = subject.response(subject.encode(EXAMPLES[:3]))
    asked = []

    def holds_four(weights):
        asked.append(weights.shape[1])
        if weights.shape[1] > 4:
            raise torch.OutOfMemoryError
        return plain.logits(weights)

    weights = torch.rand(3, 11, 1, 1, plain.allowed.shape[1])
    found = shrinking(type(plain)(plain.attention, plain.allowed, holds_four)).logits(weights)
    assert torch.allclose(found, plain.logits(weights), atol=1e-6)
    assert asked == [11, 6, 3, 3, 3, 2]


def test_order_is_kept_and_the_size_that_fits_remembered():
    tried = []

    def work(part):
        tried.append(len(part))
        if len(part) > 3:
            raise torch.OutOfMemoryError
        return sum(part)

    found = list(in_memory([[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12]], work))
    assert [n for part, _ in found for n in part] == list(range(1, 13))
    assert all(total == sum(part) for part, total in found)
    assert tried == [7, 4, 2, 2, 2, 1, 2, 2, 1], "the second list is not tried whole"


def test_one_text_that_does_not_fit_is_a_sentence():
    with pytest.raises(BadInput, match="a single text does not fit into memory"):
        predict(Cramped(load("known:reader@planted_contrast"), 0), EXAMPLES)


def test_other_errors_are_not_hidden():
    def work(_):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        list(in_memory([[1, 2]], work))


def test_the_machines_own_memory_counts_too():
    def work(part):
        if len(part) > 1:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 80000000000 bytes")
        return part[0]

    assert [found for _, found in in_memory([[1, 2, 3]], work)] == [1, 2, 3]
