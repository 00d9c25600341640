"""Exact logits without each word, cheaper than encoding the text again for every word that is left out.

The parts that a word's absence does not change are computed once and reused; each encoder knows which parts those are.
Encoders work with *gaps* (runs of left-out tokens, one gap at a time) and *readings* (a linear map of a token's state,
which is all that attention and decoder need). For each gap they return every remaining reading, piece by piece: either
the new one, or a note that it is the same as in the whole text. So no array of size gaps x tokens x features exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models.contract.subject import Subject


@dataclass(frozen=True)
class Without:
    """Logits without one word each. `word` is -1 for the whole text, computed the same way."""

    example: Int[Tensor, " gap"]
    word: Int[Tensor, " gap"]
    logits: Float[Tensor, "gap decision label"]


@runtime_checkable
class Erases(Subject, Protocol):
    """A model with a shortcut to its logits without each word."""

    def without_each(self, batch: Batch, *, tolerance: float = 0.0) -> Iterator[Without]:
        """Logits of every whole text of the batch and of it without each word that has a token; a lone word stays.

        A few texts are processed at a time, each with all its words, so that memory stays bounded. At tolerance 0 the
        result is exact up to rounding. Above 0, once all states after a gap are within the tolerance of those of the
        whole text, the rest is copied from there. Encoders that carry no state along ignore the tolerance.
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
