"""One layer of a transformer in tensors: the vector that each token adds to each other token, before the sum.

A token j writes α_ij f(x_j) to token i, head by head, where f(x_j) is its value (with the value's bias) through the
head's slice of the output projection. To that the layer adds the token's own state, the projection's bias, and where
the norm comes after (BERT), the norm.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Norm:
    """LayerNorm, or RMSNorm if it does not centre: a fixed linear map, divided by each row's own scale."""

    gain: Float[Tensor, " size"] | None
    bias: Float[Tensor, " size"] | None
    epsilon: float
    centred: bool

    def scale(self, states: Float[Tensor, "... size"]) -> Float[Tensor, "... 1"]:
        """What a row is divided by: its standard deviation, or its root mean square."""
        centred = self._centre(states)
        return (centred.square().mean(-1, keepdim=True) + self.epsilon).sqrt()

    def linear(self, states: Float[Tensor, "... size"]) -> Float[Tensor, "... size"]:
        """Centring and gain, without the division and the bias."""
        centred = self._centre(states)
        return centred if self.gain is None else centred * self.gain.to(states.dtype)

    def __call__(self, states: Float[Tensor, "... size"]) -> Float[Tensor, "... size"]:
        """The whole of it."""
        normed = self.linear(states) / self.scale(states)
        return normed if self.bias is None else normed + self.bias.to(states.dtype)

    def _centre(self, states: Tensor) -> Tensor:
        return states - states.mean(-1, keepdim=True) if self.centred else states


@dataclass(frozen=True)
class Layer:
    """The attention half of a block, in double precision: norms by inner products cancel.

    `branch` is a norm of the attention's output before it is added to the state (OLMo 2, Gemma 2). `norm` and `last`
    are the norms after the attention and after the MLP; None where norms come before (GPT-2, Llama), for there a
    token's norm is part of its value and nothing is normed after the sum.
    """

    weights: Float[Tensor, "example head query key"]
    values: Float[Tensor, "example head key feature"]
    states: Float[Tensor, "example token size"]  # what goes into the block, and past the attention
    projection: Float[Tensor, "head feature size"]
    bias: Float[Tensor, " size"] | None
    norm: Norm | None
    last: Norm | None
    row: Int[Tensor, " example"]  # the query that the answer is read from
    branch: Norm | None = None

    def of_readout(self) -> Float[Tensor, "example head key"]:
        """The read-out's row of weights."""
        return self.weights[torch.arange(len(self.row), device=self.row.device), :, self.row]

    def written(self) -> Float[Tensor, "example head key size"]:
        """f(x_j) of each head: what a token would write to one that gave it all its weight.

        With a norm on the branch, before the division by the query's own scale (`strengths`).
        """
        found = torch.einsum("ehkf,hfs->ehks", self.values, self.projection)
        return found if self.branch is None else self.branch.linear(found)

    @cached_property
    def strengths(self) -> Float[Tensor, "example head query key"]:
        """What multiplies f(x_j): the weight, over the scale of the query's row where the branch is normed."""
        return self.weights if self.branch is None else self.weights / self.branch.scale(self._added())[:, None]

    def attended(self) -> Float[Tensor, "example query size"]:
        """Σ_j α_ij f(x_j): what the attention adds, less what biases add."""
        found = torch.einsum("ehqk,ehkf,hfs->eqs", self.strengths, self.values, self.projection)
        return found if self.branch is None else self.branch.linear(found)

    def biases(self) -> Float[Tensor, "example query size"]:
        """What biases add to each query's state: the projection's, and the branch's norm's."""
        found = torch.zeros((), dtype=self.values.dtype, device=self.values.device)
        if self.bias is not None:
            found = found + self.bias
        if self.branch is not None:
            if self.bias is not None:
                found = self.branch.linear(found) / self.branch.scale(self._added())
            if self.branch.bias is not None:
                found = found + self.branch.bias.to(found.dtype)
        examples, _, queries, _ = self.weights.shape
        return found.expand(examples, queries, self.projection.shape[-1])

    def summed(self) -> Float[Tensor, "example token size"]:
        """What the block holds after its attention, before any norm of the sum."""
        return self.attended() + self.states + self.biases()

    def output(self) -> Float[Tensor, "example token size"]:
        """What the block holds after its attention."""
        return self.summed() if self.norm is None else self.norm(self.summed())

    def _added(self) -> Float[Tensor, "example query size"]:
        """The attention's output as its projection gives it."""
        found = torch.einsum("ehqk,ehkf,hfs->eqs", self.weights, self.values, self.projection)
        return found if self.bias is None else found + self.bias
