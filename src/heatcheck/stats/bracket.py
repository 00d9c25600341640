"""More than two labels: bounds, below and above, on how far attention weights can differ with nearly the same output.

The set {w : TVD(softmax(Rᵀw + b), softmax(Rᵀa + b)) ≤ ε} is not convex for more than two labels, so vertices prove
nothing about it. But it lies between two polytopes, and the divergence to be maximised is a sum of convex functions of
single weights. So

- any point of the set is a lower bound: vertices of a polytope inside it, found by linear programs;
- over a polytope around it, replacing each convex term by its chord on [0, 1] gives one linear program whose value no
  point of the set exceeds; so does the exact optimum for each pair of labels taken alone.

Inside: if no difference of two logits moves by more than d, the odds of no set S of labels move by more than a factor
e^d; so d = min over S of logit(p(S) + ε) − logit(p(S)) keeps TVD ≤ ε. Around: TVD ≤ ε implies for all labels i and j
that z_i − z_j ≤ ln((p_i + ε) / (p_j − ε)), where p_j > ε.

Both are boxes around the logits but for one number m that is added to all: l ≤ z − m ≤ h. So a program has two rows a
label and one more variable, where a row for each pair of 1,000 labels would fill the memory.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, logsumexp, softmax

from heatcheck.stats.farthest import farthest_weights, jsd_terms

TILTS = 2  # linear programs with a randomly tilted objective, beside the chord's own, each giving one more vertex
PAIRS = 1000  # of labels, the likeliest, that are taken alone: each gives a bound by itself
SINGLES = 40  # items towards which all weight is moved, the lightest first
_SUBSETS_UP_TO = 10  # labels; with more, every probability is taken as that of some set


class Bracket(NamedTuple):
    """The largest JSD lies between `low`, which `weights` attain, and `high`."""

    low: float
    high: float
    weights: Float[np.ndarray, " item"]


def bracket_weights(
    weights: Float[np.ndarray, " item"],
    relevance: Float[np.ndarray, "item label"],
    bias: Float[np.ndarray, " label"],
    epsilon: float,
    generator: np.random.Generator,
) -> Bracket:
    """Bounds on the largest JSD (nats) from `weights` of weights that change the softmax by at most ε.

    >>> a, r = np.array([0.6, 0.3, 0.1]), np.eye(3)
    >>> found = bracket_weights(a, r, np.zeros(3), 0.05, np.random.default_rng(0))
    >>> bool(found.low <= found.high), found.weights.sum().round(6)
    (True, np.float64(1.0))
    """
    own = weights / weights.sum()
    margins = own @ relevance + bias
    p = softmax(margins)

    def change(candidate: Float[np.ndarray, " item"]) -> float:
        return float(np.abs(softmax(candidate @ relevance + bias) - p).sum() / 2)

    best, low = own, 0.0

    def consider(candidate: Float[np.ndarray, " item"]) -> None:
        """As far towards the candidate as the output allows: on the way the divergence only grows."""
        nonlocal best, low
        share = _farthest_share(margins, candidate @ relevance + bias, p, epsilon)
        reached = own + share * (candidate - own)
        found = float(jsd_terms(reached, own).sum())
        if found > low and change(reached) <= epsilon + 1e-9:
            best, low = reached, found

    most = float(jsd_terms(np.eye(len(own))[own.argmin()], own).sum())
    for item in np.argsort(own, kind="stable")[:SINGLES]:
        consider(np.eye(len(own))[item])
        if low > most - 1e-12:
            break
    if low > most - 1e-12:
        return Bracket(low, low, best)

    # The chord of each item's term of the divergence: from w = 0 to w = 1.
    start = 0.5 * np.log(2) * own
    rise = jsd_terms(np.ones_like(own), own) - start
    around = _room_around(p, epsilon)
    chord, vertex = _maximise(rise, relevance, own, around)
    high = min(float(start.sum() + chord), _of_label_pairs(own, relevance, p, around))
    consider(vertex)
    inside = _Room(np.zeros_like(p), np.full_like(p, _widest_inside(p, epsilon)))
    tilts = [np.ones_like(rise), *generator.uniform(0, 1.5, size=(TILTS, len(rise)))]
    for room, tilt in [(_room_around(p, 0.7 * epsilon), tilts[0]), *((inside, tilt) for tilt in tilts)]:
        if low < high - 1e-6:
            consider(_maximise(rise * tilt, relevance, own, room)[1])
    return Bracket(low, max(high, low), best)


def _farthest_share(
    now: Float[np.ndarray, " label"], then: Float[np.ndarray, " label"], p: Float[np.ndarray, " label"], epsilon: float
) -> float:
    """The largest part of the way from these logits to those, of a fine grid and then by halves, that keeps TVD ≤ ε."""
    steps = np.linspace(0, 1, 33)
    inside = np.abs(softmax(now + steps[:, None] * (then - now), axis=1) - p).sum(1) / 2 <= epsilon
    last = int(np.flatnonzero(inside)[-1])
    if last == len(steps) - 1:
        return 1.0
    low, high = float(steps[last]), float(steps[last + 1])
    for _ in range(20):
        middle = (low + high) / 2
        kept = np.abs(softmax(now + middle * (then - now)) - p).sum() / 2 <= epsilon
        low, high = (middle, high) if kept else (low, middle)
    return low


class _Room(NamedTuple):
    """How far logits can move: by some number m that all share, and from there between `low` and `high`."""

    low: Float[np.ndarray, " label"]
    high: Float[np.ndarray, " label"]


def _room_around(p: Float[np.ndarray, " label"], epsilon: float) -> _Room:
    """Outside of it TVD is larger than ε."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(p - epsilon) - np.log(p), np.log(p + epsilon) - np.log(p)
    return _Room(np.where(p > epsilon, low, -np.inf), high)


