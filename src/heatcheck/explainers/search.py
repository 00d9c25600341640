"""Searches other attention weights with the same answer by gradient descent: the published search, and a better one.

The result of any search is a lower bound on how different weights with the same answer can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.engine import check_time, stream
from heatcheck.models import Response
from heatcheck.models.contract.response import Weights

TINY = 1e-20  # inside logarithms
MASKED = -1e9  # a score that no weight survives, and that is still a number


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search for weights. The defaults are those of Jain & Wallace's code (their Algorithm 3)."""

    starts: int = 5
    steps: int = 500
    rate: float = 0.01
    noise: float = 3.0  # spread of the starting scores around uniform weights
    price: float = 500.0  # of each unit of change of the output beyond the slack
    slack: float | None = 0.01  # None: the ε that is asked for
    diversity: bool = True  # the starts of an example push each other apart
    keep_best: bool = False  # False: the last iterate, feasible or not


JAIN2019 = SearchSettings()
BETTER = SearchSettings(rate=0.05, slack=None, diversity=False, keep_best=True)
# For a transformer, where each step goes through the last block and back. Larger steps at a lower price: on tiny ones
# it found as much as BETTER to a twentieth, in a sixth of the steps (tests/checks/test_checks_on_transformers.py).
BRIEF = SearchSettings(steps=80, rate=0.3, price=20.0, slack=None, diversity=False, keep_best=True)
# For the weights of an earlier layer, where each step goes through all layers after it. It found as much as BRIEF to a
# tenth, in a fifth of the steps (tests/models/test_view.py).
SHORT = replace(BRIEF, starts=2, steps=40)


class Found(NamedTuple):
    """Weights, their divergence from the observed ones, and the change of the output they make."""

    weights: Weights
    jsd: Float[Tensor, "example draw decision"]
    change: Float[Tensor, "example draw decision"]


def search(
    found: Response,
    ids: Sequence[str],
    *,
    epsilon: float | Sequence[float],
    scale: float | Sequence[float],
    seed: int,
    settings: SearchSettings,
) -> list[Found]:
    """Descend from random starts; `scale` multiplies the logits. The result does not depend on the batch.

    Several ε and scales are several searches, each as it would be alone: one list entry for each.
    """
    own, allowed = found.attention.detach(), found.allowed
    asked = _pairs(epsilon, scale)
    starts, searches = settings.starts, len(asked)
    # The starts of one search after those of another, along the axis of draws.
    bounds, scales = (
        torch.tensor(values, dtype=own.dtype, device=own.device).repeat_interleave(starts)[:, None]
        for values in zip(*asked, strict=True)
    )
    scales = scales[..., None]
    with torch.no_grad():
        p = (scales * found.logits(own[:, None])).softmax(-1)  # [example draw decision label]
    scores = _starts(ids, own, allowed, seed, settings).repeat(1, searches, 1, 1, 1).requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=settings.rate, amsgrad=True)
    slack = bounds if settings.slack is None else settings.slack
    # As published, the change is |Δp| for two labels and the unhalved L1 for more.
    times = 1.0 if p.shape[-1] == 2 else 2.0 if settings.slack is not None else 1.0
    best = Found(own[:, None].expand_as(scores).clone(), *(torch.zeros_like(scores[..., 0, 0]) for _ in range(2)))
    for _ in range(settings.steps):
        check_time()
        weights = _weights(scores, allowed)
        distance = _jsd(weights, own[:, None])
        change = _change(found, weights, p, scales)
        if settings.keep_best:
            best = _better(best, Found(weights, distance, change), bounds)
        loss = -distance + settings.price * (times * change - slack).clamp(min=0)
        total = loss.sum()
        if settings.diversity:
            for each in torch.split(weights, starts, dim=1):
                total = total - _diversity(each)
        (scores.grad,) = torch.autograd.grad(total, [scores])  # not backward(): the model's parameters get none
        optimizer.step()
    with torch.no_grad():
        weights = _weights(scores, allowed)
        last = Found(weights, _jsd(weights, own[:, None]), _change(found, weights, p, scales))
    last = _better(best, last, bounds) if settings.keep_best else last
    return [Found(*parts) for parts in zip(*(torch.split(part, starts, dim=1) for part in last), strict=True)]


def _pairs(epsilon: float | Sequence[float], scale: float | Sequence[float]) -> list[tuple[float, float]]:
    """Each ε with its scale; a lone one goes with all of the other.

    >>> _pairs([0.1, 0.2], 1.0)
    [(0.1, 1.0), (0.2, 1.0)]
    """
    epsilons, scales = ([one] if isinstance(one, float | int) else list(one) for one in (epsilon, scale))
    searches = max(len(epsilons), len(scales))
    each = ([*one * searches][:searches] if len(one) == 1 else one for one in (epsilons, scales))
    return list(zip(*each, strict=True))


def _starts(
    ids: Sequence[str],
    own: Float[Tensor, "example decision head token"],
    allowed: Bool[Tensor, "example token"],
    seed: int,
    settings: SearchSettings,
) -> Weights:
    """Uniform scores with noise, drawn for each example by its id."""
    shape = (len(ids), settings.starts, *own.shape[1:])
    noise = np.zeros(shape, dtype=np.float32)
    for row, name in enumerate(ids):
        places = allowed[row].nonzero()[:, 0].cpu().numpy()
        drawn = stream(seed, "search", name).normal(size=(settings.starts, *own.shape[1:3], len(places)))
        noise[row][..., places] = settings.noise * drawn
    return torch.from_numpy(noise).to(own.device, own.dtype)


def _weights(scores: Weights, allowed: Bool[Tensor, "example token"]) -> Weights:
    return scores.masked_fill(~allowed[:, None, None, None], MASKED).softmax(-1)


def _probabilities(found: Response, weights: Weights, scale: Tensor) -> Float[Tensor, "example draw decision label"]:
    """With logits times `scale` [draw decision label]."""
    return (scale * found.logits(weights)).softmax(-1)


def _change(
    found: Response, weights: Weights, p: Float[Tensor, "example draw decision label"], scale: Tensor
) -> Float[Tensor, "example draw decision"]:
    return (_probabilities(found, weights, scale) - p).abs().sum(-1) / 2


def _jsd(p: Tensor, q: Tensor) -> Float[Tensor, "example draw decision"]:
    """JSD over tokens, in nats, mean over heads."""
    middle = ((p + q) / 2 + TINY).log()
    each = p * ((p + TINY).log() - middle) + q * ((q + TINY).log() - middle)
    return each.sum(-1).mean(-1) / 2


def _diversity(weights: Weights) -> Tensor:
    """(1/k²) Σ_ij JSD(α_i, α_j) over all examples: each unordered pair twice."""
    starts = weights.shape[1]
    first, second = torch.triu_indices(starts, starts, offset=1, device=weights.device)
    return 2 * _jsd(weights[:, first], weights[:, second]).sum() / starts**2


def _better(old: Found, new: Found, epsilon: Tensor) -> Found:
    """The farther of the two, start by start, among those that keep the output."""
    with torch.no_grad():
        wins = (new.change <= epsilon) & (new.jsd > old.jsd)
        return Found(
            torch.where(wins[..., None, None], new.weights, old.weights),
            torch.where(wins, new.jsd, old.jsd),
            torch.where(wins, new.change, old.change),
        )
