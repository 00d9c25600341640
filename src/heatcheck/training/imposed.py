"""Replaced attention weights, imposed during training and evaluation. A new kind is one line in IMPOSED.

What is drawn at random is drawn anew for each batch in training, from a generator that the training loop seeds for each
epoch: a run that was killed and resumed draws the same. In evaluation it depends on the example's id alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import (
    NO_EDITS,
    Edit,
    Edits,
    Site,
    Subject,
    log_odds_weights,
    readable_keys,
    require_layers,
    uniform_everywhere,
    uniform_weights,
    whole_model,
)


@runtime_checkable
class Parent(Protocol):
    """Who knows another model's weights for the examples of a batch (training/recorded.py)."""

    def weights_for(self, batch: Batch) -> Float[Tensor, "example head query key"]: ...


UNIFORM_EVERYWHERE: Facts = {"weights": "uniform", "sites": "all"}  # at every attention site, not the read-out alone
TINY = float(torch.finfo(torch.float32).tiny)
Given = Float[Tensor, "example head query key"]
Kind = Callable[[Subject, Batch, Parent | None], Edit]  # what is done to a model's own weights


@dataclass(frozen=True)
class Drawn:
    """An edit that is drawn at random: for all queries together, or anew for each step of a decoder."""

    draw: Callable[[Given, int], Given]

    def __call__(self, own: Given) -> Given:
        return self.draw(own, 0)

    def at_step(self, own: Given, step: int) -> Given:
        return self.draw(own, step)


def first_key(subject: Subject, batch: Batch) -> Float[Tensor, "example 1 1 key"]:
    """All the weight on the first key: a recurrent model that reads backwards, without attention."""
    readable = readable_keys(subject, batch)
    return (readable & (readable.cumsum(1) == 1)).float()[:, None, None]


def last_key(subject: Subject, batch: Batch) -> Float[Tensor, "example 1 1 key"]:
    """All the weight on the last key: a recurrent model without attention."""
    readable = readable_keys(subject, batch)
    return (readable & (readable.flip(1).cumsum(1).flip(1) == 1)).float()[:, None, None]


def of_parent(_: Subject, batch: Batch, parent: Parent | None) -> Edit:
    """Another model's weights for the same example."""
    if parent is None:
        raise BadInput("the recipe imposes the weights of a parent model, but no parent model was given.")
    return _instead(parent.weights_for(batch))


def permuted(subject: Subject, batch: Batch, _: Parent | None) -> Edit:
    """The model's own weights, dealt out anew among the keys."""
    readable = readable_keys(subject, batch)

    def deal(own: Given, step: int) -> Given:
        noise = _noise(subject, batch, readable, own, step).masked_fill(~readable[:, None, None], torch.inf)
        places = (~readable).to(torch.uint8).argsort(dim=1, stable=True)[:, None, None].expand_as(own)
        return torch.zeros_like(own).scatter(-1, places, own.gather(-1, noise.argsort(-1)))

    return Drawn(deal)


def random(subject: Subject, batch: Batch, _: Parent | None) -> Edit:
    """Weights that have nothing to do with the model: every point of the simplex is as likely."""
    readable = readable_keys(subject, batch)

    def draw(own: Given, step: int) -> Given:
        # Exponential variables over their sum; none is 0, or a text of one word might have no weight at all.
        drawn = (-torch.log1p(-_noise(subject, batch, readable, own, step))).clamp(min=TINY) * readable[:, None, None]
        return (drawn / drawn.sum(-1, keepdim=True)).to(own.dtype)

    return Drawn(draw)


def _noise(
    subject: Subject, batch: Batch, readable: Bool[Tensor, "example key"], own: Given, step: int
) -> Float[Tensor, "example head query key"]:
    """A number from 0 up to, but not, 1 for each weight."""
    if getattr(subject, "training", False):
        return torch.rand(own.shape, device=own.device, generator=getattr(subject, "generator", None))
    found = np.zeros(own.shape, dtype=np.float32)
    for row, (name, keys) in enumerate(zip(batch.ids, readable.cpu().numpy(), strict=True)):
        shape = (*own.shape[1:3], int(keys.sum()))
        found[row][..., keys] = stream(0, "imposed weights", name, *([step] if step else [])).random(
            shape, dtype=np.float32
        )
    return torch.from_numpy(found).to(own.device)


def _instead(weights: Float[Tensor, "example head query key"]) -> Edit:
    """Of one kind for every head and query, whatever the model's own are."""
    return lambda own: weights.to(own.dtype).expand_as(own)


def grouped(subject: Subject, batch: Batch, mark: str) -> Edits:
    """Hide marked tokens from the others and these from them, in every layer; only the read-out's token sees all.

    Nobody sees the read-out's token. This is the mask of Pruthi et al. for BERT: what a marked word says can then reach
    the answer only through that token's own rows.
    """
    layered = require_layers(subject, "the mask between marked and other words")
    if getattr(subject, "pools", False):
        raise NotSupported(f"{subject.id} reads its answer from all tokens; grouped weights need a single one.")
    marked = batch.marks.get(mark, torch.zeros_like(batch.scored)) & batch.scored
    row = torch.nn.functional.one_hot(layered.rows(batch), marked.shape[1]).bool()
    same = marked[:, :, None] == marked[:, None, :]  # [example query key]
    seen = ((same | row[:, :, None]) & ~row[:, None, :])[:, None]
    return {
        Site("score", site.where): lambda scores: scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
        for site in subject.sites
    }


GROUPED = "grouped"  # {"weights": "grouped", "mark": the mark that makes the groups}
IMPOSED: dict[str, Kind] = {
    "first": lambda subject, batch, _: _instead(first_key(subject, batch)),
    "last": lambda subject, batch, _: _instead(last_key(subject, batch)),
    "log_odds": lambda subject, batch, _: _instead(log_odds_weights(subject, batch)),
    "parent": of_parent,  # {"weights": "parent", "parent": its folder's name in the same store}
    "permuted": permuted,
    "random": random,
    "uniform": lambda subject, batch, _: _instead(uniform_weights(readable_keys(subject, batch))),
}


def imposed(subject: Subject, batch: Batch, facts: Facts | None, parent: Parent | None = None) -> Edits:
    """The edits of a recipe's `impose` for this batch: none, or one that gives the read-out other weights.

    `{"weights": "uniform", "sites": "all"}` gives every attention site uniform ones. With `{"weights": "grouped",
    "mark": …}`, marked words and others do not see each other (`grouped`).
    """
    if facts is None:
        return NO_EDITS
    check_imposed(facts)
    if facts["weights"] == GROUPED:
        return grouped(subject, batch, str(facts["mark"]))
    if "sites" in facts:
        return uniform_everywhere(whole_model(subject), batch)
    return {subject.sites[-1]: IMPOSED[facts["weights"]](subject, batch, parent)}


def check_imposed(facts: Facts) -> None:
    """Raise BadInput if a recipe's `impose` names no kind of weights, or says something else that cannot be."""
    kind = str(facts.get("weights"))
    if kind == GROUPED and "mark" not in facts:
        raise BadInput(f"{GROUPED} weights need a mark: name the words to hide from the others, with mark.")
    if kind not in (*IMPOSED, GROUPED):
        raise UnknownName("kind of imposed weights", kind, [*IMPOSED, GROUPED])
    if "sites" in facts and (kind, facts["sites"]) != ("uniform", "all"):
        raise BadInput(
            f"{kind} weights cannot be imposed at sites={facts['sites']!r}. Only uniform weights can, with sites='all'."
        )
