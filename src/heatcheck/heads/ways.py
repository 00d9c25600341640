"""Five ways to remove a head, each of which asks another question.

`zero` and `mean` replace what a head hands on; `uniform`, `offset` and `other_text` replace where it looks, and it goes
on to read its own text there. All are outputs of the head in the end, because these are linear in its weights.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Example
from heatcheck.errors import BadInput, UnknownName
from heatcheck.heads.other_texts import align, choose_others, shapes, taken_from
from heatcheck.heads.reading import Heads, Reading
from heatcheck.heads.reference import Reference

WAYS = {
    "zero": "nothing in place of its output",
    "mean": "its mean output over other texts",
    "uniform": "equal weights on all tokens that it may look at",
    "offset": "its mean weights by distance between tokens, over other texts",
    "other_text": "its weights on another text of about the same length",
}
PATTERNS = ("uniform", "offset", "other_text")  # replace where a head looks
OF_OTHERS = ("mean", "offset", "other_text")  # need reference texts
NO_REFERENCE = Reference((), (), ())
Weights = Float[Tensor, "example head query key"]


def require_ways(ways: Sequence[str]) -> None:
    """Raise UnknownName for a way that there is not."""
    for way in ways:
        if way not in WAYS:
            raise UnknownName("way to remove a head", way, list(WAYS))


class Replacements:
    """What takes the place of each head's output on one batch, by layer and way."""

    def __init__(
        self,
        reading: Reading,
        examples: Sequence[Example],
        reference: Reference | None,
        ways: Sequence[str],
        *,
        seed: int,
    ) -> None:
        self.reading = reading
        for way in ways:
            if reference is None and way in OF_OTHERS:
                raise BadInput(f"the way {way!r} needs reference texts, and there are none. Give some.")
        self.reference = reference if reference is not None else NO_REFERENCE
        self._other: Reading | None = None
        self._place: Int[Tensor, "example token"] | None = None
        if "other_text" in ways:
            subject = reading.subject
            others = choose_others(subject, examples, self.reference.examples, seed=seed)
            self._other = Reading(subject, subject.encode(others))
            tokens = reading.batch.valid.shape[1]
            self._place = align(shapes(reading.batch), shapes(self._other.batch), tokens)

    def output(self, way: str, heads: Heads, layer: int) -> Float[Tensor, "example head query feature"]:
        """What each head of a layer hands on after its removal."""
        if way == "zero":
            return torch.zeros_like(heads.context)
        if way == "mean":
            return self.reference.mean[layer].to(heads.context)[None, :, None].expand_as(heads.context)
        return self.weights(way, heads.allowed, layer, heads.weights.shape[1]).to(heads.values) @ heads.values

    def weights(self, way: str, allowed: Bool[Tensor, "example query key"], layer: int, heads: int) -> Weights:
        """Where each head of a layer looks after its removal."""
        seen = allowed[:, None].expand(-1, heads, -1, -1)
        if way == "uniform":
            return normalised(torch.ones_like(seen, dtype=torch.float32), seen)
        if way == "offset":
            pattern = self.reference.by_offset[layer].pattern(allowed.shape[1])
            return normalised(pattern.to(allowed.device)[None].expand(len(allowed), -1, -1, -1), seen)
        assert self._other is not None
        assert self._place is not None
        return normalised(taken_from(self._other.heads(layer).weights, self._place), seen)


def normalised(weights: Weights, allowed: Bool[Tensor, "example head query key"]) -> Weights:
    """Weights on allowed keys alone, each row's sum 1; equal weights in a row that has none left.

    >>> normalised(torch.tensor([[[[0.2, 0.2, 0.6]]]]), torch.tensor([[[[True, True, False]]]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    kept = weights * allowed
    sums = kept.sum(-1, keepdim=True)
    even = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(sums > 0, kept / sums.clamp(min=torch.finfo(kept.dtype).tiny), even.to(kept.dtype))
