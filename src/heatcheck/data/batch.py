"""What a subject makes of examples: its own inputs, and what every check needs to know about their tokens."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Examples as one subject reads them.

    `valid` tokens are read by the encoder; `scored` ones get a score (no padding, no start or end mark, no
    question). `word` says which word of the text a token belongs to, -1 for none. `gold` is -100 where there
    is nothing to decide. `options` are the labels each example may have; None = any. `aligned` are the tokens that the
    data links to each word to be written; None = it links none. `masked` tokens stand in the place of a hidden word;
    None = no word is hidden.
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
