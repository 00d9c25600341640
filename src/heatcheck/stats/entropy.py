"""How evenly attention weights are spread: their entropy as a share of the largest possible."""

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from heatcheck.stats.scores import real_items


def evenness(
    weights: Float[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None = None
) -> Float[np.ndarray, " example"]:
    """Entropy as a share of the entropy of uniform weights, ln T: 1 = uniform, 0 = all on one item, or one item only.

    >>> evenness(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[True, True, False]] * 2))
    array([1., 0.])
    """
    valid = real_items(weights, valid)
    entropy = special.entr(np.where(valid, weights, 0.0)).sum(axis=1)
    return np.asarray(entropy / np.log(np.maximum(valid.sum(axis=1), 2)))
