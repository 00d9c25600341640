"""What counts as a phase change, fixed before any run: how fast prefix matching rises, and what falls with it."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

SHARE = 0.8  # of the rise, and of the fall, that the window must hold
BRIEF = 0.15  # of the training: the window is shorter
RISEN = 0.2  # prefix matching that a model without induction heads stays below


class Change(NamedTuple):
    """How prefix matching rose in one run, and what the in-context score did meanwhile."""

    risen: bool  # prefix matching ends at RISEN or above; without that there is no rise to look at
    begin: int  # step at which the window begins
    end: int
    length: float  # of the window, as a share of the training
    fall: float  # of the in-context score inside the window, as a share of its fall over the whole training
    reached: bool  # whether prefix matching was RISEN at any step
    met: bool


def change_of(
    steps: Int[np.ndarray, " item"], prefix: Float[np.ndarray, " item"], in_context: Float[np.ndarray, " item"]
) -> Change:
    """Whether one run shows a phase change.

    The window is the shortest that holds 80% of the rise of prefix matching, from the first step to the last. It must
    be shorter than 15% of the training and hold 80% of the fall of the in-context score.

    >>> change_of(np.arange(11), np.array([0.0] * 5 + [1.0] * 6), np.array([0.0] * 5 + [-1.0] * 6))
    Change(risen=True, begin=4, end=5, length=0.1, fall=1.0, reached=True, met=True)
    """
    prefix, in_context = prefix.astype(float), in_context.astype(float)
    begin, end = shortest_window(steps, prefix)
    length = float((steps[end] - steps[begin]) / (steps[-1] - steps[0]))
    whole = in_context[0] - in_context[-1]
    fall = float((in_context[begin] - in_context[end]) / whole) if whole > 0 else np.nan
    risen = bool(prefix[-1] >= RISEN)
    met = risen and length < BRIEF and fall >= SHARE
    return Change(risen, int(steps[begin]), int(steps[end]), length, fall, bool((prefix >= RISEN).any()), met)


def shortest_window(steps: Int[np.ndarray, " item"], rising: Float[np.ndarray, " item"]) -> tuple[int, int]:
    """The places between which SHARE of the rise lies, as few steps apart as possible; the first such if several are.

    A curve that ends no higher than it began has no such window: then all of it.

    >>> shortest_window(np.array([0, 10, 20, 30]), np.array([0.0, 0.1, 0.95, 1.0]))
    (1, 2)
    """
    whole = rising[-1] - rising[0]
    if whole <= 0:
        return 0, len(rising) - 1
    # A difference of two rounded numbers may fall short by a last digit.
    enough = rising[None, :] - rising[:, None] >= SHARE * whole - 1e-12
    lengths = np.where(np.triu(enough, 1), steps[None, :] - steps[:, None], np.iinfo(int).max)
    begin, end = np.unravel_index(lengths.argmin(), lengths.shape)
    return int(begin), int(end)
