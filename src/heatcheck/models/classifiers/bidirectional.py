"""Recurrent layers in both directions, faster than with packed sequences.

Backward through a packed, variable-length layer zero-fills a whole gradient buffer at every step, which is quadratic in
length. Reversing each text inside its own length gives the same states and gradients, several times faster
(benchmarks/epoch.py).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.classifiers.encoder import Encoder


def reversal(valid: Bool[Tensor, "example token"]) -> Int[Tensor, "example token"]:
    """Indices that turn each text round inside its own length and leave padding where it is.

    >>> reversal(torch.tensor([[True, True, True, False]]))
    tensor([[2, 1, 0, 3]])
    """
    position = torch.arange(valid.shape[1], device=valid.device)
    return torch.where(valid, valid.sum(1, keepdim=True) - 1 - position, position)


def _turned(
    states: Float[Tensor, "example token feature"], turn: Int[Tensor, "example token"]
) -> Float[Tensor, "example token feature"]:
    """`states.take_along_dim(turn[..., None], 1)`, with whole rows copied: that looks up each number by itself."""
    examples, tokens, _ = states.shape
    example = torch.arange(examples, device=turn.device)[:, None]
    if states.is_contiguous():
        rows, place = states.flatten(0, 1), example * tokens + turn
    else:  # a recurrent layer gives the states of each step together
        rows, place = states.transpose(0, 1).flatten(0, 1), turn * examples + example
    return rows.index_select(0, place.flatten()).view(states.shape)


class Bidirectional(Encoder):
    """One layer with `hidden` units per direction; the summary is the last state of each direction."""

    tokens_at_once = 1 << 12
    ahead: nn.Module  # recurrent layers, batch first
    behind: nn.Module

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.size = 2 * hidden

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        turn = reversal(valid)
        ahead, _ = self.ahead(embedded)
        behind, _ = self.behind(_turned(embedded, turn))
        return torch.cat([ahead, _turned(behind, turn)], dim=-1) * valid[..., None]

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        ahead, behind = states.chunk(2, dim=-1)
        last = (valid.sum(1) - 1)[:, None, None]
        return torch.cat([ahead.take_along_dim(last, 1)[:, 0], behind[:, 0]], dim=-1)
