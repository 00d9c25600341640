"""Weights put in place of a model's own during training and evaluation."""

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import UnknownName
from heatcheck.models import NO_EDITS, Edits, Site, Subject, uniform_weights


def imposed(subject: Subject, batch: Batch, facts: Facts | None) -> Edits:
    """The edits of a recipe's `impose` for this batch: none, or the same weight for every token."""
    if facts is None:
        return NO_EDITS
    if facts["weights"] != "uniform":
        raise UnknownName("kind of imposed weights", str(facts["weights"]), ["uniform"])
    site: Site = subject.sites[-1]
    weights = uniform_weights(batch.scored)
    return {site: lambda own: weights.to(own.dtype).expand_as(own)}
