"""Batches of like length with so many tokens each, and one way of computing for all texts that are compared."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

from heatcheck.data import Batch, Example
from heatcheck.models.contract.subject import Subject

COPIES = 128  # of texts that a model reads together, if it does not count tokens


@runtime_checkable
class CountsTokens(Subject, Protocol):
    """A model that knows how many tokens it reads of a text, and how many it reads best at once."""

    @property
    def tokens_at_once(self) -> int: ...

    def lengths(self, examples: Sequence[Example]) -> list[int]: ...


@runtime_checkable
class HasKernels(Subject, Protocol):
    """A model that reads long texts in another way than short ones, with the same answers up to rounding."""

    def one_kernel(self, examples: Sequence[Example]) -> AbstractContextManager[None]: ...


def one_kernel(subject: Subject, examples: Sequence[Example]) -> AbstractContextManager[None]:
    """Within it these texts, and all that are made from them, are read in one way."""
    return subject.one_kernel(examples) if isinstance(subject, HasKernels) else nullcontext()


def with_tokens(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of texts, the shortest first; a batch has at most so many tokens with its padding, or a single text.

    >>> list(with_tokens([3, 1, 2, 9], 4))
    [[1, 2], [0], [3]]
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def at_once(subject: Subject, batch: Batch) -> int:
    """How many copies of a batch's texts, each with one change, a model reads well together."""
    if not isinstance(subject, CountsTokens):
        return COPIES
    return max(1, subject.tokens_at_once // batch.valid.shape[1])
