"""Contribution weights against projections of every vector on their sum."""

from dataclasses import replace

import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers.contribution_weights import contribution_weights, projections
from heatcheck.models import load
from heatcheck.models.hf.blocks import each_layer
from heatcheck.models.hf.layer import Layer
from rearranged import ARRANGED, check_arrangements, lively
from tiny_transformers import CONFIGS, EXAMPLES
from written_vectors import vectors


@pytest.mark.parametrize("family", CONFIGS)
def test_weights_are_projections_on_what_is_written_and_sum_to_one(family):
    """Biases of values are the tokens' own; the bias of the output projection is nobody's."""
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    (found,) = each_layer(subject, batch, projections, only_last=True)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.double))
    parts = vectors(subject, batch, 2, "attention")[torch.arange(3), subject.rows(batch)]
    together = parts.sum(1, keepdim=True)
    wanted = (parts * together).sum(-1) / together.square().sum(-1)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert (found[~batch.valid] == 0).all()


def test_a_token_that_writes_against_the_others_has_less_than_nothing():
    """One head, weights ½, values 3 and −1: o = 1, of which 3/2 and −1/2. The bias of the projection is not in it."""
    half, one = torch.full((1, 1, 2, 2), 0.5).double(), torch.ones(1, 1, 1).double()
    values = torch.tensor([[[[3.0], [-1.0]]]]).double()
    layer = Layer(half, values, one.expand(1, 2, 1), one, 7 * one[0, 0], norm=None, last=None, row=torch.tensor([1]))
    assert projections(layer).tolist() == [[1.5, -0.5]]
    silent = replace(layer, values=torch.zeros_like(values))
    assert projections(silent).tolist() == [[0.0, 0.0]]
    assert contribution_weights.signed


@pytest.mark.parametrize("family", ARRANGED)
def test_arrangements_do_not_matter(family):
    check_arrangements(contribution_weights, family)


def test_other_subjects_are_refused():
    with pytest.raises(
        NotSupported, match=r"contribution_weights needs every layer of a transformer, and .* is not one"
    ):
        contribution_weights.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)
