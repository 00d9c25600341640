"""What heads do on average, on other texts than those that are measured: mean output, mean weight at each offset."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models import HasLayers, Site, visible
from heatcheck.models.contract.memory import in_memory
from heatcheck.models.contract.subject import Reduce
from heatcheck.training import batches_by_length


@dataclass(frozen=True)
class ByOffset:
    """A head's mean weight on the key so many tokens before the query; `first` is the smallest offset that was seen."""

    weights: Float[Tensor, "head offset"]
    first: int

    def pattern(self, queries: int) -> Float[Tensor, "head query key"]:
        """Unnormalised weights for a text of this length; beyond the offsets that were seen, the outermost one's."""
        place = torch.arange(queries, device=self.weights.device)
        offset = place[:, None] - place[None] - self.first
        return self.weights[:, offset.clamp(0, self.weights.shape[1] - 1)]


@dataclass(frozen=True)
class Reference:
    """Texts that stand for all others, and what each head does on them."""

    examples: tuple[Example, ...]
    mean: tuple[Float[Tensor, "head feature"], ...]  # by layer: the mean output over texts and tokens
    by_offset: tuple[ByOffset, ...]  # by layer


def read_reference(subject: HasLayers, examples: Sequence[Example]) -> Reference:
    """Read the reference texts once; nothing but sums is kept of them."""
    if not examples:
        raise BadInput("heads need reference texts to know what they do on average. Give at least one other text.")
    layers = len(subject.sites)
    total: list[Tensor | float] = [0.0] * layers
    tokens = 0
    sums: list[_OffsetSums] = [_OffsetSums() for _ in range(layers)]

    def read(indices: list[int]) -> tuple[int, list[Tensor], list[tuple[Tensor, Tensor]]]:
        batch = subject.encode([examples[i] for i in indices])
        want = {}
        for site in subject.sites:
            want[Site("context", site.where)] = _summed(batch)
            want[site] = _by_offset(batch)
            want[Site("score", site.where)] = _counted(batch)
        with torch.no_grad():
            parts = subject.run(batch, want=want).parts
        outputs = [parts[Site("context", site.where)] for site in subject.sites]
        offsets = [(parts[site], parts[Site("score", site.where)]) for site in subject.sites]
        return int(batch.valid.sum()), outputs, offsets

    for _, (count, outputs, offsets) in in_memory(batches_by_length(examples, 64, subject), read):
        tokens += count
        for layer in range(layers):
            total[layer] = total[layer] + outputs[layer]
            sums[layer].add(*offsets[layer])
    means = [torch.as_tensor(found / tokens) for found in total]
    return Reference(tuple(examples), tuple(means), tuple(of_layer.mean() for of_layer in sums))


class _OffsetSums:
    """Sums of weights and counts of keys by offset, over batches of different lengths."""

    def __init__(self) -> None:
        self.weights: Tensor | None = None
        self.counts: Tensor | None = None

    def add(self, weights: Float[Tensor, "head offset"], counts: Float[Tensor, " offset"]) -> None:
        """Add a batch's sums, whose middle is offset 0."""
        if self.weights is None or self.counts is None:
            self.weights, self.counts = weights, counts
            return
        reach = max(len(self.counts), len(counts))
        self.weights = _widened(self.weights, reach) + _widened(weights, reach)
        self.counts = _widened(self.counts, reach) + _widened(counts, reach)

    def mean(self) -> ByOffset:
        assert self.weights is not None
        assert self.counts is not None
        seen = self.counts.nonzero()[:, 0]
        low, high = int(seen[0]), int(seen[-1])
        mean = self.weights[:, low : high + 1] / self.counts[low : high + 1].clamp(min=1)
        return ByOffset(mean.float(), low - len(self.counts) // 2)


def _widened(sums: Float[Tensor, "*head offset"], reach: int) -> Float[Tensor, "*head item"]:
    side = (reach - sums.shape[-1]) // 2
    return torch.nn.functional.pad(sums, (side, side))


def _summed(batch: Batch) -> Reduce:
    def reduce(context: Float[Tensor, "example head query feature"]) -> Float[Tensor, "head feature"]:
        return torch.einsum("ehqf,eq->hf", context.double(), batch.valid.to(context.device).double())

    return reduce


def _by_offset(batch: Batch) -> Reduce:
    def reduce(weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "head offset"]:
        real = batch.valid.to(weights.device).to(weights.dtype)
        return _added_up(torch.einsum("ehqk,eq->hqk", weights, real).double())

    return reduce


def _counted(batch: Batch) -> Reduce:
    def reduce(scores: Float[Tensor, "example head query key"]) -> Float[Tensor, " offset"]:
        seen = visible(scores).any(1) & batch.valid.to(scores.device)[:, :, None]
        return _added_up(seen.sum(0)[None].double())[0]

    return reduce


def _added_up(maps: Float[Tensor, "head query key"]) -> Float[Tensor, "head offset"]:
    """Sums along diagonals: offset 0 in the middle."""
    tokens = maps.shape[-1]
    place = torch.arange(tokens, device=maps.device)
    offset = (place[:, None] - place[None] + tokens - 1).flatten()
    return maps.new_zeros(len(maps), 2 * tokens - 1).index_add(1, offset, maps.flatten(1))
