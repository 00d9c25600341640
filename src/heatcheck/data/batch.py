"""Encoded examples: a model's inputs, and what every check needs to know about their tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

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

    def take(self, rows: Int[Tensor, " example"], ids: tuple[str, ...], **tokens: int) -> "Batch":
        """These rows, whose ids are given, with so many tokens of each input: what stands behind them must be padding.

        `aligned` is left out: it has a second axis of tokens, which nothing here knows how to cut.
        """
        length = tokens["tokens"]

        def some(part: Tensor | None) -> Tensor | None:
            return None if part is None else part[rows]

        return replace(
            self,
            ids=ids,
            inputs={name: part[rows, : tokens[name]] for name, part in self.inputs.items()},
            valid=self.valid[rows, :length],
            scored=self.scored[rows, :length],
            word=self.word[rows, :length],
            gold=some(self.gold),
            marks={name: part[rows, :length] for name, part in self.marks.items()},
            options=some(self.options),
            aligned=None,
            masked=None if self.masked is None else self.masked[rows, :length],
        )
