"""What an encoder is: embeddings in, one state a token out, and a summary of the whole text."""

from jaxtyping import Bool, Float
from torch import Tensor, nn


class Encoder(nn.Module):
    """Base of all encoders. States at padding are zero, and padding never changes another state.

    `valid` is a run of True followed by padding. `size` is the width of a state.
    """

    size: int

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        raise NotImplementedError

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        """One vector for the text: what a question is to the attention over its passage."""
        raise NotImplementedError
