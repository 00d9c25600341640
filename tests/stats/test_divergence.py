"""Distances between distributions: closed forms, scipy, and gradients where logarithms meet zero."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from heatcheck.errors import BadInput
from heatcheck.stats import jensen_shannon_nats, kl_divergence_nats, total_variation

DIVERGENCES = (total_variation, kl_divergence_nats, jensen_shannon_nats)


@st.composite
def distributions(draw, count=2):
    """`count` distributions over the same items, zeros and single points among them."""
    items = draw(st.integers(1, 12))
    masses = st.lists(st.integers(0, 6), min_size=items, max_size=items).filter(any)
    rows = [np.array(draw(masses), dtype=float) for _ in range(count)]
    return [torch.from_numpy(row / row.sum()) for row in rows]


@given(pair=distributions())
@settings(deadline=None)
def test_equal_to_scipy(pair):
    p, q = pair
    assert total_variation(p, q).item() == pytest.approx(np.abs(p.numpy() - q.numpy()).sum() / 2, abs=1e-14)
    assert kl_divergence_nats(p, q).item() == pytest.approx(rel_entr(p.numpy(), q.numpy()).sum(), abs=1e-12)
    # scipy gives the root, and a NaN for the root of its own rounding error
    root = jensenshannon(p.numpy(), q.numpy())
    assert jensen_shannon_nats(p, q).item() == pytest.approx(0 if np.isnan(root) else root**2, abs=1e-12)


@given(pair=distributions())
@settings(deadline=None)
def test_jensen_shannon_is_symmetric_bounded_and_zero_only_at_equality(pair):
    p, q = pair
    found = jensen_shannon_nats(p, q).item()
    assert found == pytest.approx(jensen_shannon_nats(q, p).item(), abs=1e-15)
    assert 0 <= found <= math.log(2) + 1e-12
    assert jensen_shannon_nats(p, p).item() == 0
    assert (found > 0) == (not torch.equal(p, q))


@given(pair=distributions())
@settings(deadline=None)
def test_pinsker_and_its_kin(pair):
    p, q = pair
    apart = total_variation(p, q).item()
    assert 2 * apart**2 <= kl_divergence_nats(p, q).item() + 1e-12
    assert jensen_shannon_nats(p, q).item() <= math.log(2) * apart + 1e-12


def test_closed_forms():
    disjoint = torch.tensor([0.25, 0.75, 0, 0]).double(), torch.tensor([0, 0, 0.5, 0.5]).double()
    assert total_variation(*disjoint).item() == 1
    assert jensen_shannon_nats(*disjoint).item() == pytest.approx(math.log(2), abs=1e-15)
    assert kl_divergence_nats(*disjoint).item() == math.inf
    point, flat = torch.eye(5)[0].double(), torch.full((5,), 0.2).double()
    assert kl_divergence_nats(point, flat).item() == pytest.approx(math.log(5))
    assert kl_divergence_nats(flat, point).item() == math.inf
    # ½ ln2 (1 − α) + ½ ln(2/(1 + α)) + ½ α ln(2α/(1 + α)), a point against weight α on it
    a = 0.2
    wanted = 0.5 * (math.log(2) * (1 - a) + math.log(2 / (1 + a)) + a * math.log(2 * a / (1 + a)))
    assert jensen_shannon_nats(point, flat).item() == pytest.approx(wanted)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_leading_axes_are_kept(divergence):
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.rand(2, 3, 4, 5, generator=generator).softmax(-1) for _ in range(2))
    found = divergence(p, q)
    assert found.shape == (2, 3, 4)
    assert len(found.unique()) == 24
    torch.testing.assert_close(found[1, 2, 3], divergence(p[1, 2, 3], q[1, 2, 3]))


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_gradients_by_finite_differences(divergence):
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.randn(3, 5, generator=generator).double().requires_grad_() for _ in range(2))
    valid = torch.ones(3, 5, dtype=torch.bool)
    valid[0, 3:] = valid[2, 0] = False
    assert torch.autograd.gradcheck(lambda p, q: divergence(p.softmax(-1), q.softmax(-1), valid), (p, q))


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_gradients_are_finite_at_zeros_and_zero_in_garbage(divergence):
    p = torch.tensor([[0.5, 0.5, 0.0, 0.0, math.nan], [0.5, 0.5, 0.0, 0.0, -7.0]], requires_grad=True)
    q = torch.tensor([[0.25, 0.25, 0.5, 0.0, math.inf], [0.5, 0.5, 0.0, 0.0, 0.0]], requires_grad=True)
    valid = torch.tensor([[True, True, True, True, False]] * 2)
    found = divergence(p, q, valid)
    found.sum().backward()
    assert found[0] > 0
    assert found[1] == 0
    for gradient in (p.grad, q.grad):
        assert gradient.isfinite().all()
        assert (gradient[:, 4] == 0).all()
    assert p.grad[0, 0] != 0


def test_gradients_beside_a_zero_are_the_true_ones():
    p = torch.tensor([0.5, 0.5, 0.0], dtype=torch.double, requires_grad=True)
    q = torch.tensor([0.25, 0.25, 0.5], dtype=torch.double, requires_grad=True)
    kl_divergence_nats(p, q).backward()
    torch.testing.assert_close(p.grad[:2], torch.full((2,), 1 + math.log(2)).double())
    torch.testing.assert_close(q.grad, torch.tensor([-2.0, -2.0, 0.0]).double())
    p.grad = q.grad = None
    jensen_shannon_nats(p, q).backward()
    torch.testing.assert_close(p.grad[:2], torch.full((2,), 0.5 * math.log(4 / 3)).double())
    torch.testing.assert_close(q.grad, 0.5 * torch.tensor([2 / 3, 2 / 3, 2]).double().log())


def test_rounding_never_makes_jensen_shannon_negative():
    generator = torch.Generator().manual_seed(0)
    p = torch.randn(2000, 20, generator=generator).softmax(-1)
    q = p * (1 + 2e-7 * torch.randn(2000, 20, generator=generator))
    assert not torch.equal(p, q)
    assert jensen_shannon_nats(p, q).min() >= 0


def test_the_smallest_float_is_not_zero():
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    p = torch.tensor([1.0, tiny], requires_grad=True)
    q = torch.tensor([1.0, 0.0], requires_grad=True)
    found = jensen_shannon_nats(p, q)
    found.backward()
    assert 0 <= found.item() < 1e-30
    assert p.grad.isfinite().all()
    assert q.grad.isfinite().all()


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("where", ["p", "q"])
def test_a_nan_comes_out(divergence, where):
    pair = {"p": torch.tensor([1.0, 0.0]), "q": torch.tensor([1.0, 0.0])}
    pair[where][1] = math.nan
    assert divergence(**pair).isnan()


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_row_without_items_is_refused_by_name(divergence):
    p = torch.full((2, 3, 4), 0.25)
    valid = torch.ones(2, 3, 4, dtype=torch.bool)
    valid[1, 2] = False
    with pytest.raises(BadInput, match="row 1, 2 has no valid item"):
        divergence(p, p, valid)
