"""Encoded examples: a model's inputs, and what every check needs to know about their tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
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

    def take(self, rows: Int[Tensor, " example"], ids: tuple[str, ...] | None = None, **tokens: int) -> "Batch":
        """These examples, as often as each is named; with `tokens`, so many tokens of each input.

        What stands behind these tokens must be padding. `aligned` is then left out: it has a second axis of tokens,
        which nothing here knows how to cut.

        Args:
            rows: numbers of examples.
            ids: their ids, if they are known without asking a GPU for the numbers.
            tokens: how many to keep of each input, by name; `tokens` for all that belongs to the text.
        """
        length = tokens.get("tokens")

        def some(part: Tensor | None) -> Tensor | None:
            return None if part is None else part[rows]

        return replace(
            self,
            ids=tuple(self.ids[row] for row in rows.tolist()) if ids is None else ids,
            inputs={name: part[rows, : tokens.get(name)] for name, part in self.inputs.items()},
            valid=self.valid[rows, :length],
            scored=self.scored[rows, :length],
            word=self.word[rows, :length],
            gold=some(self.gold),
            marks={name: part[rows, :length] for name, part in self.marks.items()},
            options=some(self.options),
            aligned=some(self.aligned) if length is None else None,
            masked=None if self.masked is None else self.masked[rows, :length],
        )

    def repeat(self, times: int) -> "Batch":
        """The whole batch so many times over."""
        return self.take(torch.arange(len(self), device=self.valid.device).repeat(times), self.ids * times)

    def after(self, tokens: int) -> "Batch":
        """The batch without its first tokens."""
        return self._of_tokens(lambda part: part[:, tokens:])

    def at(self, tokens: Int[Tensor, " example"]) -> "Batch":
        """The batch with one token left of each example."""
        return self._of_tokens(lambda part: part.gather(1, tokens[:, None]))

    def _of_tokens(self, cut: Callable[[Tensor], Tensor]) -> "Batch":
        return replace(
            self,
            inputs={name: cut(part) for name, part in self.inputs.items()},
            valid=cut(self.valid),
            scored=cut(self.scored),
            word=cut(self.word),
            marks={},
            aligned=None,
            masked=None if self.masked is None else cut(self.masked),
        )
