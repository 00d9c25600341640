"""For each text another one whose attention patterns can take the place of its own, token by token.

The other text is one of the reference texts, of the same length where there is one. Marks and the prompt before and
behind the words stay aligned with each other. Of a longer text the middle is skipped; of a shorter one it is repeated.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import Subject


class Shape(NamedTuple):
    """Tokens before the words, of the words, and behind them."""

    before: int
    words: int
    behind: int


def shapes(batch: Batch) -> list[Shape]:
    """The shape of each example; one without a scored token is all words."""
    found = []
    for valid, scored in zip(batch.valid.tolist(), batch.scored.tolist(), strict=True):
        tokens = [place for place, real in enumerate(valid) if real]
        words = [place for place in tokens if scored[place]] or tokens
        found.append(Shape(words[0], words[-1] - words[0] + 1, tokens[-1] - words[-1]))
    return found


def choose_others(
    subject: Subject, examples: Sequence[Example], others: Sequence[Example], *, seed: int
) -> list[Example]:
    """For each example another text: the nearest in length, rather a longer one; among several a random one."""
    own = _all_shapes(subject, examples)
    candidates = _all_shapes(subject, others)
    found = []
    for example, shape in zip(examples, own, strict=True):
        different = [place for place, other in enumerate(others) if other.texts != example.texts]
        if not different:
            raise BadInput(f"example {example.id}: no reference text differs from it. Give other reference texts.")
        costs = [_cost(shape, candidates[place]) for place in different]
        nearest = [place for place, cost in zip(different, costs, strict=True) if cost == min(costs)]
        found.append(others[nearest[int(stream(seed, "other text", example.id).integers(len(nearest)))]])
    return found


def _cost(own: Shape, other: Shape) -> tuple[int, bool]:
    apart = sum(abs(a - b) for a, b in zip(own, other, strict=True))
    return apart, other.words < own.words


def _all_shapes(subject: Subject, examples: Sequence[Example]) -> list[Shape]:
    return [
        shape for start in range(0, len(examples), 64) for shape in shapes(subject.encode(examples[start : start + 64]))
    ]


def align(own: Sequence[Shape], other: Sequence[Shape], tokens: int) -> Int[Tensor, "example token"]:
    """The token of the other text that each token stands for; padding stands for token 0.

    >>> align([Shape(1, 3, 1)], [Shape(1, 5, 1)], 6).tolist()
    [[0, 1, 2, 5, 6, 0]]
    """
    rows = []
    for mine, theirs in zip(own, other, strict=True):
        before = [max(theirs.before - mine.before + n, 0) for n in range(mine.before)]
        first = (mine.words + 1) // 2
        words = [theirs.before + min(n, theirs.words - 1) for n in range(first)]
        words += [theirs.before + max(theirs.words - mine.words + n, 0) for n in range(first, mine.words)]
        end = theirs.before + theirs.words
        behind = [end - 1 + min(n + 1, theirs.behind) for n in range(mine.behind)]
        row = before + words + behind
        rows.append(row + [0] * (tokens - len(row)))
    return torch.tensor(rows)


def taken_from(
    weights: Float[Tensor, "example head query key"], place: Int[Tensor, "example token"]
) -> Float[Tensor, "example head token token"]:
    """The other text's weights between the tokens that ours stand for; rows are not normalised."""
    examples, heads, keys = len(weights), weights.shape[1], weights.shape[3]
    tokens = place.shape[1]
    at = place.to(weights.device)
    rows = weights.gather(2, at[:, None, :, None].expand(examples, heads, tokens, keys))
    return rows.gather(3, at[:, None, None, :].expand(examples, heads, tokens, tokens))
