"""Batches that shrink when memory runs out: a batch that does not fit is halved and tried again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import torch

from heatcheck.engine import check_time
from heatcheck.errors import BadInput
from heatcheck.models.contract.response import Logits, Response, Weights

T = TypeVar("T")
Found = TypeVar("Found")


def in_memory(batches: Iterable[Sequence[T]], work: Callable[[list[T]], Found]) -> Iterator[tuple[list[T], Found]]:
    """Apply `work` to each batch, or to halves (or quarters …) of one that does not fit, in order.

    Later batches start at the size that did fit. A single item that does not fit raises BadInput.

    >>> [(part, sum(part)) for part, _ in in_memory([[1, 2], [3]], list)]
    [([1, 2], 3), ([3], 3)]
    """
    most: int | None = None  # as many as fit, once some did not
    for batch in batches:
        waiting = [list(batch)]
        while waiting:
            part = waiting.pop()
            if most is not None and len(part) > most:
                waiting += [part[most:], part[:most]]
                continue
            check_time()
            found = _tried(work, part)
            if found is not None:
                yield part, found[0]
                continue
            if len(part) == 1:
                raise BadInput(
                    "a single text does not fit into memory: leave out long texts, or use a device with more "
                    "memory (--device cpu)."
                )
            most = (len(part) + 1) // 2
            waiting.append(part)


def shrinking(response: Response) -> Response:
    """The same response, which computes logits for fewer sets of weights at a time if memory runs out."""

    def logits(weights: Weights) -> Logits:
        def of(draws: list[int]) -> Logits:
            return response.logits(weights[:, draws[0] : draws[-1] + 1])

        parts = [found for _, found in in_memory([range(weights.shape[1])], of)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    return replace(response, logits=logits)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether GPU memory or the machine's memory ran out; torch has no exception for the latter."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        words in str(error) for words in ("can't allocate memory", "out of memory")
    )


def _tried(work: Callable[[list[T]], Found], part: list[T]) -> tuple[Found] | None:
    """Results, or None if memory ran out; then free what can be freed."""
    try:
        return (work(part),)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
    # Only here: an exception at hand keeps alive the tensors of every frame it passed.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None
