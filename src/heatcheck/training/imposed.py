"""Weights put in place of a model's own during training and evaluation. A new kind is one line in IMPOSED."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import UnknownName
from heatcheck.models import NO_EDITS, Edits, Site, Subject, log_odds_weights, uniform_weights

Weights = Callable[[Subject, Batch], Float[Tensor, "example 1 1 key"]]


IMPOSED: dict[str, Weights] = {
    "log_odds": log_odds_weights,
    "uniform": lambda _, batch: uniform_weights(batch.scored),
}


def imposed(subject: Subject, batch: Batch, facts: Facts | None) -> Edits:
    """The edits of a recipe's `impose` for this batch: none, or one kind of weights for every head and query."""
    if facts is None:
        return NO_EDITS
    weights = find_imposed(facts)(subject, batch)
    site: Site = subject.sites[-1]
    return {site: lambda own: weights.to(own.dtype).expand_as(own)}


def find_imposed(facts: Facts) -> Weights:
    """What makes the weights of a recipe's `impose`, by name."""
    kind = str(facts.get("weights"))
    if kind not in IMPOSED:
        raise UnknownName("kind of imposed weights", kind, IMPOSED)
    return IMPOSED[kind]
