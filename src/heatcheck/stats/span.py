"""Which part of some weights a weighted sum of vectors can see: their projection onto the span of those vectors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

SINGLE = float(np.finfo(np.float32).eps)  # what models compute their values with


class Projected(NamedTuple):
    """Weights without what the values do not see, and how many dimensions the values span."""

    weights: Float[np.ndarray, "example head query key"]
    rank: Int[np.ndarray, "example head query"]


def onto_span(
    weights: Float[np.ndarray, "example head query key"],
    values: Float[np.ndarray, "example head key feature"],
    visible: Bool[np.ndarray, "example head query key"],
    *,
    precision: float = SINGLE,
) -> Projected:
    """Each row projected onto the column space of the values of the keys that it can see.

    The rest of a row adds nothing to Σ_j w_j v_j: the sum of the projected row is the same (Brunner et al. 2020, §3.1).
    A row that sees no more keys than the values' vectors have independent columns keeps its weights. What comes out
    may be negative, and need not sum to 1.

    Args:
        visible: rows are projected together where they see the same keys. A key that is not seen has weight 0.
        precision: of the numbers the values were computed with; a singular value counts if it is larger than
            precision · max(keys seen, features) · the largest one.

    >>> one = onto_span(np.array([[[[0.75, 0.25]]]]), np.array([[[[1.0], [1.0]]]]), np.array([[[[True, True]]]]))
    >>> one.weights.round(6).tolist(), one.rank.tolist()
    ([[[[0.5, 0.5]]]], [[[1]]])
    """
    weights = np.where(visible, weights, 0.0)
    found, rank = np.zeros(weights.shape), np.zeros(weights.shape[:3], dtype=int)
    for example, own in enumerate(weights):
        # Rows of one text see the same keys, or in a decoder one more each: as many decompositions as there are sights.
        for heads, rows, seen in _sights(visible[example]):
            basis, count = _bases(values[example][heads][:, seen].astype(float), precision)
            place = np.ix_(heads, rows, np.flatnonzero(seen))
            found[example][place] = own[place] @ basis @ basis.swapaxes(1, 2)
            rank[example][np.ix_(heads, rows)] = count[:, None]
    return Projected(found, rank)


def _sights(
    visible: Bool[np.ndarray, "head query key"],
) -> Iterator[tuple[Int[np.ndarray, " item"], Int[np.ndarray, " row"], Bool[np.ndarray, " key"]]]:
    """Heads and rows that see the same keys, and these keys; mostly all heads see the same."""
    alike = bool((visible == visible[:1]).all())
    for heads in [np.arange(len(visible))] if alike else np.arange(len(visible))[:, None]:
        sights, which = np.unique(visible[heads[0]], axis=0, return_inverse=True)
        for number, seen in enumerate(sights):
            yield heads, np.flatnonzero(which.reshape(-1) == number), seen


def _bases(
    values: Float[np.ndarray, "head key feature"], precision: float
) -> tuple[Float[np.ndarray, "head key column"], Int[np.ndarray, " head"]]:
    """Of each head an orthonormal basis of the column space, filled up with zeros, and its size."""
    if not values.size:
        return np.zeros((*values.shape[:2], 0)), np.zeros(len(values), dtype=int)
    left, sizes, _ = np.linalg.svd(values, full_matrices=False)
    counts = sizes > precision * max(values.shape[1:]) * sizes[:, :1]
    return left * counts[:, None], counts.sum(1)
