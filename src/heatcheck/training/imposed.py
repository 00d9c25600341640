"""Weights put in place of a model's own during training and evaluation. A new kind is one line in IMPOSED."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import NO_EDITS, Edits, Site, Subject, log_odds_weights, uniform_weights


@runtime_checkable
class Parent(Protocol):
    """Who knows another model's weights for the examples of a batch (training/recorded.py)."""

    def weights_for(self, batch: Batch) -> Float[Tensor, "example head query key"]: ...


Weights = Callable[[Subject, Batch, Parent | None], Float[Tensor, "example head query key"]]


def last_token(_: Subject, batch: Batch, __: Parent | None) -> Float[Tensor, "example 1 1 key"]:
    """All the weight on the last scored token: a recurrent model without attention."""
    places = torch.arange(batch.scored.shape[1], device=batch.scored.device)
    last = (batch.scored * places).amax(1, keepdim=True)
    return (places == last).float()[:, None, None]


def of_parent(_: Subject, batch: Batch, parent: Parent | None) -> Float[Tensor, "example head query key"]:
    """Another model's weights, frozen an example."""
    if parent is None:
        raise BadInput("weights of a parent are imposed, and no parent is here.")
    return parent.weights_for(batch)


IMPOSED: dict[str, Weights] = {
    "last": last_token,
    "log_odds": lambda subject, batch, _: log_odds_weights(subject, batch),
    "parent": of_parent,  # {"weights": "parent", "parent": its folder's name in the same store}
    "uniform": lambda _, batch, __: uniform_weights(batch.scored),
}


def imposed(subject: Subject, batch: Batch, facts: Facts | None, parent: Parent | None = None) -> Edits:
    """The edits of a recipe's `impose` for this batch: none, or one kind of weights for every head and query."""
    if facts is None:
        return NO_EDITS
    weights = find_imposed(facts)(subject, batch, parent)
    site: Site = subject.sites[-1]
    return {site: lambda own: weights.to(own.dtype).expand_as(own)}


def find_imposed(facts: Facts) -> Weights:
    """What makes the weights of a recipe's `impose`, by name."""
    kind = str(facts.get("weights"))
    if kind not in IMPOSED:
        raise UnknownName("kind of imposed weights", kind, IMPOSED)
    return IMPOSED[kind]
