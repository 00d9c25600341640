"""Norms by inner products against norms of every vector, made one by one."""

import numpy as np
import pytest
import torch

from heatcheck.errors import NotSupported
from heatcheck.explainers.norms import (
    contribution_norms,
    globenc,
    mixing_ratios,
    norm_rollout,
    norms,
    rolled_out,
    shares,
)
from heatcheck.models import load
from heatcheck.models.hf.blocks import each_layer
from rearranged import ARRANGED, check_arrangements, lively
from tiny_transformers import CONFIGS, EXAMPLES
from written_vectors import vectors

FOLLOWED = ("attention", "residual", "norm", "block")


@pytest.mark.parametrize("followed", FOLLOWED)
@pytest.mark.parametrize("family", CONFIGS)
def test_norms_are_those_of_every_vector(family, followed):
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    found = each_layer(subject, batch, lambda layer: contribution_norms(layer, followed))
    for number, mine in enumerate(found):
        wanted = vectors(subject, batch, number, followed).norm(dim=-1)
        torch.testing.assert_close(mine[batch.valid], wanted[batch.valid], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ARRANGED)
def test_norms_of_the_readout(family):
    """One row a text: that of [CLS], or of a decoder's last token."""
    subject = lively(family)
    for example, scores in zip(EXAMPLES, norms.explain(subject, EXAMPLES, 0), strict=True):
        batch = subject.encode([example])
        row = int(subject.rows(batch)[0])
        wanted = vectors(subject, batch, 2, "attention")[0, row].norm(dim=-1)
        np.testing.assert_allclose(scores, wanted[batch.word[0] >= 0].numpy(), rtol=1e-4)


@pytest.mark.parametrize(("explainer", "followed"), [(norm_rollout, "norm"), (globenc, "block")])
@pytest.mark.parametrize("family", ARRANGED)
def test_rollout_multiplies_shares_with_the_last_layer_on_the_left(family, explainer, followed):
    subject = lively(family)
    for example, scores in zip(EXAMPLES, explainer.explain(subject, EXAMPLES, 0), strict=True):
        batch = subject.encode([example])
        maps = [vectors(subject, batch, number, followed)[0].norm(dim=-1) for number in range(3)]
        first, second, third = (sizes / sizes.sum(-1, keepdim=True) for sizes in maps)
        wanted = (third @ second @ first)[int(subject.rows(batch)[0])]
        np.testing.assert_allclose(wanted.sum(), 1)
        np.testing.assert_allclose(scores, wanted[batch.word[0] >= 0].numpy(), rtol=1e-4)
        if len(wanted) > 2:  # two tokens of a decoder have one product in either order
            other = (first @ second @ third)[int(subject.rows(batch)[0])]
            assert not np.allclose(other, wanted, rtol=1e-3)


def test_a_row_without_any_size_stays_with_its_token():
    sizes = torch.tensor([[[0.0, 0.0], [1.0, 3.0]]], dtype=torch.double)
    assert shares(sizes).tolist() == [[[1.0, 0.0], [0.25, 0.75]]]
    assert rolled_out([sizes, shares(sizes)], torch.tensor([1])).tolist() == [[0.75, 2.25]]


@pytest.mark.parametrize("followed", ["attention", "residual", "norm"])
@pytest.mark.parametrize("family", ARRANGED)
def test_mixing_ratios_are_those_of_summed_vectors(family, followed):
    subject = lively(family)
    batch = subject.encode(EXAMPLES)
    found = mixing_ratios(subject, batch, followed)
    assert found.shape == (3, 3, batch.valid.shape[1])
    for number in range(3):
        parts = vectors(subject, batch, number, followed)
        tokens = torch.arange(parts.shape[1])
        own = parts[:, tokens, tokens]
        mine, theirs = own.norm(dim=-1), (parts.sum(2) - own).norm(dim=-1)
        wanted = torch.where(batch.valid, theirs / (mine + theirs), 0.0)
        torch.testing.assert_close(found[:, number], wanted, rtol=1e-4, atol=1e-6)


def test_mixing_by_weight_is_halved_by_the_residual():
    subject = lively("bert")
    batch = subject.encode(EXAMPLES)
    with torch.no_grad():
        own = subject.run(batch, want=subject.sites[:1]).parts[subject.sites[0]].mean(1).diagonal(dim1=1, dim2=2)
    plain = mixing_ratios(subject, batch, "attention", by_weight=True)
    torch.testing.assert_close(plain[:, 0], torch.where(batch.valid, 1 - own.double(), 0.0))
    torch.testing.assert_close(mixing_ratios(subject, batch, "residual", by_weight=True), plain / 2)


@pytest.mark.parametrize("explainer", [norms, norm_rollout, globenc], ids=lambda explainer: explainer.name)
@pytest.mark.parametrize("family", ARRANGED)
def test_arrangements_do_not_matter(family, explainer):
    check_arrangements(explainer, family)


@pytest.mark.parametrize("explainer", [norms, norm_rollout, globenc], ids=lambda explainer: explainer.name)
def test_other_subjects_are_refused(explainer):
    with pytest.raises(NotSupported, match=f"^{explainer.name} needs every layer of a transformer, and .* is not one"):
        explainer.explain(load("known:reader@planted_keyword"), EXAMPLES, 0)
