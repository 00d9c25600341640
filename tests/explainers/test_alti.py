"""ALTI against its formula on every pair of tokens."""

import numpy as np
import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers.alti import alti, nearness
from heatcheck.models import load
from heatcheck.models.hf.blocks import each_layer
from rearranged import ARRANGED, check_arrangements, lively
from tiny_transformers import CONFIGS, EXAMPLES
from written_vectors import after_attention, vectors


def by_formula(subject, batch, number):
    site = after_attention(subject, number)
    with torch.no_grad():
        whole = subject.run(batch, want=[site]).parts[site].double()
    parts = vectors(subject, batch, number, "norm")
    return (whole.abs().sum(-1)[..., None] - (whole[:, :, None] - parts).abs().sum(-1)).clamp(min=0)


@pytest.mark.parametrize("family", CONFIGS)
def test_nearness_is_the_formula(family):
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    for at_once in (2**22, 1):
        found = each_layer(subject, batch, lambda layer, n=at_once: nearness(layer, n))
        for number, mine in enumerate(found):
            wanted = by_formula(subject, batch, number)
            torch.testing.assert_close(mine[batch.valid], wanted[batch.valid], rtol=1e-4, atol=1e-4)
            assert (wanted[batch.valid] > 0).any()


@pytest.mark.parametrize("family", ARRANGED)
def test_shares_are_rolled_out(family):
    subject = lively(family)
    for example, scores in zip(EXAMPLES, alti.explain(subject, EXAMPLES, 0), strict=True):
        batch = subject.encode([example])
        maps = [by_formula(subject, batch, number)[0] for number in range(3)]
        first, second, third = (near / near.sum(-1, keepdim=True) for near in maps)
        wanted = (third @ second @ first)[int(subject.rows(batch)[0])]
        np.testing.assert_allclose(scores, wanted[batch.word[0] >= 0].numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("family", ARRANGED)
def test_arrangements_do_not_matter(family):
    check_arrangements(alti, family)


def test_other_subjects_are_refused():
    with pytest.raises(NotSupported, match=r"alti needs every layer of a transformer, and .* is not one"):
        alti.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)
