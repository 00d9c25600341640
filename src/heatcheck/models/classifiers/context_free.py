"""Encoders without context: a state depends on its own token only. Attention over them is a weighted bag of words."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.classifiers.encoder import Encoder
from heatcheck.models.contract.without_each import Gaps, Reread, Same


class ContextFree(Encoder):
    """A function of each token's embedding; the summary is the mean over the text."""

    tokens_at_once = 1 << 15

    def of_each(self, embedded: Float[Tensor, "... feature"]) -> Float[Tensor, "... size"]:
        """Map embeddings to states."""
        raise NotImplementedError

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        return self.of_each(embedded) * valid[..., None]

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        # The original averages padding too, so its answers depend on what else is in the batch.
        return states.sum(1) / valid.sum(1, keepdim=True)

    def without_each(
        self,
        table: Float[Tensor, "word feature"],
        tokens: Int[Tensor, "example token"],
        valid: Bool[Tensor, "example token"],
        scored: Bool[Tensor, "example token"],
        gaps: Gaps,
        mapping: Float[Tensor, "column size"],
        *,
        tolerance: float = 0.0,
    ) -> Reread:
        """Reuse all states: none of them depends on another token."""
        whole = nn.functional.embedding(tokens, nn.functional.linear(self.of_each(table), mapping))
        every = torch.arange(len(gaps), device=whole.device)
        return whole, iter([Same(every, "before", gaps.start), Same(every, "from", gaps.stop)])


class Average(ContextFree):
    """tanh(W e + b) for every token."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.project = nn.Linear(features, hidden)
        self.size = hidden

    def of_each(self, embedded: Float[Tensor, "... feature"]) -> Float[Tensor, "... size"]:
        states: Tensor = self.project(embedded)
        return states.tanh()


class Unencoded(ContextFree):
    """The embedding itself; `hidden` is ignored."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.size = features

    def of_each(self, embedded: Float[Tensor, "... feature"]) -> Float[Tensor, "... feature"]:
        return embedded
