"""Dropout whose random numbers come from the model's own generator, so that models can be trained side by side."""

import torch
from torch import Tensor, nn


class Dropout(nn.Dropout):
    """`nn.Dropout` with a generator of its own; without one, the same numbers from torch's global generator."""

    generator: torch.Generator | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        if self.generator is None or not self.training or not self.p:
            return super().forward(input)
        kept = torch.empty_like(input).bernoulli_(1 - self.p, generator=self.generator)
        return input * kept.div_(1 - self.p)
