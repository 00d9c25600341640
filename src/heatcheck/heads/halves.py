"""Two halves of the examples, so that what is learned on one is used on the other."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import NotSupported


def in_halves(examples: Sequence[Example], what: str, *, seed: int) -> Bool[np.ndarray, " example"]:
    """Which examples are in the second half, at random but by their ids: their order does not matter.

    Args:
        what: needs both halves, for the reader of an error.
    """
    if len(examples) < 2:
        raise NotSupported(
            f"{what} learns about heads from other examples than the one at hand, and there is only one. Give more."
        )
    drawn = np.array([stream(seed, "halves", example.id).random() for example in examples])
    found = np.zeros(len(examples), dtype=bool)
    found[np.argsort(drawn, kind="stable")[len(examples) // 2 :]] = True
    return found
