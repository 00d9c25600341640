"""The weights that are best for each of many linear gains, among all weights with the same weighted sum of vectors.

These are linear programs over one polytope: w ≥ 0 with Qᵀ w = Qᵀ a, where the columns of Q are an orthonormal basis of
what the sum can see. They are small and there are thousands of them, so a general solver spends its time on everything
but solving. Here they are solved side by side by the simplex method: all start at one vertex of their polytope and
each goes its own way. A vertex is known by the items that may weigh something (its basis, as many as Q has columns).

Nothing rests on the arithmetic of the way. Each basis is solved again from Q, and a program whose point is not within
rounding of feasible, or whose multipliers do not prove it the best, is given to HiGHS.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_GAIN = 1e-11  # a gain per unit below this is none
_PIVOT = 1e-10  # an entry below this stops nothing
_PROVEN = 1e-9  # by how much a proof may be off before HiGHS is asked
_IN_CACHE = 1 << 17  # numbers of all tableaus that are worked on at once: a megabyte


class Vertices(NamedTuple):
    """The best weights for each gain, and how many of the programs HiGHS solved."""

    weights: Float[np.ndarray, "draw item"]
    by_highs: int


class _Tableau(NamedTuple):
    """Weights of the basis as functions of the others: w[basis] = at + slope · w[rest]."""

    basis: Int[np.ndarray, " feature"]
    rest: Int[np.ndarray, " column"]
    at: Float[np.ndarray, " feature"]
    slope: Float[np.ndarray, "feature column"]


def best_vertices(
    own: Float[np.ndarray, " item"],
    seen: Float[np.ndarray, "item feature"],
    free: Float[np.ndarray, "item column"],
    gains: Float[np.ndarray, "draw item"],
) -> Vertices:
    """For each gain, the weights w ≥ 0 with seenᵀ w = seenᵀ own and the largest gain · w.

    Args:
        own: weights that sum to 1.
        seen: orthonormal columns that span what the weighted sum, and the sum of the weights, can see.
        free: orthonormal columns that span the rest; at least one.
        gains: one row per program.

    >>> line = np.array([-1.0, 0.0, 1.0])  # the mean place of three items on a line stays 0
    >>> seen, free = np.split(np.linalg.qr(np.column_stack([line, np.ones(3), line**2]))[0], [2], axis=1)
    >>> best_vertices(np.array([0.2, 0.6, 0.2]), seen, free, np.eye(3)).weights.round(6) + 0.0
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ],
           [0.5, 0. , 0.5]])
    """
    start = _some_vertex(own, free)
    at_once = max(_IN_CACHE // start.slope.size, 1)
    bases = [_climb(start, gains[at : at + at_once]) for at in range(0, len(gains), at_once)]
    weights, proven = _proven(own, seen, gains, np.concatenate(bases))
    for program in np.flatnonzero(~proven):
        weights[program] = _by_highs(own, free, gains[program])
    return Vertices(weights, int((~proven).sum()))


def _some_vertex(own: np.ndarray, free: np.ndarray) -> _Tableau:
    """The tableau of one vertex: from `own` along one free direction after the other until a weight is 0."""
    at, slope = own.astype(np.float64), free.astype(np.float64).copy()
    stopped = np.zeros(len(own), bool)
    left = np.ones(free.shape[1], bool)
    rest = np.zeros(free.shape[1], int)
    while left.any():
        column = int(np.where(left, np.square(slope).sum(0), -1.0).argmax())
        along = slope[:, column].copy()
        # A direction sums to 0, so it lowers some weight; those that are stopped have no part in it.
        along *= -np.sign(along[np.abs(np.where(stopped, 0.0, along)).argmax()])
        slope[:, column] = along
        falls = ~stopped & (along < -_PIVOT)
        steps = np.where(falls, np.maximum(at, 0.0) / np.where(falls, -along, 1.0), np.inf)
        row = int(np.where(steps <= steps.min() * (1 + 1e-9) + 1e-15, -along, 0.0).argmax())
        pivot = slope[row].copy()
        change = pivot / pivot[column]
        change[column] = 1 - 1 / pivot[column]
        at -= along * (at[row] / pivot[column])
        slope -= np.outer(along, change)
        slope[row], at[row] = 0.0, 0.0
        slope[row, column] = 1.0
        stopped[row], left[column], rest[column] = True, False, row
    basis = np.flatnonzero(~stopped)
    return _Tableau(basis, rest, at[basis], slope[basis])


def _climb(start: _Tableau, gains: Float[np.ndarray, "draw item"]) -> Int[np.ndarray, "draw feature"]:
    """The basis that each program ends at; one that takes too many steps ends where it is."""
    n = len(gains)
    basis, rest, at, slope = (np.repeat(part[None], n, axis=0) for part in start)
    # The gain is one more row of the tableau, which no step stops at.
    gain = gains[:, start.rest] + gains[:, start.basis] @ start.slope
    slope = np.concatenate([slope, gain[:, None]], axis=1)
    at = np.concatenate([at, np.zeros((n, 1))], axis=1)
    items = basis.shape[1]
    ended = basis.copy()
    alive = np.arange(n)
    for _ in range(10 * (items + rest.shape[1])):
        column = slope[:, items].argmax(1)
        going = slope[np.arange(len(alive)), items, column] > _GAIN
        if not going.all():
            ended[alive[~going]] = basis[~going]
            alive, column = alive[going], column[going]
            basis, rest, at, slope = basis[going], rest[going], at[going], slope[going]
            if not len(alive):
                break
        each = np.arange(len(alive))
        along = slope[each, :, column]
        fall = -along[:, :items]
        falls = fall > _PIVOT
        steps = np.where(falls, np.maximum(at[:, :items], 0.0) / np.where(falls, fall, 1.0), np.inf)
        # Of the weights that reach 0 together, the one that falls fastest: the safest pivot.
        first = steps <= steps.min(1, keepdims=True) * (1 + 1e-9) + 1e-15
        row = np.where(first, fall, 0.0).argmax(1)
        pivot = slope[each, row]
        turn = pivot[each, column]
        change = pivot / turn[:, None]
        change[each, column] = 1 - 1 / turn
        moved = at[each, row] / turn
        at -= along * moved[:, None]
        slope -= along[:, :, None] * change[:, None]
        at[each, row] = -moved
        slope[each, row] = -change
        slope[each, row, column] = 1 / turn
        leaving = basis[each, row]
        basis[each, row] = rest[each, column]
        rest[each, column] = leaving
    ended[alive] = basis
    return ended


def _proven(
    own: np.ndarray, seen: np.ndarray, gains: np.ndarray, bases: Int[np.ndarray, "draw feature"]
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of each basis, and whether they are feasible and no others are better.

    Multipliers y with seen[basis] y = gain[basis] prove it: every gain − seen y is at most 0, so no w has more.
    """
    squares = seen[bases]
    weights = np.zeros(gains.shape)
    try:
        of_basis = np.linalg.solve(squares.swapaxes(1, 2), np.broadcast_to((own @ seen)[:, None], (*bases.shape, 1)))
        prices = np.linalg.solve(squares, np.take_along_axis(gains, bases, 1)[..., None])[..., 0]
    except np.linalg.LinAlgError:  # one of them is singular: HiGHS solves them all
        return weights, np.zeros(len(gains), bool)
    np.put_along_axis(weights, bases, of_basis[..., 0], 1)
    size = np.maximum(np.abs(gains).max(1), 1e-300)
    better = (gains - prices @ seen.T).max(1) / size
    missed = np.abs((weights - own) @ seen).max(1)
    proven = (weights.min(1) >= -_PROVEN) & (missed <= _PROVEN) & (better <= _PROVEN)
    weights = np.maximum(weights, 0.0)
    return weights / np.where(proven, weights.sum(1), 1.0)[:, None], proven


def _by_highs(own: np.ndarray, free: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """The best weights by a general solver, with a tolerance of 1e-7."""
    from scipy.optimize import linprog  # half a second to import

    # With own + free z the weighted sum stays what it is; only non-negativity is left to the solver.
    found = linprog(-(gain @ free), A_ub=-free, b_ub=own, bounds=(None, None), method="highs-ds")
    if found.x is None:  # never seen: z = 0 is feasible and the simplex bounded; then nothing farther is claimed
        return own
    weights = np.maximum(own + free @ found.x, 0.0)
    return np.asarray(weights / weights.sum())
