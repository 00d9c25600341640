"""Batches of like length with so many tokens each, and one way of computing for all texts that are compared."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from heatcheck.data import Batch, Example
from heatcheck.errors import BadInput
from heatcheck.models.contract.subject import Subject

COPIES = 128  # of texts that a model reads together, if it does not count tokens


@runtime_checkable
class CountsTokens(Subject, Protocol):
    """A model that knows how many tokens it reads of a text, and how many it reads best at once."""

    @property
    def tokens_at_once(self) -> int: ...

    def lengths(self, examples: Sequence[Example]) -> list[int]: ...


@runtime_checkable
class HasWindow(Subject, Protocol):
    """A model that reads so many tokens at once, `longest`, and of a longer text the beginning (`cuts`) or nothing."""

    longest: int
    cuts: bool

    def too_long(self, examples: Sequence[Example]) -> dict[int, int]:
        """The places of longer texts, and how many tokens each has."""
        ...


@runtime_checkable
class GoesOn(Subject, Protocol):
    """A language model, whose answer stands directly behind the text or its prompt."""

    def joined(self, examples: Sequence[Example]) -> dict[int, str]:
        """The places of texts whose end becomes one token with an answer, and that answer."""
        ...


TOO_LONG = "too long for the model"
JOINED = "one token with an answer"


def texts_that_fit(subject: Subject, examples: Sequence[Example]) -> list[Example]:
    """The examples that a model can read; raises BadInput if there are none. A model that cuts texts reads them all."""
    if not isinstance(subject, HasWindow) or subject.cuts:
        return list(examples)
    found = subject.too_long(examples)
    if examples and len(found) == len(examples):
        raise BadInput(
            f"every text is too long: with the prompt the shortest has {min(found.values()):,} tokens, and the model "
            f"reads {subject.longest:,}. Shorten the prompt, or choose shorter texts."
        )
    return [example for place, example in enumerate(examples) if place not in found]


def texts_apart(subject: Subject, examples: Sequence[Example]) -> list[Example]:
    """The examples that stay apart from a language model's answers; raises BadInput if there are none."""
    found = subject.joined(examples) if isinstance(subject, GoesOn) else {}
    if found and len(found) == len(examples):
        raise BadInput(
            f"the end of every text becomes one token with the answer {found[0]!r}. End the prompt with words after "
            "{text}, or move the space before the answer."
        )
    return [example for place, example in enumerate(examples) if place not in found]


def say_cut(subject: Subject, examples: Sequence[Example]) -> str:
    """What a reader must know of texts that the model does not read to their end; empty if there are none."""
    if not (isinstance(subject, HasWindow) and subject.cuts):
        return ""
    found = subject.too_long(examples)
    if not found:
        return ""
    whose = "The text has" if len(examples) == 1 else f"{len(found):,} of {len(examples):,} texts have"
    tokens = f"{max(found.values()):,} tokens" if len(found) == 1 else f"up to {max(found.values()):,} tokens"
    return (
        f"{whose} {tokens}, and the model reads {subject.longest:,}. heatcheck cut off the words after that; they have "
        "no score."
    )


@runtime_checkable
class HasKernels(Subject, Protocol):
    """A model that reads long texts in another way than short ones, with the same answers up to rounding."""

    def in_one_way(self, examples: Sequence[Example]) -> Subject: ...


def in_one_way(subject: Subject, examples: Sequence[Example]) -> Subject:
    """The model, which reads these texts, and all that are made from them, in one way."""
    return subject.in_one_way(examples) if isinstance(subject, HasKernels) else subject


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
