"""From scores to weights: softmax, or one that leaves most words without any weight.

To add a normaliser, write one function here and add one line to NORMALISERS. What it gives may not depend on padding,
and no step may depend on the numbers in a way that a recorded step on a GPU could not repeat.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.models.contract.weights import masked_softmax, refuse_empty

Scores = Float[Tensor, "example head query key"]
Scored = Bool[Tensor, "example key"]
ROUNDING = 1e-3  # 0.6 · 5 words are 3, not 4
OUTSIDE = -2.0  # below the largest score by this much, sparsemax and entmax give no weight


def softmax(scores: Scores, scored: Scored, _: float = 0.0) -> Scores:
    """e^a_t / Σ e^a_s: every word has some weight."""
    return masked_softmax(scores, scored)


def sparsemax(scores: Scores, scored: Scored, _: float = 0.0) -> Scores:
    """The nearest point of the simplex to the scores: max(a_t − τ, 0) (Martins & Astudillo 2016).

    >>> sparsemax(torch.tensor([[[[1.0, 0.5, -3.0]]]]), torch.tensor([[True, True, True]]))
    tensor([[[[0.7500, 0.2500, 0.0000]]]])
    """
    below = _below_largest(scores, scored, 1.0)
    ordered, count = _ordered(below)
    tau = (ordered.cumsum(-1) - 1) / count
    support = _support(below, ordered, tau)
    # The same τ once more from its support alone: so its gradient is exact.
    tau = (below.masked_fill(~support, 0.0).sum(-1, keepdim=True) - 1) / support.sum(-1, keepdim=True)
    return (below - tau).masked_fill(~support, 0.0)


def entmax(scores: Scores, scored: Scored, _: float = 0.0) -> Scores:
    """max(a_t / 2 − τ, 0)²: half way between softmax and sparsemax (α = 1.5; Peters, Niculae & Martins 2019).

    >>> entmax(torch.tensor([[[[1.0, 0.0, -3.0]]]]), torch.tensor([[True, True, True]])).round(decimals=4)
    tensor([[[[0.8307, 0.1693, 0.0000]]]])
    """
    below = _below_largest(scores, scored, 0.5)
    ordered, count = _ordered(below)
    mean = ordered.cumsum(-1) / count
    apart = ordered.square().cumsum(-1) - count * mean.square()  # Σ (a − mean)² of the first so many
    support = _support(below, ordered, mean - ((1 - apart).clamp(min=0) / count).sqrt())
    size = support.sum(-1, keepdim=True)
    mean = below.masked_fill(~support, 0.0).sum(-1, keepdim=True) / size
    centred = (below - mean).masked_fill(~support, 0.0)
    # Above 0: were it 0, the mean itself would be τ, and what is below the mean would not be in the support.
    root = ((1 - centred.square().sum(-1, keepdim=True)) / size).sqrt()
    return (centred + root).masked_fill(~support, 0.0).square()


def top_k(scores: Scores, scored: Scored, share: float) -> Scores:
    """Softmax over the words with the largest scores: a share of the text, rounded up. All others get no weight.

    Of equal scores the first counts as larger.

    >>> top_k(torch.tensor([[[[1.0, 1.0, 0.0, 9.0]]]]), torch.tensor([[True, True, True, False]]), 0.6)
    tensor([[[[0.5000, 0.5000, 0.0000, 0.0000]]]])
    """
    ranked = scores.masked_fill(~scored[:, None, None, :], -torch.inf)
    place = ranked.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    kept = (share * scored.sum(-1) - ROUNDING).ceil().clamp(min=1)[:, None, None, None]
    weights = masked_softmax(scores, scored)
    chosen = weights.masked_fill(place >= kept, 0.0)
    return chosen / chosen.sum(-1, keepdim=True)


def _below_largest(scores: Scores, scored: Scored, scale: float) -> Scores:
    """Scores times a scale, the largest 0; what is far below it, and what carries no weight, at `OUTSIDE`."""
    refuse_empty(scored)
    masked = scores.masked_fill(~scored[:, None, None, :], -torch.inf)
    largest = masked.amax(-1, keepdim=True).detach()  # all of them moved together change nothing
    return (scale * (masked - largest)).clamp(min=OUTSIDE)


def _ordered(below: Scores) -> tuple[Tensor, Tensor]:
    """The largest first, without gradient, and how many there are up to each."""
    ordered = below.detach().sort(dim=-1, descending=True).values
    return ordered, torch.arange(1, below.shape[-1] + 1, device=below.device, dtype=below.dtype)


def _support(below: Scores, ordered: Tensor, tau: Tensor) -> Tensor:
    """What has weight: as many as are above the threshold that they would have together."""
    size = (ordered > tau).sum(-1, keepdim=True)
    return below.detach() > tau.gather(-1, size - 1)


class Normaliser(NamedTuple):
    """From scores, which tokens may carry weight, and a share of the text, to weights."""

    of: Callable[[Scores, Scored, float], Scores]
    is_softmax: bool = False  # other code may then work with the scores of single words


NORMALISERS: dict[str, Normaliser] = {
    "entmax": Normaliser(entmax),
    "softmax": Normaliser(softmax, is_softmax=True),
    "sparsemax": Normaliser(sparsemax),
    "top_k": Normaliser(top_k),
}
