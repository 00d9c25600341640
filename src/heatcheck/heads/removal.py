"""Removes every head of a transformer, one at a time, and measures what that does to its answers. Exact.

The states between blocks are computed once, so a pass without a head of layer l begins at layer l. Heads of a layer are
removed in copies of the batch that are read together, as many as fit. This is about half the work of whole passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.heads.reading import Heads, Reading
from heatcheck.heads.reference import Reference
from heatcheck.heads.ways import WAYS, Replacements, require_ways
from heatcheck.models import Edits, HasLayers, Site, require_layers
from heatcheck.models.contract.direct_answers import answer_edited
from heatcheck.models.contract.lengths import at_once, in_one_way
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length

UNDECIDED = -100  # the gold label of a decision that does not count


class Answers(NamedTuple):
    """What a model says: the loss on each example in nats, and the share of its decisions that are right."""

    loss: Float[np.ndarray, "*removal example"]
    right: Float[np.ndarray, "*removal example"]
    moved: Float[np.ndarray, "*removal example"]  # total variation from the whole model's answer


@dataclass(frozen=True)
class Removed:
    """The whole model's answers, and for each way of removal the answers without each head.

    A layer with fewer heads than others has nan at the heads that it does not have.
    """

    ids: tuple[str, ...]
    whole: Answers  # [example]
    without: Mapping[str, Answers]  # by way: [layer head example]
    sink: Float[np.ndarray, "layer head example"]  # weight on marks and the first token, mean over queries

    def effect(self, way: str) -> Float[np.ndarray, "layer head example"]:
        """The loss that a head's removal adds, in nats."""
        return np.asarray(self.without[way].loss - self.whole.loss)


class Judge:
    """Scores logits on a batch: against gold labels, or without them against the whole model's own answers."""

    def __init__(self, batch: Batch, whole: Float[Tensor, "example decision label"]) -> None:
        self.logs = whole.double().log_softmax(-1)
        own = self.logs.argmax(-1)
        self.target: Int[Tensor, "example decision"] = own if batch.gold is None else batch.gold.to(own.device)
        self.counts = (self.target != UNDECIDED).double()

    def __call__(
        self, logits: Float[Tensor, "row decision label"], rows: Int[Tensor, " row"]
    ) -> Float[Tensor, "3 row"]:
        """Loss, share of right decisions and total variation, of these examples' logits."""
        logs, target, counts = logits.double().log_softmax(-1), self.target[rows], self.counts[rows]
        picked = logs.gather(-1, target.clamp(min=0)[..., None])[..., 0]
        right = (logs.argmax(-1) == target).double()
        moved = (logs.exp() - self.logs[rows].exp()).abs().sum(-1) / 2
        total = counts.sum(1).clamp(min=1)
        return torch.stack([(each * counts).sum(1) / total for each in (-picked, right, moved)])


