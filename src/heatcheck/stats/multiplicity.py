"""P-values adjusted for multiple tests (Holm, Benjamini–Hochberg), over all valid entries of an array."""

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import false_discovery_control

from heatcheck.errors import BadInput


def holm(
    p: Float[np.ndarray, "*batch"], valid: Bool[np.ndarray, "*batch"] | None = None
) -> Float[np.ndarray, "*batch"]:
    """Holm's adjusted p-values: reject those ≤ α, and the chance of any false rejection is at most α.

    Entries that are NaN or not valid are left out of the family and come back NaN.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.06,  nan, 0.06])
    """
    family = _family(p, valid)
    ascending = np.sort(p[family])
    stepped = np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1))
    return _put_back(p, family, stepped)


def benjamini_hochberg(
    p: Float[np.ndarray, "*batch"], valid: Bool[np.ndarray, "*batch"] | None = None
) -> Float[np.ndarray, "*batch"]:
    """Benjamini and Hochberg's adjusted p-values: reject those ≤ α, and a share α of them is false at most.

    On average, that is, and for tests that are independent or positively dependent. Entries that are NaN or
    not valid are left out of the family and come back NaN.

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03]))
    array([0.03, 0.04,  nan, 0.04])
    """
    family = _family(p, valid)
    adjusted = np.full(p.shape, np.nan)
    adjusted[family] = false_discovery_control(p[family])
    return adjusted


def _family(p: Float[np.ndarray, "*batch"], valid: Bool[np.ndarray, "*batch"] | None) -> Bool[np.ndarray, "*batch"]:
    """Which entries are tested together."""
    family = np.asarray(~np.isnan(p)) if valid is None else valid & ~np.isnan(p)
    outside = family & ((p < 0) | (p > 1))
    if outside.any():
        raise BadInput(f"p-values must be between 0 and 1, not {p[outside][0]}.")
    return family


def _put_back(
    p: Float[np.ndarray, "*batch"], family: Bool[np.ndarray, "*batch"], ascending: Float[np.ndarray, " item"]
) -> Float[np.ndarray, "*batch"]:
    """Adjusted values, given smallest p first, at the places of the p-values they belong to."""
    adjusted = np.full(p.shape, np.nan)
    ranked = np.empty(len(ascending))
    ranked[np.argsort(p[family])] = ascending.clip(max=1)
    adjusted[family] = ranked
    return adjusted
