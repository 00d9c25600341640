"""Other weights with exactly the same weighted sum of vectors: when there are any, and how different they can be.

A head's output is Σ_t a_t v_t. Weights w ≥ 0 that sum to 1 give the same output if and only if w = a + N z, where the
columns of N span what is orthogonal to every column of [V, 1]: N has max(T − d − 1, 0) columns or more for T vectors
of d coordinates. These w are a polytope P.

- The range of each weight over P is two linear programs, exact up to the solver's tolerance.
- The largest JSD from a over P is the maximum of a convex function: no linear program. But the JSD is a sum of convex
  functions of single weights, and a convex function on [low_t, high_t] lies below its chord there. So the linear
  program of the chords is an upper bound, and any point of P, the vertices met on the way among them, a lower one.

Counting columns of N alone ignores w ≥ 0: where most of a is nearly 0, a null space of many dimensions may leave
hardly any room.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from heatcheck.stats.farthest import jsd_terms
from heatcheck.stats.vertices import best_vertices

DIGITS = float(np.finfo(np.float64).eps)
_FLAT = 1e-9  # a range narrower than this is a point: what is left is the solver's rounding
_SOLVER = 1e-7  # by how much a solver may pass a constraint or miss an optimum


class Freedom(NamedTuple):
    """How far weights can go with the sum as it is: the range of each, and a bracket [jsd_low, jsd_high] in nats.

    `twin` are weights that attain `jsd_low`; `programs` is how many linear programs it took.
    """

    low: Float[np.ndarray, " item"]
    high: Float[np.ndarray, " item"]
    twin: Float[np.ndarray, " item"]
    jsd_low: float
    jsd_high: float
    programs: int

    @property
    def width(self) -> float:
        """Of the ranges, on average over the items."""
        return float((self.high - self.low).mean())


def null_space(
    values: Float[np.ndarray, "item feature"], *, precision: float = DIGITS
) -> Float[np.ndarray, "item column"]:
    """Orthonormal directions in which weights can move without moving their sum or Σ_t w_t v_t.

    A direction counts as free if it moves the output by less than `precision` of its size: for values that were
    computed in float32, that of float32.

    >>> null_space(np.array([[1.0], [2.0], [3.0]])).shape, null_space(np.eye(3)).shape
    ((3, 1), (3, 0))
    """
    return _split(values, precision)[1]


def free_dimensions(
    values: Float[np.ndarray, "head item feature"], *, precision: float = DIGITS
) -> Int[np.ndarray, " head"]:
    """The number of columns of each head's `null_space`.

    >>> free_dimensions(np.array([[[1.0], [2.0], [3.0]], [[1.0], [1.0], [1.0]]])).tolist()
    [1, 2]
    """
    items = values.shape[1]
    seen = np.stack([np.column_stack([_scaled(of_head), np.ones(items)]) for of_head in values])
    sizes = np.linalg.svd(seen, compute_uv=False)
    return np.asarray(items - _counts(sizes, seen.shape[1:], precision).sum(-1))


def freedom(
    weights: Float[np.ndarray, " item"], values: Float[np.ndarray, "item feature"], *, precision: float = DIGITS
) -> Freedom:
    """The range of every weight over all weights with the same sum of values, and how different such weights can be.

    >>> found = freedom(np.array([0.2, 0.6, 0.2]), np.array([[-1.0], [0.0], [1.0]]))
    >>> found.low.round(6), found.high.round(6)
    (array([0., 0., 0.]), array([0.5, 1. , 0.5]))
    >>> bool(0 < found.jsd_low <= found.jsd_high)
    True
    """
    own = weights / weights.sum()
    seen, free = _split(values, precision)
    if not free.shape[1]:
        return Freedom(own, own, own, 0.0, 0.0, 0)
    items = np.eye(len(own))
    vertices = best_vertices(own, seen, free, np.concatenate([-items, items])).weights
    apart = jsd_terms(vertices, own).sum(-1)
    best, attained = (vertices[apart.argmax()], float(apart.max())) if apart.max() > 0 else (own, 0.0)
    below, above = (np.diagonal(part) for part in np.split(vertices, 2))
    low, high = np.minimum(below, own), np.maximum(above, own)
    low, high = np.where(high - low < _FLAT, own, low), np.where(high - low < _FLAT, own, high)

    # Chords of each item's term of the divergence, from the lower to the upper end of its range.
    at_low, at_high = jsd_terms(low, own), jsd_terms(high, own)
    wide = high > low
    rise = np.where(wide, (at_high - at_low) / np.where(wide, high - low, 1.0), 0.0)
    (vertex,) = best_vertices(own, seen, free, rise[None]).weights
    found = float(jsd_terms(vertex, own).sum())
    best, attained = (vertex, found) if found > attained else (best, attained)
    chord = float(at_low.sum() + rise @ (vertex - low) + _SOLVER * np.abs(rise).sum())
    return Freedom(low, high, best, attained, max(chord, attained), 2 * len(own) + 1)


def _split(values: np.ndarray, precision: float) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal directions of weights: those that move the sum of weights or of values, and those that do not."""
    kept = _directions(np.column_stack([_scaled(values), np.ones(len(values))]), precision)
    # By a full QR of what is kept: the complement is as orthonormal to it as floats can be.
    both = np.linalg.qr(kept, mode="complete")[0]
    return both[:, : kept.shape[1]], both[:, kept.shape[1] :]


def _scaled(values: Float[np.ndarray, "item feature"]) -> Float[np.ndarray, "item feature"]:
    """Values of size 1, so that the column of ones counts neither for more nor for less than they do."""
    size = np.abs(values).max(initial=0.0)
    return np.asarray(values.astype(np.float64) / (size if size > 0 else 1.0))


def _directions(matrix: Float[np.ndarray, "item feature"], precision: float) -> Float[np.ndarray, "item column"]:
    """An orthonormal basis of what the columns span."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left[:, _counts(sizes, matrix.shape, precision)])


def _counts(sizes: np.ndarray, shape: tuple[int, ...], precision: float) -> np.ndarray:
    """Which singular values of a matrix of this shape are no rounding."""
    return np.asarray(sizes > precision * max(shape) * sizes.max(-1, initial=0.0, keepdims=True))
