"""Logits without each word, exactly, for less than reading the text again once a word.

What a word's absence does not change is worked out once and used again: an encoder knows what that is. Encoders speak
of *gaps* (runs of tokens that are left out, one gap at a time) and of *readings* (a linear map of a token's state: all
that attention and decoder need of it). They hand out, piece by piece, every reading that a gap leaves behind, either
the new one or the word that it is as in the whole text; so nothing of the size gaps x tokens x features ever exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models.subject import Subject


@dataclass(frozen=True)
class Without:
    """What is decided without one word each. `word` is -1 where nothing is left out, the whole text computed alike."""

    example: Int[Tensor, " gap"]
    word: Int[Tensor, " gap"]
    logits: Float[Tensor, "gap decision label"]


@runtime_checkable
class Erases(Subject, Protocol):
    """A subject with a short cut to its logits without each word."""

    def without_each(self, batch: Batch, *, tolerance: float = 0.0) -> Iterator[Without]:
        """Every whole text of the batch, and it without each word that has a token; a lone word is never left out.

        A few texts at a time, each with all its words, so that memory stays bounded. Exact up to rounding at tolerance
        0. Above, once no coordinate of the states behind a gap is further than that from the whole text's, the rest is
        taken over from there; encoders that carry no state along ignore it.
        """
        ...


@dataclass(frozen=True)
class Gaps:
    """Tokens `start` to `stop` (exclusive) of an example are left out, and nothing else at the same time."""

    example: Int[Tensor, " gap"]
    start: Int[Tensor, " gap"]
    stop: Int[Tensor, " gap"]

    def __len__(self) -> int:
        return len(self.start)


def word_gaps(scored: Bool[Tensor, "example token"], word: Int[Tensor, "example token"]) -> Gaps:
    """One gap for each word that has a token, in examples that have another: something must be left to attend to.

    >>> found = word_gaps(torch.ones(2, 3).bool(), torch.tensor([[0, 0, 2], [0, 0, 0]]))
    >>> found.example.tolist(), found.start.tolist(), found.stop.tolist()
    ([0, 0], [0, 2], [2, 3])
    """
    named = torch.where(scored, word, -1)
    first = scored & (named != torch.nn.functional.pad(named, (1, 0), value=-2)[:, :-1])
    last = scored & (named != torch.nn.functional.pad(named, (0, 1), value=-2)[:, 1:])
    several = (first.sum(1, keepdim=True) > 1).expand_as(first)
    example, start = (first & several).nonzero(as_tuple=True)
    _, end = (last & several).nonzero(as_tuple=True)
    return Gaps(example, start, end + 1)


def groups(valid: Bool[Tensor, "example token"], tokens: int) -> Iterator[Int[Tensor, " example"]]:
    """Examples of like length, so many that they have at most so many tokens with their padding, and at least one.

    >>> [rows.tolist() for rows in groups(torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0]]).bool(), 4)]
    [[1, 2], [0]]
    """
    order = valid.sum(1).argsort(stable=True)
    lengths = valid.sum(1)[order].tolist()
    first = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (end + 1 - first) * lengths[end] > tokens:
            yield order[first:end]
            first = end


class Changed(NamedTuple):
    """New readings of tokens of some gaps, `present` where there is a token; good until the next piece is asked for."""

    gap: Int[Tensor, " gap"]
    readings: Float[Tensor, "gap token column"]
    present: Bool[Tensor, "gap token"] | None = None


class Same(NamedTuple):
    """With these gaps, all tokens before (or from) a token on read as they do in the whole text."""

    gap: Int[Tensor, " gap"]
    side: Literal["before", "from"]
    token: Int[Tensor, " gap"]


Piece: TypeAlias = Changed | Same
Reread: TypeAlias = tuple[Tensor, Iterator[Piece]]  # readings of the whole texts [example token column], then pieces
