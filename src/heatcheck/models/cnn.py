"""Windows of 1, 3, 5 and 7 tokens."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.errors import BadInput
from heatcheck.models.encoder import Encoder

KERNELS = (1, 3, 5, 7)


class CNN(Encoder):
    """Parallel convolutions, a quarter of `hidden` each, and ReLU; the summary is the maximum over the text."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        if hidden % len(KERNELS):
            raise BadInput(f"the cnn encoder needs a hidden size divisible by {len(KERNELS)}, not {hidden}.")
        filters = hidden // len(KERNELS)
        self.windows = nn.ModuleList(nn.Conv1d(features, filters, kernel, padding="same") for kernel in KERNELS)
        self.size = hidden

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        mask = valid[..., None]
        channels = (embedded * mask).transpose(1, 2)  # zero beyond the end, as at the start
        states = torch.cat([window(channels) for window in self.windows], dim=1).relu()
        return states.transpose(1, 2) * mask

    def summary(
        self,
        states: Float[Tensor, "example token size"],
        valid: Bool[Tensor, "example token"],
    ) -> Float[Tensor, "example size"]:
        return states.amax(1)  # states are >= 0 and 0 at padding
