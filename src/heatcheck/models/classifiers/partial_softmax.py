"""A softmax-weighted mean, assembled from parts in any order, to leave tokens out without loss of digits.

Nothing is subtracted from a sum, so a token that held nearly all the weight can be left out like any other.
All numbers are float64: there are many parts, and the results are small differences between such means.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LOWEST = torch.finfo(torch.float64).min  # not -inf, whose difference from itself is no number
RELIABLE = 1e-200  # of a smaller sum, some or all may have been lost to underflow


@dataclass(frozen=True)
class Partial:
    """Σ e^(score − largest) and Σ e^(score − largest)·value over some tokens, for each gap and query.

    >>> one = Partial.of_tokens(torch.tensor([[[0.0]]]), torch.tensor([[[[3.0]]]]))
    >>> other = Partial.of_tokens(torch.tensor([[[1000.0, 1000.0]]]), torch.tensor([[[[1.0], [2.0]]]]))
    >>> one.joined(one).mean().item(), one.joined(other).mean().item()
    (3.0, 1.5)
    """

    largest: Float[Tensor, "gap query"]
    total: Float[Tensor, "gap query"]
    summed: Float[Tensor, "gap query column"]

    @classmethod
    def of_tokens(
        cls,
        scores: Float[Tensor, "gap query key"],
        values: Float[Tensor, "gap query key column"],
        present: Bool[Tensor, "gap key"] | None = None,
    ) -> "Partial":
        """The sums over these tokens; a gap may have none of them."""
        scores, values = scores.double(), values.double()
        if scores.shape[-1] == 1 and present is None:
            return cls(scores[..., 0], torch.ones_like(scores[..., 0]), values[..., 0, :])
        if present is not None:
            scores = scores.masked_fill(~present[:, None], LOWEST)
        largest = scores.amax(-1)
        share = (scores - largest[..., None]).exp()
        if present is not None:
            share = share * present[:, None]
        return cls(largest, share.sum(-1), (share[..., None, :] @ values)[..., 0, :])

    @classmethod
    def of_nothing(cls, gaps: int, queries: int, columns: int, device: torch.device) -> "Partial":
        """Sums that wait for their first token."""
        zeros = torch.zeros((gaps, queries, 1 + columns), dtype=torch.float64, device=device)
        return cls(torch.full_like(zeros[..., 0], LOWEST), zeros[..., 0], zeros[..., 1:])

    def joined(self, other: "Partial") -> "Partial":
        """The sums over the tokens of both."""
        largest = torch.maximum(self.largest, other.largest)
        ours, theirs = (self.largest - largest).exp(), (other.largest - largest).exp()
        total = ours * self.total + theirs * other.total
        return Partial(largest, total, ours[..., None] * self.summed + theirs[..., None] * other.summed)

    def absorb(self, gap: Int[Tensor, " gap"], other: "Partial") -> None:
        """Joins the other's sums to those of its gaps, here and in place."""
        both = Partial(self.largest[gap], self.total[gap], self.summed[gap]).joined(other)
        self.largest[gap], self.total[gap], self.summed[gap] = both.largest, both.total, both.summed

    def mean(self) -> Float[Tensor, "gap query column"]:
        """The softmax-weighted mean of the values."""
        return self.summed / self.total[..., None]


class TextSums:
    """The sums over the first tokens of each text, and over its last, wherever one cuts."""

    def __init__(
        self,
        scores: Float[Tensor, "example query token"],
        values: Float[Tensor, "example query token column"],
        scored: Bool[Tensor, "example token"],
    ) -> None:
        self.scores, self.values, self.scored = scores.double(), values.double(), scored
        self.largest = self.scores.masked_fill(~scored[:, None], LOWEST).amax(-1)  # [example query]
        share = (self.scores - self.largest[..., None]).exp().masked_fill(~scored[:, None], 0)[..., None]
        sums = torch.cat([share, share * self.values], dim=-1)  # [example query token 1+column]
        pad = torch.nn.functional.pad
        self.before = pad(sums.cumsum(2), (0, 0, 1, 0))  # at t: the tokens before t
        self.after = pad(sums.flip(2).cumsum(2), (0, 0, 1, 0)).flip(2)  # at t: t and the tokens after it
        self.count = pad(scored.cumsum(1), (1, 0))

    def first(self, example: Int[Tensor, " gap"], token: Int[Tensor, " gap"]) -> Partial:
        """Over the tokens of an example before a token."""
        return self._part(self.before, example, token, self.count[example, token] == 0)

    def last(self, example: Int[Tensor, " gap"], token: Int[Tensor, " gap"]) -> Partial:
        """Over a token of an example and those after it."""
        return self._part(self.after, example, token, self.count[example, token] == self.count[example, -1])

    def _part(self, sums: Tensor, example: Tensor, token: Tensor, empty: Tensor) -> Partial:
        found = sums[example, :, token]  # [gap query 1+column]
        largest = self.largest[example].masked_fill(empty[:, None], LOWEST)
        part = Partial(largest, found[..., 0], found[..., 1:])
        # Shares are relative to the largest score of the whole text: far from it they underflow.
        lost = (part.total < RELIABLE).any(1) & ~empty
        if bool(lost.any()):
            position = torch.arange(self.scored.shape[1], device=token.device)
            inside = position < token[lost, None] if sums is self.before else position >= token[lost, None]
            of = example[lost]
            there = Partial.of_tokens(self.scores[of], self.values[of], inside & self.scored[of])
            part.largest[lost], part.total[lost], part.summed[lost] = there.largest, there.total, there.summed
        return part
