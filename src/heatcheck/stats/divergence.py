"""Distances between probability distributions (KL, JSD, TVD), over the last axis, as tensors with gradients.

Probabilities are taken as they come: nothing is renormalised and no epsilon is added. Zeros and padding get
finite gradients wherever the quantity itself is finite: an item with p = 0 adds nothing and pulls nowhere,
although the one-sided derivative of p ln p is minus infinity there. A row without a valid item is refused.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.errors import BadInput


def total_variation(
    p: Float[Tensor, "*batch item"],
    q: Float[Tensor, "*batch item"],
    valid: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Total variation distance ½ Σ|p − q|: 0 = identical, 1 = disjoint.

    For a yes/no output pass both probabilities, or note that it equals |p(yes) − q(yes)|.

    >>> total_variation(torch.tensor([0.9, 0.1, 0.0]), torch.tensor([0.5, 0.1, 0.4]))
    tensor(0.4000)
    """
    return (_unpadded(p, valid) - _unpadded(q, valid)).abs().sum(-1) / 2


def kl_divergence_nats(
    p: Float[Tensor, "*batch item"],
    q: Float[Tensor, "*batch item"],
    valid: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Kullback-Leibler divergence of q from p, Σ p ln(p/q), in nats: 0 = identical, infinite where q = 0 < p.

    >>> kl_divergence_nats(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]))
    tensor(0.6931)
    >>> kl_divergence_nats(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]))
    tensor(inf)
    """
    return _relative_information(_unpadded(p, valid), _unpadded(q, valid)).sum(-1)


def jensen_shannon_nats(
    p: Float[Tensor, "*batch item"],
    q: Float[Tensor, "*batch item"],
    valid: Bool[Tensor, "*batch item"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Jensen-Shannon divergence in nats: 0 = identical, ln 2 = disjoint; symmetric.

    ½ KL(p‖m) + ½ KL(q‖m) with m = (p + q)/2.

    >>> jensen_shannon_nats(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), torch.tensor([[0.0, 1.0], [0.5, 0.5]]))
    tensor([0.6931, 0.0000])
    """
    p, q = _unpadded(p, valid), _unpadded(q, valid)
    # p ln(p/m) is taken as ½ · 2p ln(2p/(p + q)): half the smallest float is 0, and p ln(p/0) infinite.
    total = p + q
    terms = _relative_information(2 * p, total) + _relative_information(2 * q, total)
    # No term is negative but for rounding, so the floor changes nothing else.
    return (terms.sum(-1) / 4).clamp(min=0)


def _unpadded(
    p: Float[Tensor, "*batch item"], valid: Bool[Tensor, "*batch item"] | None
) -> Float[Tensor, "*batch item"]:
    """The distribution with padding at exactly 0, whatever stood there, and no gradient into it."""
    if valid is None:
        return p
    empty = ~valid.any(-1)
    if empty.any():
        row = ", ".join(map(str, empty.nonzero()[0].tolist()))
        raise BadInput(f"row {row or 0} has no valid item, so it has no distribution to compare. Leave the row out.")
    return p.masked_fill(~valid, 0)


def _relative_information(
    p: Float[Tensor, "*batch item"], q: Float[Tensor, "*batch item"]
) -> Float[Tensor, "*batch item"]:
    """Each item's p ln(p/q): 0 where p = 0, infinite where q = 0 < p."""
    p_is_zero, q_is_zero = p == 0, q == 0
    # The logarithms never see a zero, not even in the branch thrown away: backward would make it 0 · ∞ = NaN.
    log_ratio = p.masked_fill(p_is_zero, 1).log() - q.masked_fill(q_is_zero, 1).log()
    # 0 · q rather than 0: a NaN in q must come out.
    terms = torch.where(p_is_zero, 0 * q, p * log_ratio)
    return terms.masked_fill(q_is_zero & (p > 0), torch.inf)
