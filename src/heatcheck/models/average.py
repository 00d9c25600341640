"""No context at all: each token's embedding through one layer. An attention over it is a weighted bag of words."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.models.encoder import Encoder


class Average(Encoder):
    """tanh(W e + b) a token; the summary is the mean over the text."""

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
