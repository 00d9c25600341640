"""Removes several heads at once, of any layers, and measures the answers of what is left."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Example
from heatcheck.heads.reading import Reading
from heatcheck.heads.reference import Reference
from heatcheck.heads.removal import Answers, Judge, comparable, require_apart
from heatcheck.heads.ways import PATTERNS, Replacements, require_ways
from heatcheck.models import Edit, Edits, HasLayers, Site, require_layers
from heatcheck.models.contract.direct_answers import answer_edited
from heatcheck.models.contract.lengths import at_once, in_one_way
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length


@torch.no_grad()
def remove_sets(
    subject: HasLayers,
    examples: Sequence[Example],
    sets: Bool[np.ndarray, "draw layer head"],
    reference: Reference | None,
    way: str = "zero",
    *,
    seed: int = 0,
) -> Answers:
    """The answers without each set of heads, [draw example]; every pass begins at the set's lowest layer.

    Args:
        sets: True for a head that is removed.
    """
    require_ways([way])
    require_apart(examples, reference)
    examples = comparable(examples)
    subject = require_layers(in_one_way(subject, examples), "removing heads")
    lowest = [int(np.flatnonzero(one.any(1))[0]) if one.any() else len(subject.sites) for one in sets]

    def work(indices: list[int]) -> Tensor:
        chosen = [examples[i] for i in indices]
        reading = Reading(subject, subject.encode(chosen))
        judge = Judge(reading.batch, reading.logits)
        swaps = Replacements(reading, chosen, reference, [way], seed=seed)
        device = reading.logits.device
        gone = torch.from_numpy(sets).to(device)
        everyone = torch.arange(len(indices), device=device)
        found: dict[int, Tensor] = {}
        for first in sorted(set(lowest)):
            same = [number for number, layer in enumerate(lowest) if layer == first]
            if first == len(subject.sites):
                found |= dict.fromkeys(same, judge(reading.logits, everyone))
                continue
            new = _Edits(reading, swaps, way, first)
            numbers = torch.tensor(same, device=device)
            copies = torch.arange(len(same) * len(indices), device=device)
            parts = []
            for together in torch.split(copies, at_once(subject, reading.batch)):
                row, number = together % len(indices), numbers[together // len(indices)]
                edits = new.of(gone[number], row)
                batch = reading.batch.take(row, ("",) * len(row))
                parts.append(judge(answer_edited(subject, batch, edits), row))
            whole = torch.cat(parts, dim=1).reshape(3, len(same), len(indices))
            found |= {number: whole[:, place] for place, number in enumerate(same)}
        return torch.stack([found[number] for number in range(len(sets))], dim=1)

    parts = list(in_memory(batches_by_length(examples, 64, subject), work))
    order = np.argsort([place for indices, _ in parts for place in indices])
    return Answers(*np.concatenate([part.cpu().numpy() for _, part in parts], axis=-1)[..., order])


class _Edits:
    """What takes the place of heads from some layer on; patterns are those of the texts as they are."""

    def __init__(self, reading: Reading, swaps: Replacements, way: str, first: int) -> None:
        self.reading, self.first, self.way = reading, first, way
        self.by_layer: list[Tensor] = []
        for layer in range(first, len(reading.subject.sites)):
            heads = reading.heads(layer)
            patterns = way in PATTERNS
            count = heads.weights.shape[1]
            of = swaps.weights(way, heads.allowed, layer, count) if patterns else swaps.output(way, heads, layer)
            self.by_layer.append(of)

    def of(self, gone: Bool[Tensor, "row layer head"], row: Int[Tensor, " row"]) -> Edits:
        """Edits of copies of examples, each without its own heads."""
        subject = self.reading.subject
        edits: dict[Site, Edit] = dict(self.reading.start(self.first, row))
        for layer, new in enumerate(self.by_layer, start=self.first):
            part = subject.sites[layer] if self.way in PATTERNS else Site("context", subject.sites[layer].where)
            edits[part] = _replacing(gone[:, layer], new, row)
        return edits


def _replacing(
    gone: Bool[Tensor, "row head"], new: Float[Tensor, "example head query *batch"], row: Int[Tensor, " row"]
) -> Edit:
    def edit(own: Float[Tensor, "row head query *batch"]) -> Float[Tensor, "row head query *batch"]:
        of_layer = gone[:, : own.shape[1], None, None]
        return torch.where(of_layer, new[row].to(own.dtype), own)

    return edit