def _maximise(
    gain: Float[np.ndarray, " item"],
    relevance: Float[np.ndarray, "item label"],
    own: Float[np.ndarray, " item"],
    room: _Room,
) -> tuple[float, Float[np.ndarray, " item"]]:
    """max gain·w over the simplex where Rᵀ(w − own) stays in the room, and where."""
    from scipy.optimize import linprog  # half a second to import

    now = own @ relevance
    rows = np.concatenate([relevance.T, -relevance.T])
    limits = np.concatenate([now + room.high, -now - room.low])
    of_shared = np.repeat([-1.0, 1.0], len(now))
    kept = np.isfinite(limits)
    size = np.maximum(np.abs(rows[kept]).max(axis=1, initial=0.0), 1.0)  # the solver likes rows of like size
    found = linprog(
        -np.append(gain, 0.0),
        A_ub=np.column_stack([rows, of_shared])[kept] / size[:, None],
        b_ub=(limits[kept] + 1e-9) / size,
        A_eq=np.append(np.ones(len(gain)), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * len(gain) + [(None, None)],
        method="highs-ds",  # the simplex method: its answer is a vertex
    )
    if (
        found.x is None or found.fun is None
    ):  # never seen, for the observed weights are feasible; no bound is better than a wrong one
        return float(gain.max()), np.full(len(gain), 1 / len(gain))
    vertex = np.clip(found.x[:-1], 0, None)
    # The dual's value bounds the optimum from above whatever the solver's tolerance on the primal.
    return float(-found.fun) + 1e-7, vertex / vertex.sum()


def _widest_inside(p: Float[np.ndarray, " label"], epsilon: float) -> float:
    """d: the differences of logits may all move by so much without TVD passing ε."""
    if len(p) > _SUBSETS_UP_TO:
        return float(4 * np.arctanh(epsilon))  # the minimum over all of [0, 1]
    members = (np.arange(1, 2 ** len(p) - 1)[:, None] >> np.arange(len(p))) & 1
    odds = _log_odds(members, p)
    share = expit(odds)
    tight = share + epsilon < 1
    room = logit(np.where(tight, share + epsilon, 0.5)) - odds
    return float(np.where(tight, room, np.inf).min(initial=50.0))


def _log_odds(members: np.ndarray, p: Float[np.ndarray, " label"]) -> np.ndarray:
    """ln p(S)/p(not S), from logarithms, for p(S) near 1 has no digits left for the rest."""
    logs = np.log(np.maximum(p, 1e-300))
    inside = logsumexp(np.where(members == 1, logs, -np.inf), axis=1)
    outside = logsumexp(np.where(members == 0, logs, -np.inf), axis=1)
    return np.asarray(inside - outside)


def _of_label_pairs(
    own: Float[np.ndarray, " item"],
    relevance: Float[np.ndarray, "item label"],
    p: Float[np.ndarray, " label"],
    room: _Room,
) -> float:
    """The smallest of the exact optima under one pair's slab alone: each relaxes the problem."""
    likely = np.argsort(-p, kind="stable")
    later, sooner = np.tril_indices(min(len(p), PAIRS + 1), -1)  # in the order of the likelier one's last partner
    i, j = likely[sooner[:PAIRS]], likely[later[:PAIRS]]
    slopes = relevance.T[i] - relevance.T[j]
    now = slopes @ own
    low, high = now + room.low[i] - room.high[j], now + room.high[i] - room.low[j]
    return float(farthest_weights(np.tile(own, (len(i), 1)), slopes, low, high).jsd.min())
