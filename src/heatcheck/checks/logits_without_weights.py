"""A model's logits after the attention weights of some tokens are removed and the other weights are scaled up.

The hidden states stay the same. With a linear read-out everything has a closed form (stats/sums_after_removal.py).
Otherwise every step uses the model's own short cut from weights to logits.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logsumexp, softmax
from torch import Tensor

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.errors import NotSupported
from heatcheck.explainers import Readout, require_short_cut, responses
from heatcheck.models import Response

WEIGHTS_AT_ONCE = 2**22  # in memory, if they must be stored
AFFORDABLE = 2**31  # weights over all rankings, if the model must compute each step


@runtime_checkable
class WeightRemovals(Protocol):
    """The effect of removing weights on the decisions of all examples."""

    @property
    def word(self) -> Int[np.ndarray, "example token"]:
        """The word that each token belongs to; -1 for none, and for all if sentences take the place of tokens."""
        ...

    @property
    def logits(self) -> Float[np.ndarray, "example label"]:
        """The model's own logits."""
        ...

    def emptied(self) -> Float[np.ndarray, "example label"]:
        """Logits when no weight is left."""
        ...

    def slope(self) -> Float[np.ndarray, "example token"]:
        """∂ p(decided) / ∂ α_t, through the output and the softmax only, up to a positive factor per example."""
        ...

    def without_each(self) -> Float[np.ndarray, "example token label"]:
        """Logits without the weight of each token alone."""
        ...

    def first_flip(self, scores: Float[np.ndarray, "example token"]) -> stats.FirstChange:
        """The first change of the decision when weights are removed from the highest of `scores` down."""
        ...


def weight_removals(case: Case, emptied: stats.Emptied, rankings: int) -> WeightRemovals:
    """Removals in closed form if the read-out is linear, else step by step if that is affordable."""
    require_short_cut(case.subject)
    if isinstance(case.readout, Readout):
        return Linear(case.readout, emptied)
    weights, allowed = case.weights
    wanted = rankings * int(allowed.sum()) * weights.shape[1]
    if wanted > AFFORDABLE:
        raise NotSupported(
            f"the read-out of {case.subject.id} is not linear in its weights, so each removal needs a computation "
            f"({wanted:,} weights; the limit is {AFFORDABLE:,}). Use fewer or shorter texts."
        )
    return Stepwise(case, emptied)


def decision_slope(
    logits: Float[np.ndarray, "example label"],
    relevance: Float[np.ndarray, "example token label"],
    decided: Int[np.ndarray, " example"],
) -> tuple[Float[np.ndarray, "example token"], Float[np.ndarray, " example"]]:
    """∂ p_k / ∂ α_t = p_k (r_tk − Σ_j p_j r_tj) of the decided label k, as a direction over tokens times a factor.

    Written as p_k (1 − p_k) Σ_{j≠k} q_j (r_tk − r_tj), with q the distribution over the other labels. Nothing cancels,
    and even a very confident model, whose factor is 0 in floating point, has a direction.

    >>> direction, factor = decision_slope(np.zeros((1, 2)), np.array([[[1.0, 0.0], [0.0, 3.0]]]), np.array([0]))
    >>> direction, factor
    (array([[ 1., -3.]]), array([0.25]))
    """
    row = np.arange(len(logits))
    others = logits.copy()
    others[row, decided] = -np.inf
    gain = relevance[row, :, decided][..., None] - relevance
    direction = np.einsum("el,etl->et", softmax(others, axis=-1), gain)
    margin = logits[row, decided] - logsumexp(others, axis=-1)
    return direction, np.asarray(expit(margin) * expit(-margin))


class Linear:
    """A read-out whose logits are Σ_t α_t r_tk + b_k."""

    def __init__(self, readout: Readout, emptied: stats.Emptied) -> None:
        self.weights, self.allowed = readout.attention[:, 0], readout.allowed
        self.relevance, self.bias = readout.relevance[:, 0], readout.bias[:, 0]
        nobodys = np.full(readout.allowed.shape, -1)
        self.word: Int[np.ndarray, "example token"] = nobodys if readout.of_word is None else readout.of_word
        self.logits: Float[np.ndarray, "example label"] = readout.logits[:, 0]
        self._emptied = emptied

    def emptied(self) -> Float[np.ndarray, "example label"]:
        nothing = np.zeros_like(self.weights)
        return stats.without_each(nothing, self.relevance, self.bias, self.allowed, self._emptied)[:, 0]

    def slope(self) -> Float[np.ndarray, "example token"]:
        return decision_slope(self.logits, self.relevance, self.logits.argmax(-1))[0]

    def without_each(self) -> Float[np.ndarray, "example token label"]:
        return stats.without_each(self.weights, self.relevance, self.bias, self.allowed, self._emptied)

    def first_flip(self, scores: Float[np.ndarray, "example token"]) -> stats.FirstChange:
        decided = self.logits.argmax(-1)
        return stats.first_change(self.weights, self.relevance, self.bias, scores, decided, self.allowed, self._emptied)


