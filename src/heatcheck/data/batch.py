"""Encoded examples: a model's inputs, and what every check needs to know about their tokens."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Examples as one model encodes them.

    The encoder reads `valid` tokens. Only `scored` tokens get a score: no padding, no start or end mark, no question.
    `word` is the number of the word that a token belongs to, or -1. `gold` is -100 if there is nothing to decide.
    `options` are the labels that each example may have; None allows all. `aligned` are the tokens that the data links
    to each target word; None means no links. `masked` tokens replace a hidden word; None means that no word is hidden.
    """

    ids: tuple[str, ...]  # imposed weights, caches and random streams are keyed by these
    inputs: Mapping[str, Tensor]
    valid: Bool[Tensor, "example token"]
    scored: Bool[Tensor, "example token"]
    word: Int[Tensor, "example token"]
    gold: Int[Tensor, "example decision"] | None
    marks: Mapping[str, Bool[Tensor, "example token"]]
    options: Bool[Tensor, "example label"] | None = None
    aligned: Bool[Tensor, "example decision token"] | None = None
    masked: Bool[Tensor, "example token"] | None = None

    def __len__(self) -> int:
        return len(self.ids)
