"""Attention calls that are one map with another one: weights used twice, and keys of two kinds under one softmax.

DiffLlama calls its attention function twice with the same queries and keys and different values. That is one map with
values of twice the size. T5Gemma 2 has one softmax over the decoder's tokens and, after them, the encoder's. The site
is the encoder's part, and the rest keeps its weight. Modules of both kinds are marked when a model is loaded.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.data import Batch
from heatcheck.models.contract.subject import Site
from heatcheck.models.contract.weights import visible
from heatcheck.models.hf.kernel import spread

_TWICE, _MERGED = "_heatcheck_twice", "_heatcheck_merged"


class Call(NamedTuple):
    """The last call of an attention function in a pass."""

    module: nn.Module
    query: Tensor
    key: Tensor
    where: str
    value: Tensor
    weights: Tensor | None = None  # as they left the tap, if they are needed once more
    out: Tensor | None = None  # [example query head feature]

    def same(self, module: nn.Module, query: Tensor, key: Tensor) -> bool:
        """Whether another call makes the same weights."""
        return module is self.module and query is self.query and key is self.key


def mark_twice(module: nn.Module) -> None:
    """From now on two calls of the module are one map."""
    module.__dict__[_TWICE] = True


def is_twice(module: nn.Module) -> bool:
    return _TWICE in module.__dict__


def mark_merged(network: nn.Module, scores: Mapping[Site, Tensor], batch: Batch) -> None:
    """From now on the site of such a module is the encoder's part of its keys."""
    for site, of_all in scores.items():
        if _sees_encoder_last(of_all, batch):
            network.get_submodule(site.where.partition("@")[0]).__dict__[_MERGED] = True


def is_merged(module: nn.Module) -> bool:
    return _MERGED in module.__dict__


def hidden_keys(module: nn.Module, query: Tensor) -> int:
    """How many keys at the start are not shown: a decoder's own tokens, one per query."""
    return query.shape[2] if is_merged(module) else 0


def _sees_encoder_last(scores: Float[Tensor, "example head query key"], batch: Batch) -> bool:
    """Whether the keys are a decoder's tokens and then the encoder's: the first query sees one and all of these."""
    size = batch.valid.shape[1]
    if scores.shape[2:] != (size, 2 * size):
        return False
    first = visible(scores)[:, :, 0]
    alone = torch.arange(size, device=first.device) == 0
    expected = torch.cat([alone.expand_as(batch.valid), batch.valid], dim=1)
    return torch.equal(first, expected[:, None].expand_as(first))


def beside(hidden: int, dim: int, whole: Tensor, send: Callable[[Tensor], Tensor]) -> Tensor:
    """Send all but the first few along an axis, and join both again: gradients must come from what was sent."""
    if not hidden:
        return send(whole)
    given = send(whole.narrow(dim, hidden, whole.shape[dim] - hidden))
    return torch.cat([spread(whole.narrow(dim, 0, hidden), given.shape[1]), given], dim)
