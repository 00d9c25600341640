"""Conicity: closed forms, and nothing that depends on padding."""

import math

import pytest
import torch

from heatcheck.stats import conicity


def test_closed_forms():
    every = torch.ones(4, dtype=torch.bool)
    assert conicity(torch.eye(4), every).item() == pytest.approx(1 / math.sqrt(4))
    assert conicity(torch.tensor([[1.0, 2.0]] * 4), every).item() == pytest.approx(1)
    # 3·e₁ and −e₁: the mean is e₁, and both lie on its line. The cosine is absolute.
    assert conicity(torch.tensor([[3.0, 0.0], [-1.0, 0.0]]), every[:2]).item() == pytest.approx(1)
    apart = torch.tensor([[1.0, 0.0], [math.cos(2.0), math.sin(2.0)]])
    assert conicity(apart, every[:2]).item() == pytest.approx(math.cos(1.0))
    assert conicity(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), every[:2]).item() == pytest.approx(0, abs=1e-6)


def test_padding_and_length_of_vectors():
    vectors = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    alone = conicity(vectors, torch.ones(2, 3, dtype=torch.bool))
    padded = torch.cat([vectors, torch.full((2, 2, 5), 9.0)], dim=1)
    torch.testing.assert_close(conicity(padded, torch.tensor([[True] * 3 + [False] * 2] * 2)), alone)
    torch.testing.assert_close(conicity(7 * vectors, torch.ones(2, 3, dtype=torch.bool)), alone)


def test_zeros_have_a_gradient():
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0]], requires_grad=True)
    conicity(vectors, torch.tensor([True, True])).backward()
    assert vectors.grad.isfinite().all()
