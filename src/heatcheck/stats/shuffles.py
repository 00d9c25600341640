"""Many random shuffles of attention weights, and the weighted sums that they give, without storing a shuffle."""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Bool, Float, UInt64

from heatcheck.stats.compiled import compiled


def shuffled_sums(
    weights: Float[np.ndarray, "example item"],
    values: Float[np.ndarray, "example item column"],
    valid: Bool[np.ndarray, "example item"],
    seeds: UInt64[np.ndarray, " example"],
    draws: int,
) -> Float[np.ndarray, "example draw column"]:
    """Σ_t w_σ(t) values_t for `draws` uniformly random permutations σ of each row's valid items.

    A row's shuffles depend on its seed, its weights and its valid items only: not on padding, nor on other rows.

    >>> one = shuffled_sums(np.array([[1.0, 0.0]]), np.array([[[3.0], [5.0]]]), np.ones((1, 2), bool),
    ...     seeds=np.array([7], dtype=np.uint64), draws=4)
    >>> sorted(set(one.ravel().tolist()))
    [3.0, 5.0]
    """
    sums = np.zeros((len(weights), draws, values.shape[2]))
    kept = np.zeros((1, 1, 1))  # unused: the kernel stores the shuffles themselves only when asked to
    compiled(_shuffle)(weights.astype(np.float64), values.astype(np.float64), valid, seeds, sums, kept, False)
    return sums


def shuffled_weights(
    weights: Float[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    seeds: UInt64[np.ndarray, " example"],
    draws: int,
) -> Float[np.ndarray, "example draw item"]:
    """The very shuffles behind `shuffled_sums`, for outputs that are not weighted sums; zero at padding.

    >>> shuffled_weights(np.array([[1.0, 0.0]]), np.ones((1, 2), bool), np.array([7], dtype=np.uint64), 2).sum(-1)
    array([[1., 1.]])
    """
    kept = np.zeros((len(weights), draws, weights.shape[1]))
    sums = np.zeros((len(weights), draws, 0))
    values = np.zeros((*weights.shape, 0))
    compiled(_shuffle)(weights.astype(np.float64), values, valid, seeds, sums, kept, True)
    return kept


@no_type_check
def _shuffle(weights: Any, values: Any, valid: Any, seeds: Any, sums: Any, kept: Any, keep: bool) -> None:
    """Fisher and Yates with a splitmix64 generator a row; each shuffle starts from the one before."""
    place = np.empty(weights.shape[1], np.int64)
    mixed = np.empty(weights.shape[1])
    for row in range(weights.shape[0]):
        items = 0
        for t in range(weights.shape[1]):
            if valid[row, t]:
                place[items] = t
                mixed[items] = weights[row, t]
                items += 1
        state = seeds[row]
        for draw in range(sums.shape[1]):
            for k in range(items - 1, 0, -1):
                state = state + np.uint64(0x9E3779B97F4A7C15)
                z = state
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                z = z ^ (z >> np.uint64(31))
                # The top 32 bits times k + 1, over 2^32: off from uniform by less than k / 2^32.
                other = np.int64(((z >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
                swapped = mixed[k]
                mixed[k] = mixed[other]
                mixed[other] = swapped
            if keep:
                for k in range(items):
                    kept[row, draw, place[k]] = mixed[k]
            for label in range(values.shape[2]):
                total = 0.0
                for k in range(items):
                    total += mixed[k] * values[row, place[k], label]
                sums[row, draw, label] = total
