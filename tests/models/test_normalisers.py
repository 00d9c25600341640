"""Sparse weights: those of their definition, with its exact gradient; hard ones: on so many words and no others."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heatcheck.errors import BadInput
from heatcheck.models import ClassifierSettings, Site, Subject
from heatcheck.models.classifiers.normalisers import NORMALISERS
from heatcheck.training import plan_recipe
from subjects import SUBJECTS

ALPHA = {"sparsemax": 2.0, "entmax": 1.5}
scores = st.lists(st.floats(-8, 8).map(lambda x: round(x, 2)), min_size=1, max_size=9)


def weights(name, values, share=0.0, **extra):
    given = torch.tensor(values, dtype=torch.float64)[None, None, None]
    valid = extra.get("valid", torch.ones(1, given.shape[-1], dtype=torch.bool))
    return NORMALISERS[name].of(given, valid, share)[0, 0, 0]


def by_definition(alpha, values):
    """[(α − 1) z − τ]₊^(1 / (α − 1)) with the τ at which they sum to 1, found by bisection."""
    z = (alpha - 1) * np.array(values)
    low, high = z.max() - 1, z.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if (np.maximum(z - tau, 0) ** (1 / (alpha - 1))).sum() > 1 else (low, tau)
    return np.maximum(z - low, 0) ** (1 / (alpha - 1))


@pytest.mark.parametrize("name", ALPHA)
@given(values=scores)
@settings(max_examples=40)
def test_sparse_weights_are_those_of_the_definition(name, values):
    np.testing.assert_allclose(weights(name, values), by_definition(ALPHA[name], values), atol=1e-9)


@pytest.mark.parametrize("name", ALPHA)
def test_their_gradient_is_exact(name):
    """diag(s) − s sᵀ / Σ s with s = p^(2 − α) where there is weight; zero elsewhere (Peters et al. 2019)."""
    values = torch.tensor([0.3, -0.2, 0.9, 0.5, -4.0, 0.9], dtype=torch.float64)
    valid = torch.tensor([[True, True, True, True, True, False]])

    def of(one):
        return NORMALISERS[name].of(one[None, None, None], valid, 0.0)[0, 0, 0]

    found = torch.autograd.functional.jacobian(of, values)
    p = of(values)
    assert p[4] == 0
    assert (p[:4] > 0).sum() > 2, "or there is little to see"
    s = torch.where(p > 0, p ** (2 - ALPHA[name]), 0.0)
    torch.testing.assert_close(found, torch.diag(s) - torch.outer(s, s) / s.sum())


@pytest.mark.parametrize("name", ["entmax", "sparsemax", "top_k"])
def test_padding_and_size_change_nothing(name):
    plain = weights(name, [0.1, 0.7, -0.4, 0.6], 0.5)
    valid = torch.tensor([[True, True, True, True, False, False]])
    padded = weights(name, [0.1, 0.7, -0.4, 0.6, 99.0, -3.0], 0.5, valid=valid)
    torch.testing.assert_close(padded, torch.cat([plain, torch.zeros(2, dtype=plain.dtype)]))
    moved = weights(name, [1000.1, 1000.7, 999.6, 1000.6], 0.5)
    torch.testing.assert_close(moved, plain)
    far = weights(name, [1e30, -1e30, 0.0])
    assert far.tolist() == [1, 0, 0]
    with pytest.raises(BadInput, match="no token to attend to"):
        weights(name, [1.0], valid=torch.tensor([[False]]))


@given(values=scores, share=st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.6, 1.0]))
@settings(max_examples=40)
def test_top_k_is_a_softmax_over_so_many_words(values, share):
    found = weights("top_k", values, share).numpy()
    k = max(1, math.ceil(round(share * len(values), 6)))
    first = sorted(range(len(values)), key=lambda place: (-values[place], place))[:k]  # of equal scores the first
    assert set(np.flatnonzero(found)) == set(first)
    chosen = np.exp(np.array(values)[first])
    np.testing.assert_allclose(found[first], chosen / chosen.sum(), rtol=1e-9)


def test_sparse_models_have_words_without_any_weight():
    for name in ("lstm sparsemax", "label-wise top k"):
        subject, examples = SUBJECTS[name]
        assert isinstance(subject, Subject)
        batch = subject.encode(examples)
        sharp = {Site("score"): lambda own: 50 * own}
        found = subject.run(batch, edits=sharp, want=[Site("attention")]).parts[Site("attention")]
        assert (found == 0).any(-1)[batch.scored.sum(1) > 3].all()


def test_what_is_off_is_in_no_recipe():
    assert not {"normaliser", "top_share"} & ClassifierSettings().facts().keys()
    assert "top_share" not in ClassifierSettings(normaliser="entmax").facts()
    assert ClassifierSettings(normaliser="top_k").facts()["top_share"] == 0.2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"normaliser": "sparse"}, "unknown normaliser"),
        ({"normaliser": "entmax", "hierarchical": True}, "needs hierarchical=false"),
        ({"top_share": 0.0}, "above 0 and at most 1"),
        ({"top_share": math.nan}, "above 0 and at most 1"),
    ],
)
def test_wrong_settings(wrong, said):
    with pytest.raises(BadInput, match=said):
        ClassifierSettings(**wrong)


def test_an_adversary_needs_a_softmax(tmp_path):
    from heatcheck.data.planted import planted
    from heatcheck.training import fit_recipe

    corpus = planted("planted_keyword", sizes=(8, 4, 4))
    recipe = plan_recipe(corpus, normaliser="sparsemax", loss={"name": "adversarial", "parent": "x"})
    with pytest.raises(BadInput, match="to be a softmax"):
        fit_recipe(recipe, corpus, tmp_path / "fit")
