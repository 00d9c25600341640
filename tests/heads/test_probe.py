"""Clark et al.'s probe: it finds the heads that hold the arcs, and nothing where there is nothing."""

import pytest
import torch

from heatcheck.heads.probe import attention_features, distance_features, fit_probe, probe, score
from made_up_treebank import TEST, TRAIN, arcs, one_left
from tiny_transformers import tiny


def features(sentence):
    """Noise, gold arcs and a positional head, in both directions."""
    size = len(sentence.words)
    noise = torch.rand(size, size, generator=torch.Generator().manual_seed(size))
    maps = torch.stack([noise, arcs(sentence), one_left(sentence)], dim=-1)
    return torch.cat([maps, maps.transpose(0, 1)], dim=-1)


def test_the_probe_finds_the_head_that_holds_the_arcs():
    fitted = fit_probe(features, TRAIN)
    assert fitted.weights.argmax() == 1
    found = score(fitted, features, TEST)
    assert found.value == 1.0
    assert score(fit_probe(distance_features, TRAIN), distance_features, TEST).value < 0.4


def test_the_fit_is_a_maximum_of_the_likelihood():
    weights = fit_probe(distance_features, TRAIN).weights
    again = fit_probe(distance_features, TRAIN).weights
    torch.testing.assert_close(weights, again)
    assert weights.abs().max() > 0.1


def test_a_model_beside_its_baselines():
    subject = tiny("bert")
    found = probe(subject, TRAIN[:12], TEST[:12])
    assert 0 <= found.attention.low <= found.attention.value <= found.attention.high <= 1
    assert len(found.untrained) == 1
    arcs_before = [(at, to) for one in TEST[:12] for at, to in enumerate(one.head) if to >= 0]
    assert found.previous == pytest.approx(sum(to == at - 1 for at, to in arcs_before) / len(arcs_before))
    shape = attention_features(subject)(TEST[0]).shape
    assert shape == (len(TEST[0].words), len(TEST[0].words), 24)
