"""No context at all: each token's embedding through one layer. An attention over it is a weighted bag of words."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.encoder import Encoder
from heatcheck.models.erases import Gaps, Reread, Same


class Average(Encoder):
    """tanh(W e + b) a token; the summary is the mean over the text."""

    tokens_at_once = 1 << 15

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.project = nn.Linear(features, hidden)
        self.size = hidden

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        states: Tensor = self.project(embedded).tanh()
        return states * valid[..., None]

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
        """No state knows of another token: with a gap, all of them stay."""
        whole = nn.functional.embedding(tokens, nn.functional.linear(self.project(table).tanh(), mapping))
        every = torch.arange(len(gaps), device=whole.device)
        return whole, iter([Same(every, "before", gaps.start), Same(every, "from", gaps.stop)])
