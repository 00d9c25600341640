"""Which part of some weights a weighted sum of vectors can see: their projection onto the span of those vectors."""

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
    for place in np.ndindex(*weights.shape[:2]):
        # Rows of one text see the same keys, or in a decoder one more each: as many decompositions as there are sights.
        sights, which = np.unique(visible[place], axis=0, return_inverse=True)
        for number, seen in enumerate(sights):
            rows = which.reshape(-1) == number
            basis = _basis(values[place][seen].astype(float), precision)
            found[place][np.ix_(rows, seen)] = weights[place][np.ix_(rows, seen)] @ basis @ basis.T
            rank[place][rows] = basis.shape[1]
    return Projected(found, rank)


def _basis(values: Float[np.ndarray, "key feature"], precision: float) -> Float[np.ndarray, "key column"]:
    """An orthonormal basis of the column space."""
    if not values.size:
        return np.zeros((len(values), 0))
    left, sizes, _ = np.linalg.svd(values, full_matrices=False)
    return np.asarray(left[:, sizes > precision * max(values.shape) * sizes[0]])