@torch.no_grad()
def remove_each(
    subject: HasLayers,
    examples: Sequence[Example],
    reference: Reference | None,
    ways: Sequence[str] = tuple(WAYS),
    *,
    seed: int = 0,
) -> Removed:
    """The answers without each head.

    Args:
        reference: what heads do on other texts (`read_reference`); `zero` and `uniform` do without (None).
        ways: what takes the place of a head, names of WAYS.
        seed: chooses among other texts of the same length.

    Without gold labels on all examples, the loss is that of the label that the whole model predicts.
    """
    require_ways(ways)
    require_apart(examples, reference)
    examples = comparable(examples)
    subject = require_layers(in_one_way(subject, examples), "removing heads")

    def work(indices: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        chosen = [examples[i] for i in indices]
        reading = Reading(subject, subject.encode(chosen))
        judge = Judge(reading.batch, reading.logits)
        swaps = Replacements(reading, chosen, reference, ways, seed=seed)
        found, sinks = [], []
        for layer in range(len(subject.sites)):
            heads = reading.heads(layer)
            sinks.append(sink_mass(subject, reading.batch, heads))
            of_ways = [_without_each(reading, judge, layer, swaps.output(way, heads, layer)) for way in ways]
            found.append(torch.stack(of_ways))  # [way 3 head example]
        most = max(part.shape[2] for part in found)
        whole = judge(reading.logits, torch.arange(len(indices), device=reading.logits.device))
        return (
            whole,
            torch.stack([padded_heads(part, most) for part in found]),
            torch.stack([padded_heads(s, most) for s in sinks]),
        )

    parts = list(in_memory(batches_by_length(examples, 64, subject), work))
    order = np.argsort([place for indices, _ in parts for place in indices])
    whole, found, sinks = (
        np.concatenate([part[kind].cpu().numpy() for _, part in parts], axis=-1)[..., order] for kind in range(3)
    )
    return Removed(
        tuple(example.id for example in examples),
        Answers(*whole),
        {way: Answers(*found[:, number].swapaxes(0, 1)) for number, way in enumerate(ways)},
        sinks,
    )


def comparable(examples: Sequence[Example]) -> list[Example]:
    """The examples; without their labels if one has none, so that one loss is measured for all."""
    if not examples:
        raise BadInput("there are no examples to remove heads on. Give at least one.")
    if all(example.label is not None for example in examples):
        return list(examples)
    return [example.but(label=None) for example in examples]


def require_apart(examples: Sequence[Example], reference: Reference | None) -> None:
    """Refuse reference texts that are measured too: a head's mean would know the texts that it is compared on."""
    known = {example.id for example in reference.examples} if reference else set()
    for example in examples:
        if example.id in known:
            raise BadInput(f"example {example.id} is a reference text too. Give other reference texts.")


def _without_each(
    reading: Reading, judge: Judge, layer: int, new: Float[Tensor, "example head query feature"]
) -> Float[Tensor, "3 head example"]:
    """Scores without each head of a layer, whose output `new` replaces."""
    examples, heads = new.shape[:2]
    device = new.device
    found = []
    copies = torch.arange(heads * examples, device=device)
    for together in torch.split(copies, at_once(reading.subject, reading.batch)):
        head, row = together // examples, together % examples
        found.append(judge(_passes(reading, layer, head, row, new), row))
    return torch.cat(found, dim=1).reshape(3, heads, examples)


def _passes(
    reading: Reading,
    layer: int,
    head: Int[Tensor, " row"],
    row: Int[Tensor, " row"],
    new: Float[Tensor, "example head query feature"],
) -> Float[Tensor, "row decision label"]:
    """The logits of copies of examples, each without one head."""
    place = torch.arange(len(row), device=row.device)

    def replace_head(own: Float[Tensor, "row head query feature"]) -> Float[Tensor, "row head query feature"]:
        changed = own.clone()
        changed[place, head] = new[row, head].to(own.dtype)
        return changed

    subject = reading.subject
    context = Site("context", subject.sites[layer].where)
    ids = ("",) * len(row)
    edits: Edits = {**reading.start(layer, row), context: replace_head}
    return answer_edited(subject, reading.batch.take(row, ids), edits)


def sink_mass(subject: HasLayers, batch: Batch, heads: Heads) -> Float[Tensor, "head example"]:
    """The weight of each head on the first token and on the tokenizer's marks, mean over queries."""
    idle = torch.zeros_like(batch.valid)
    idle[:, 0] = True
    marks = getattr(getattr(subject, "tokenizer", None), "all_special_ids", [])
    if "input_ids" in batch.inputs:
        idle = idle | torch.isin(batch.inputs["input_ids"], torch.tensor(marks, device=idle.device))
    on_them = torch.einsum("ehqk,ek->ehq", heads.weights, (idle & batch.valid).to(heads.weights.dtype))
    real = batch.valid.to(on_them.dtype)
    return (torch.einsum("ehq,eq->he", on_them, real) / real.sum(1)).double()


def padded_heads(part: Float[Tensor, "*batch head example"], heads: int) -> Float[Tensor, "*batch item example"]:
    """With nan in place of heads that this layer does not have and another one has."""
    missing = heads - part.shape[-2]
    return torch.nn.functional.pad(part, (0, 0, 0, missing), value=torch.nan) if missing else part
