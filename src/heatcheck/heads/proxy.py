"""Estimates what each head's removal does from one gradient, and how far off these estimates are.

To first order the loss without a head changes by ⟨new output − own output, ∂loss/∂output⟩. One backward pass gives the
slope at the outputs of all heads, so it serves every head and every way of removal. Michel et al. 2019 rank heads by
the size of this number for `zero`, which is the gradient of a gate on the head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Example
from heatcheck.heads.reading import Reading, contexts
from heatcheck.heads.reference import Reference
from heatcheck.heads.removal import UNDECIDED, comparable, padded_heads, require_apart
from heatcheck.heads.ways import WAYS, Replacements, require_ways
from heatcheck.models import HasLayers, Run, differentiate, require_layers
from heatcheck.models.contract.lengths import in_one_way
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length

Each = Float[np.ndarray, "layer head example"]
THERE_AND_BACK = 3  # a batch's states are all kept for the way back


@dataclass(frozen=True)
class Estimated:
    """For each way of removal, the loss that it would add to first order, in nats; and Michel's importance."""

    ids: tuple[str, ...]
    effects: Mapping[str, Each]
    importance: Each  # |∂loss/∂gate| of each example


def estimate_each(
    subject: HasLayers,
    examples: Sequence[Example],
    reference: Reference | None,
    ways: Sequence[str] = tuple(WAYS),
    *,
    absolute: Literal["example", "token"] = "example",
    seed: int = 0,
) -> Estimated:
    """Estimate the effect of removing each head, from one forward and one backward pass per example.

    Args:
        reference: what heads do on other texts; None if no way needs it.
        absolute: where the importance loses its sign: after the sum over an example's tokens (the paper's formula), or
            at each token (its code).
    """
    require_ways(ways)
    require_apart(examples, reference)
    examples = comparable(examples)
    subject = require_layers(in_one_way(subject, examples), "removing heads")

    def work(indices: list[int]) -> tuple[Tensor, Tensor]:
        chosen = [examples[i] for i in indices]
        reading = Reading(subject, subject.encode(chosen))
        target = reading.logits.argmax(-1) if reading.batch.gold is None else reading.batch.gold
        sites = contexts(subject)
        slopes = differentiate(subject, reading.batch, sites, lambda run: losses(run, target))
        swaps = Replacements(reading, chosen, reference, ways, seed=seed)
        found, importance = [], []
        for layer, site in enumerate(sites):
            heads, slope = reading.heads(layer), slopes[site].double()
            own = heads.context.double()
            changes = [swaps.output(way, heads, layer).double() - own for way in ways]
            products = [torch.einsum("ehqf,ehqf->he", change, slope) for change in changes]
            found.append(torch.stack(products) if products else slope.new_zeros(0, own.shape[1], len(own)))
            of_tokens = torch.einsum("ehqf,ehqf->heq", own, slope)
            summed = of_tokens.sum(-1).abs() if absolute == "example" else of_tokens.abs().sum(-1)
            importance.append(summed)
        most = max(part.shape[0] for part in importance)
        whole = torch.stack([padded_heads(part, most) for part in found])
        return whole, torch.stack([padded_heads(part, most) for part in importance])

    parts = list(in_memory(batches_by_length(examples, 64, subject, times=THERE_AND_BACK), work))
    order = np.argsort([place for indices, _ in parts for place in indices])
    effects, importances = (
        np.concatenate([part[kind].detach().cpu().numpy() for _, part in parts], axis=-1)[..., order]
        for kind in range(2)
    )
    by_way = {way: effects[:, number] for number, way in enumerate(ways)}
    return Estimated(tuple(example.id for example in examples), by_way, importances)


def losses(run: Run, target: Int[Tensor, "example decision"]) -> Float[Tensor, " example"]:
    """The loss on each example in nats, mean over its decisions."""
    counts = (target != UNDECIDED).to(run.logits.dtype)
    picked = run.logits.log_softmax(-1).gather(-1, target.clamp(min=0)[..., None])[..., 0]
    return -(picked * counts).sum(1) / counts.sum(1).clamp(min=1)