@dataclass(frozen=True)
class _Part:
    """A batch of examples of like length."""

    rows: list[int]
    response: Response
    own: Float[Tensor, "example head token"]
    allowed: Bool[Tensor, "example token"]


class Stepwise:
    """Any other read-out: its own short cut, once per removal."""

    def __init__(self, case: Case, emptied: stats.Emptied) -> None:
        self.weights, self.allowed = case.weights
        self._emptied = emptied
        self.parts = []
        self.word: Int[np.ndarray, "example token"] = np.full(self.allowed.shape, -1)
        for rows, batch, found in responses(case.subject, case.examples):
            self.parts.append(_Part(rows, found, found.attention[:, 0], found.allowed))
            self.word[rows, : batch.word.shape[1]] = batch.word.cpu().numpy()
        whole = [self._logits(part, torch.zeros_like(part.allowed)[:, None]) for part in self.parts]
        self.logits: Float[np.ndarray, "example label"] = self._gathered(whole)[:, 0]

    def emptied(self) -> Float[np.ndarray, "example label"]:
        return self._gathered([self._logits(part, part.allowed[:, None]) for part in self.parts])[:, 0]

    def slope(self) -> Float[np.ndarray, "example token"]:
        found = np.zeros(self.weights.shape)
        for part in self.parts:
            every = part.response.attention[:, None].clone().requires_grad_()
            logits = part.response.logits(every)[:, 0, 0].double()
            decided = logits.argmax(-1, keepdim=True)
            # dp = p (1 − p) d log-odds. The factor is left out: for a confident model it is 0 in floating point.
            odds = logits.gather(1, decided)[:, 0] - logits.scatter(1, decided, -torch.inf).logsumexp(-1)
            (slope,) = torch.autograd.grad(odds.sum(), [every])
            found[part.rows, : part.own.shape[-1]] = slope[:, 0, 0].mean(1).double().cpu().numpy()
        return found

    def without_each(self) -> Float[np.ndarray, "example token label"]:
        each = []
        for part in self.parts:
            alone = torch.eye(part.allowed.shape[1], dtype=torch.bool, device=part.allowed.device)
            each.append(self._logits(part, alone.expand(len(part.rows), -1, -1)))
        return self._gathered(each)

    def first_flip(self, scores: Float[np.ndarray, "example token"]) -> stats.FirstChange:
        removals, weight = np.full(len(scores), np.inf), np.full(len(scores), np.nan)
        order = stats.best_first(scores, self.allowed)
        place = np.argsort(order, axis=1)  # of each token in the order
        for part in self.parts:
            n = part.allowed.shape[1]
            places = place[part.rows, :n]
            gone = places[:, None, :] <= np.arange(n)[:, None]  # [example step token]
            decided = self.logits[part.rows].argmax(-1)
            after = self._logits(part, torch.from_numpy(gone).to(part.allowed.device)).argmax(-1)
            possible = np.arange(n) < self.allowed[part.rows].sum(1, keepdims=True)
            changed = (after != decided[:, None]) & possible
            ever, at = changed.any(1), changed.argmax(1)
            removals[part.rows] = np.where(ever, at + 1.0, np.inf)
            mass = np.where(places <= at[:, None], self.weights[part.rows, :n], 0.0).sum(1)
            weight[part.rows] = np.where(ever, mass / self.weights[part.rows].sum(1), np.nan)
        return stats.FirstChange(removals, weight)

    def _logits(self, part: _Part, gone: Bool[Tensor, "example draw token"]) -> Float[np.ndarray, "example draw label"]:
        """Logits without these tokens; the remaining weights of each head are scaled up to sum to 1."""
        step = max(1, WEIGHTS_AT_ONCE // part.response.attention.numel())
        chunks = []
        for start in range(0, gone.shape[1], step):
            without = gone[:, start : start + step, None]  # [example draw 1 token]
            left = part.own[:, None].masked_fill(without, 0.0)
            mass = left.sum(-1, keepdim=True)
            share = torch.where(mass > 0, left / mass.clamp(min=torch.finfo(mass.dtype).tiny), self._nothing(part))
            weights = part.response.attention[:, None].repeat(1, share.shape[1], 1, 1, 1)
            weights[:, :, 0] = share
            with torch.no_grad():
                chunks.append(part.response.logits(weights)[:, :, 0].double().cpu().numpy())
        return np.concatenate(chunks, axis=1)

    def _nothing(self, part: _Part) -> Float[Tensor, "example 1 1 token"]:
        """The weights used when none is left."""
        if self._emptied == "bias":
            return torch.zeros_like(part.own[:, None, :1])
        alike = part.allowed.to(part.own.dtype)
        return (alike / alike.sum(-1, keepdim=True))[:, None, None]

    def _gathered(self, each: list[np.ndarray]) -> Float[np.ndarray, "example draw label"]:
        """All batches in one array, each example in its place, padded with zeros."""
        longest = max(found.shape[1] for found in each)
        whole = np.zeros((len(self.weights), longest, each[0].shape[2]))
        for part, found in zip(self.parts, each, strict=True):
            whole[part.rows, : found.shape[1]] = found
        return whole
