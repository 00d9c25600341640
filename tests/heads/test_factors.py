"""Copying and composition from weights: against whole matrices, and what must not change them."""

import numpy as np
import pytest
import torch

from heatcheck.heads.circuits.factors import (
    composition,
    copying,
    random_composition,
    random_copying,
    unembed_embed,
)

SIZE, FEATURE, WORDS = 24, 4, 60


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


@pytest.fixture
def heads():
    """R_V and W_O of 5 writers, and the reader of 3 heads."""
    return normal(5, SIZE, FEATURE, seed=1), normal(5, FEATURE, SIZE, seed=2), normal(3, SIZE, FEATURE, seed=3)


def test_composition_is_that_of_whole_matrices(heads):
    value, output, reader = heads
    found = composition(value, output, reader)
    for a in range(5):
        ov = value[a] @ output[a]
        for b in range(3):
            expected = (ov @ reader[b]).norm() / (ov.norm() * reader[b].norm())
            assert found[a, b] == pytest.approx(float(expected), rel=1e-9)


def test_composition_does_not_depend_on_scale_order_or_basis(heads):
    value, output, reader = heads
    found = composition(value, output, reader)
    assert torch.allclose(composition(7 * value, output / 7, reader), found, atol=1e-9)
    assert torch.allclose(composition(value.flip(0), output.flip(0), reader), found.flip(0), atol=1e-12)
    turn = torch.linalg.qr(normal(SIZE, SIZE, seed=4))[0]
    turned = composition(turn.T @ value, output @ turn, turn.T @ reader)
    assert torch.allclose(turned, found, atol=1e-9)
    stacked = composition(
        value[None].repeat(2, 1, 1, 1), output[None].repeat(2, 1, 1, 1), reader[None].repeat(2, 1, 1, 1)
    )
    assert torch.allclose(stacked, found.expand(2, -1, -1))


def test_copying_is_that_of_the_whole_circuit(heads):
    value, output, _ = heads
    embedding, unembedding = normal(WORDS, SIZE, seed=5), normal(WORDS, SIZE, seed=6)
    found = copying(value, output, unembed_embed(embedding, unembedding))
    centred = embedding - embedding.mean(0)
    for head in range(5):
        whole = torch.linalg.eigvals(centred @ value[head] @ output[head] @ unembedding.T)  # words × words
        assert found[head] == pytest.approx(float(whole.real.sum() / whole.abs().sum()), abs=1e-6)


def test_copying_does_not_depend_on_scale_order_or_basis(heads):
    value, output, _ = heads
    embedding, unembedding = normal(WORDS, SIZE, seed=5), normal(WORDS, SIZE, seed=6)
    table = unembed_embed(embedding, unembedding)
    found = copying(value, output, table)
    assert torch.allclose(copying(3 * value, output / 3, table), found, atol=1e-9)
    assert torch.allclose(copying(value.flip(0), output.flip(0), table), found.flip(0), atol=1e-9)
    turn = torch.linalg.qr(normal(SIZE, SIZE, seed=7))[0]
    turned = copying(turn.T @ value, output @ turn, unembed_embed(embedding @ turn, unembedding @ turn))
    assert torch.allclose(turned, found, atol=1e-5)


def test_a_head_that_hands_on_what_it_reads_copies():
    embedding = torch.eye(WORDS, dtype=torch.float64)
    value, output = embedding[None], embedding[None]
    table = unembed_embed(embedding, embedding)
    assert float(copying(value, output, table)) == pytest.approx(1.0)
    assert float(copying(value, -output, table)) == pytest.approx(-1.0)


def test_random_heads_copy_nothing_and_compose_by_chance():
    embedding = normal(WORDS, SIZE, seed=8) + 3  # a mean that all words share
    table = unembed_embed(embedding, embedding)
    found = random_copying(table, FEATURE)
    assert abs(found.mean) < 4 * found.deviation / 200**0.5
    raw = random_copying(embedding.T @ embedding, FEATURE)
    assert raw.deviation > 1.3 * found.deviation, "why words are centred"
    assert float(found.z(torch.tensor(found.mean))) == pytest.approx(0.0, abs=1e-6)
    assert random_composition(576, 8, 8, pairs=8).mean == pytest.approx(576**-0.5, rel=0.05)
