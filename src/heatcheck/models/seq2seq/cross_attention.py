"""A decoder's attention over the encoder's states: scores for each head, step and source token.

`keys` holds what is computed once for all steps. To add one, write one class here and add one line to CROSS_ATTENTIONS.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class DotCross(nn.Module):
    """(W d)·h, with a W of its own for each head, and no scaling, as in Snell et al."""

    def __init__(self, queries: int, states: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.of_query = nn.Linear(queries, heads * states, bias=False)

    def keys(self, states: Float[Tensor, "example key feature"]) -> Float[Tensor, "example key feature"]:
        return states

    def forward(
        self, query: Float[Tensor, "example query asked"], keys: Float[Tensor, "example key feature"]
    ) -> Float[Tensor, "example head query key"]:
        asked = self.of_query(query).unflatten(-1, (self.heads, -1))
        return torch.einsum("eqhf,ekf->ehqk", asked, keys)


class AdditiveCross(nn.Module):
    """v·tanh(W [d; h] + b), with a W, a b and a v of its own for each head, as in Bahdanau et al."""

    def __init__(self, queries: int, states: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.of_query = nn.Linear(queries, heads * queries)
        self.of_state = nn.Linear(states, heads * queries, bias=False)
        self.score = nn.Parameter((torch.rand(heads, queries) * 2 - 1) / queries**0.5)

    def keys(self, states: Float[Tensor, "example key feature"]) -> Float[Tensor, "example key column"]:
        mapped: Tensor = self.of_state(states)
        return mapped

    def forward(
        self, query: Float[Tensor, "example query asked"], keys: Float[Tensor, "example key column"]
    ) -> Float[Tensor, "example head query key"]:
        # [example query key head column]
        asked = self.of_query(query)[:, :, None]
        hidden = (asked + keys[:, None]).tanh().reshape(*asked.shape[:2], keys.shape[1], self.heads, -1)
        return torch.einsum("eqkhf,hf->ehqk", hidden, self.score)


CROSS_ATTENTIONS: dict[str, type[DotCross] | type[AdditiveCross]] = {"additive": AdditiveCross, "dot": DotCross}
