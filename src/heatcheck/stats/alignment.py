"""Word alignments: error rate against known links, and the share of attention weight on them."""

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.errors import BadInput

Links = Collection[tuple[int, int]]  # pairs of (source word, target word), from 0


def alignment_counts(
    found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> Float[np.ndarray, "example 4"]:
    """Per pair of texts: number of links found, sure links, found and sure, found and possible (or sure).

    `alignment_error_rate` needs only their means or sums, so `bootstrap_interval` can resample them.

    >>> alignment_counts([{(0, 0), (1, 2)}], sure=[{(0, 0)}], possible=[{(1, 2)}])
    array([[2., 1., 1., 2.]])
    """
    if not len(found) == len(sure) == len(possible):
        raise BadInput(
            f"found has {len(found)} entries, sure {len(sure)}, possible {len(possible)}. Give one per pair of texts."
        )
    rows = []
    for one, certain, allowed in zip(found, sure, possible, strict=True):
        links, known = set(one), set(certain)
        rows.append((len(links), len(known), len(links & known), len(links & (known | set(allowed)))))
    return np.array(rows, dtype=float).reshape(len(rows), 4)


def alignment_error_rate(means: Float[np.ndarray, "draw 4"]) -> Float[np.ndarray, " draw"]:
    """1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of means (or sums) of `alignment_counts` (Och & Ney 2003); 0 is best.

    >>> counts = alignment_counts([{(0, 0), (1, 2)}], sure=[{(0, 0)}], possible=[{(0, 0), (1, 1)}])
    >>> alignment_error_rate(counts)
    array([0.33333333])
    """
    return np.asarray(1 - (means[:, 2] + means[:, 3]) / (means[:, 0] + means[:, 1]))


def diagonal_links(source: int, target: int) -> set[tuple[int, int]]:
    """A baseline without a model: link each target word to the source word at the same relative position.

    >>> sorted(diagonal_links(2, 4))
    [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    return {(place * source // target, place) for place in range(target)} if source else set()


def aligned_mass(
    weights: Float[np.ndarray, "example decision token"],
    aligned: Bool[np.ndarray, "example decision token"],
    valid: Bool[np.ndarray, "example decision"],
) -> Float[np.ndarray, "example 2"]:
    """Per example: weight on linked tokens, summed over its valid steps, and the number of these steps.

    The share of all weight is the ratio of the two columns' means; steps without a link count as steps.

    >>> weights = np.array([[[0.75, 0.25], [0.5, 0.5]]])
    >>> aligned = np.array([[[True, False], [False, False]]])
    >>> aligned_mass(weights, aligned, np.array([[True, True]]))
    array([[0.75, 2.  ]])
    """
    on_links = (weights * aligned).sum(-1) * valid
    return np.stack([on_links.sum(1), valid.sum(1).astype(float)], axis=1)


def ratio_of_means(means: Float[np.ndarray, "draw 2"]) -> Float[np.ndarray, " draw"]:
    """The first column over the second: what a share of many steps is, texts being resampled.

    >>> ratio_of_means(np.array([[1.0, 4.0]]))
    array([0.25])
    """
    return np.asarray(means[:, 0] / means[:, 1])
