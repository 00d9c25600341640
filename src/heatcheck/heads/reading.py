"""A batch as a transformer reads it, layer by layer: the states between blocks are kept, so that any layer can restart.

A layer's weights and values are computed when they are asked for and held for one layer at a time: all layers of a long
text together would not fit into memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Edits, HasLayers, Site, visible
from heatcheck.models.contract.until import run_until


@dataclass(frozen=True)
class Heads:
    """The heads of one layer on a batch: where each looks, what it could read there, and what it reads."""

    weights: Float[Tensor, "example head query key"]
    values: Float[Tensor, "example head key feature"]
    context: Float[Tensor, "example head query feature"]
    allowed: Bool[Tensor, "example query key"]  # keys that a query may look at


class Reading:
    """One batch with its logits and the state behind every block but the last."""

    def __init__(self, subject: HasLayers, batch: Batch) -> None:
        self.subject, self.batch = subject, batch
        with torch.no_grad():
            run = subject.run(batch, want=subject.blocks[:-1])
        self.logits: Float[Tensor, "example decision label"] = run.logits
        self._states = [run.parts[block] for block in subject.blocks[:-1]]

    def start(self, layer: int, rows: Int[Tensor, " row"] | None = None) -> dict[Site, Tensor]:
        """Edits with which a pass over these examples begins at a layer; the first layer needs none."""
        if layer == 0:
            return {}
        state = self._states[layer - 1]
        return {self.subject.blocks[layer - 1]: state if rows is None else state[rows]}

    def heads(self, layer: int) -> Heads:
        """What the heads of a layer do; nothing behind their attention is computed."""
        where = self.subject.sites[layer].where
        held: dict[str, Tensor] = {}

        def keep(part: str) -> Any:
            def edit(own: Tensor) -> Tensor:
                held[part] = visible(own).any(1) if part == "score" else own
                return own

            return edit

        parts = ("score", "attention", "value")
        edits: Edits = {**self.start(layer), **{Site(part, where): keep(part) for part in parts}}  # type: ignore[arg-type]  # parts are literals
        with torch.no_grad():
            context = run_until(self.subject, self.batch, Site("context", where), edits=edits)
        return Heads(held["attention"], held["value"], context, held["score"])


def heads_of_layers(subject: HasLayers, batch: Batch) -> list[int]:
    """How many heads each layer has; most models have the same number in all."""
    found: list[int] = []

    def count(context: Tensor) -> Tensor:
        found.append(context.shape[1])
        return context

    with torch.no_grad():
        subject.run(batch, edits={Site("context", site.where): count for site in subject.sites})
    return found


def contexts(subject: HasLayers) -> Sequence[Site]:
    """Where the heads of each layer put what they read."""
    return [Site("context", site.where) for site in subject.sites]
