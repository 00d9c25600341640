"""What a model is trained for. A new loss is one function and one line in LOSSES."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, UnknownName
from heatcheck.models import Run, Site, Subject, log_odds_weights
from heatcheck.stats import jensen_shannon_nats


class Loss(NamedTuple):
    """What is minimised, a number an example; what it must see of a run, and what a recipe may change about it."""

    of: Callable[[Subject, Run, Batch, Facts], Float[Tensor, " example"]]
    wants: Callable[[Subject], Collection[Site]] = lambda _: ()
    settings: Mapping[str, float] = MappingProxyType({})  # with their defaults


def likelihood(_: Subject, run: Run, batch: Batch, facts: Facts) -> Float[Tensor, " example"]:
    """Negative log-likelihood in nats, a mean over an example's decisions; weighted by gold label if asked."""
    if batch.gold is None:
        raise BadInput("training needs a label for every example.")
    each = torch.nn.functional.cross_entropy(
        run.logits.transpose(1, 2), batch.gold, reduction="none", ignore_index=-100
    )  # [example decision]
    if (weight := facts.get("label_weight")) is not None:
        each = each * torch.tensor(weight, device=each.device)[batch.gold.clamp(min=0)]
    decisions: Tensor = (batch.gold != -100).sum(1).clamp(min=1)
    return each.sum(1) / decisions


def log_odds_regularised(subject: Subject, run: Run, batch: Batch, facts: Facts) -> Float[Tensor, " example"]:
    """Likelihood + strength · JSD(the model's weights, softmax of |log-odds|), a mean over heads and queries.

    Each example weighs its divergence like its likelihood, whatever the batch's size and whether it is summed or
    averaged over.
    """
    own = run.parts[subject.sites[-1]]  # [example head query key]
    target = log_odds_weights(subject, batch).to(own.dtype).expand_as(own)
    apart: Tensor = jensen_shannon_nats(own, target).mean((1, 2))
    strength: float = facts["strength"]
    return likelihood(subject, run, batch, facts) + strength * apart


def read_out(subject: Subject) -> tuple[Site, ...]:
    """The site whose weights are the heatmap."""
    return (subject.sites[-1],)


LOSSES: dict[str, Loss] = {
    "likelihood": Loss(likelihood),
    "log_odds_regularised": Loss(log_odds_regularised, read_out, MappingProxyType({"strength": 5.0})),
}


def plan_loss(loss: str | Mapping[str, Any]) -> dict[str, Any]:
    """A loss by name, or with changed settings, as a recipe keeps it.

    >>> plan_loss("log_odds_regularised")
    {'name': 'log_odds_regularised', 'strength': 5.0}
    >>> plan_loss({"name": "log_odds_regularised", "strength": "2"})
    {'name': 'log_odds_regularised', 'strength': 2.0}
    """
    facts = {"name": loss} if isinstance(loss, str) else dict(loss)
    name = str(facts.pop("name", "likelihood"))
    if name not in LOSSES:
        raise UnknownName("loss", name, LOSSES)
    planned: dict[str, Any] = {"name": name, **LOSSES[name].settings}
    for key, value in facts.items():
        if not LOSSES[name].settings:
            raise BadInput(f"the loss {name} has no settings, so no {key}.")
        if key not in LOSSES[name].settings:
            raise UnknownName(f"setting of the loss {name}", key, LOSSES[name].settings)
        try:
            planned[key] = float(value)
        except (TypeError, ValueError):
            raise BadInput(f"loss.{key} must be a number, not {value!r}.") from None
        if not 0 <= planned[key] < float("inf"):
            raise BadInput(f"loss.{key} must be at least 0, not {value!r}.")
    return planned
