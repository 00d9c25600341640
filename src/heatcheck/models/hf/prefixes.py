"""Texts that begin alike, read together by a decoder: what they share is read once.

Each token of a decoder sees only what is before it. So the keys and values of a beginning are the same in every text
that begins so: a text without its tenth word shares nine with the whole text, and prompts share their instructions.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int
from torch import Tensor

from heatcheck.data import Batch

PASS = 32  # tokens that could be read in the time that another pass costs beside its tokens
LEAST = 8  # tokens of a beginning that is worth a pass of its own


def in_families(texts: Sequence[Sequence[int]], tokens: int) -> Iterator[list[int]]:
    """Places of texts in batches, so that as few tokens as possible are read; no batch has more than `tokens`.

    >>> list(in_families([[7] * 90 + [1], [5], [7] * 90 + [2, 2], [7] * 90 + [3]], 1024))
    [[1], [0, 2, 3]]
    """
    order = sorted(range(len(texts)), key=lambda place: list(texts[place]))
    shared = [0, *(_alike(texts[one], texts[two]) for one, two in itertools.pairwise(order))]
    # Where the last of the batches of the first texts begins, if those are read with the fewest tokens.
    least, begins = [0.0], [0]
    for end in range(1, len(order) + 1):
        best, start = np.inf, end - 1
        beginning, longest, every = len(texts[order[end - 1]]), 0, 0
        for first in range(end - 1, -1, -1):
            length = len(texts[order[first]])
            beginning = min(beginning, length - 1, shared[first + 1] if first + 1 < end else beginning)
            longest, every = max(longest, length), every + length
            count, once = end - first, beginning if beginning >= LEAST else 0
            if count > 1 and once + count * (longest - once) > tokens:
                break
            # Padding is read too; a beginning of its own is one more pass.
            cost = least[first] + PASS + count * (longest - once) + ((once + PASS) if once and count > 1 else once)
            if cost < best:
                best, start = cost, first
        least.append(best)
        begins.append(start)
    batches = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    yield from reversed(batches)


def common_beginning(batch: Batch, rows: Int[Tensor, " example"]) -> int:
    """How many tokens all texts of a batch begin with, all of them before the token that the answer is read from."""
    if len(batch) < 2:
        return 0
    ids = batch.inputs["input_ids"]
    same = (ids == ids[:1]).all(0) & batch.valid.all(0)
    if batch.masked is not None:
        same &= (batch.masked == batch.masked[:1]).all(0)
    found = int((~same).nonzero()[0]) if not bool(same.all()) else len(same)
    found = min(found, int(rows.min()))
    return found if found >= LEAST else 0


def _alike(one: Sequence[int], two: Sequence[int]) -> int:
    """How many tokens two texts begin with.

    >>> _alike([1, 2, 3], [1, 2, 4, 5])
    2
    """
    for place, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            return place
    return min(len(one), len(two))
