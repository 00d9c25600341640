"""How well links between two texts agree with known ones, and how much weight lies on known links."""

from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.errors import BadInput

Links = Collection[tuple[int, int]]  # pairs of (source word, target word), from 0


def alignment_counts(
    found: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links]
) -> Float[np.ndarray, "example 4"]:
    """Of each pair of texts: links found, sure links, found that are sure, found that are possible (sure ones too).

    What an error rate over many texts is made of: their means, as `bootstrap_interval` resamples them, will do.

    >>> alignment_counts([{(0, 0), (1, 2)}], sure=[{(0, 0)}], possible=[{(1, 2)}])
    array([[2., 1., 1., 2.]])
    """
    if not len(found) == len(sure) == len(possible):
        raise BadInput(f"{len(found)} texts with links found, {len(sure)} with sure and {len(possible)} with possible.")
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
    """Each target word linked to the source word at the same share of the way: what needs no model.

    >>> sorted(diagonal_links(2, 4))
    [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    return {(place * source // target, place) for place in range(target)} if source else set()


def aligned_mass(
    weights: Float[np.ndarray, "example decision token"],
    aligned: Bool[np.ndarray, "example decision token"],
    valid: Bool[np.ndarray, "example decision"],
) -> Float[np.ndarray, "example 2"]:
    """Of each example: weight on linked tokens, summed over its valid steps, and how many steps these are.

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
