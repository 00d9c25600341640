"""A batch with fewer of its tokens, or with its examples as often as they are named."""

from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from heatcheck.data import Batch


def take(batch: Batch, rows: Int[Tensor, " example"]) -> Batch:
    """The batch with these examples, as often as each is named."""
    ids = tuple(batch.ids[row] for row in rows.tolist())
    inputs = {name: value[rows] for name, value in batch.inputs.items()}
    options = None if batch.options is None else batch.options[rows]
    return replace(
        batch,
        ids=ids,
        inputs=inputs,
        valid=batch.valid[rows],
        scored=batch.scored[rows],
        word=batch.word[rows],
        gold=None,
        marks={},
        options=options,
        masked=None if batch.masked is None else batch.masked[rows],
    )


def without_beginning(batch: Batch, tokens: int) -> Batch:
    """The batch without its first tokens."""
    return replace(
        batch,
        inputs={name: value[:, tokens:] for name, value in batch.inputs.items()},
        valid=batch.valid[:, tokens:],
        scored=batch.scored[:, tokens:],
        word=batch.word[:, tokens:],
        marks={},
        masked=None if batch.masked is None else batch.masked[:, tokens:],
    )


def row_of(batch: Batch, rows: Int[Tensor, " example"]) -> Batch:
    """The batch with one token left of each text."""
    at = rows[:, None]
    return replace(
        batch,
        inputs={name: value.gather(1, at) for name, value in batch.inputs.items()},
        valid=batch.valid.gather(1, at),
        scored=batch.scored.gather(1, at),
        word=batch.word.gather(1, at),
        marks={},
        masked=None if batch.masked is None else batch.masked.gather(1, at),
    )
