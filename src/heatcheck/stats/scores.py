"""Scores made ready for ranking: float64, no NaN or infinity outside the padding, one fill value in it."""

import numpy as np
from jaxtyping import Bool, Float, Real, Shaped

from heatcheck.errors import BadInput


def real_items(
    values: Shaped[np.ndarray, "example item"], valid: Bool[np.ndarray, "example item"] | None
) -> Bool[np.ndarray, "example item"]:
    """Which items are real: all of them unless `valid` says otherwise.

    >>> real_items(np.array([[0.2, 0.8]]), None)
    array([[ True,  True]])
    """
    return np.ones(values.shape, dtype=bool) if valid is None else valid


def finite_scores(
    name: str,
    values: Real[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
    *,
    padding: float,
) -> Float[np.ndarray, "example item"]:
    """The scores as float64, `padding` where `valid` is False; a NaN or infinite real item is refused.

    Whole numbers above 2**53 lose their last digits and may tie.

    >>> finite_scores("x", np.array([[3, 1, 7]]), np.array([[True, True, False]]), padding=np.inf)
    array([[ 3.,  1., inf]])
    """
    # Masked before the check, so that whatever stands in the padding cannot be heard.
    scores = np.where(valid, values, padding).astype(np.float64, order="C", copy=False)
    wrong = valid & ~np.isfinite(scores)
    if wrong.any():
        row, item = np.argwhere(wrong)[0]
        value = scores[row, item]
        raise BadInput(
            f"{name} must be finite to be ranked, but row {row}, item {item} is {value}. "
            "Leave the item out with valid=False, or fix the score."
        )
    return scores
