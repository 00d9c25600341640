"""Accuracy, F1, ROC AUC and average precision of predictions or scores.

`f1`, `roc_auc` and `average_precision` take one list, such as a data set, and give a number; their twins in
`_each` take many, such as the tokens of each example, and give one number per row. An undefined
result is NaN: no valid item, or no item of a class that the quantity needs.
"""

import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Real, Shaped

from heatcheck.errors import BadInput
from heatcheck.stats.scores import finite_scores, real_items
from heatcheck.stats.ties import average_ranks, tie_groups


def accuracy(
    predicted: Shaped[np.ndarray, " item"],
    gold: Shaped[np.ndarray, " item"],
    valid: Bool[np.ndarray, " item"] | None = None,
) -> float:
    """Share of items predicted as in gold, 0 to 1.

    >>> accuracy(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]))
    0.75
    """
    right = predicted == gold if valid is None else (predicted == gold)[valid]
    return float(right.mean()) if len(right) else float("nan")


def f1(
    predicted: Shaped[np.ndarray, " item"],
    gold: Shaped[np.ndarray, " item"],
    positive: int | str,
    valid: Bool[np.ndarray, " item"] | None = None,
) -> float:
    """F1 of the label `positive`, 0 to 1: harmonic mean of precision and recall.

    NaN where neither prediction nor gold ever says `positive`.

    >>> round(f1(np.array(["pos", "pos", "neg"]), np.array(["pos", "neg", "neg"]), "pos"), 4)
    0.6667
    """
    return float(f1_each(predicted[None], gold[None], positive, _one_row(valid))[0])


def f1_each(
    predicted: Shaped[np.ndarray, "example item"],
    gold: Shaped[np.ndarray, "example item"],
    positive: int | str,
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """`f1` of each row.

    >>> f1_each(np.array([[1, 1, 0], [0, 0, 0]]), np.array([[1, 0, 0], [0, 1, 0]]), 1).round(4)
    array([0.6667, 0.    ])
    """
    valid = real_items(predicted, valid)
    said, true = (predicted == positive) & valid, (gold == positive) & valid
    return _share(2.0 * (said & true).sum(axis=1), said.sum(axis=1) + true.sum(axis=1))


def roc_auc(
    score: Real[np.ndarray, " item"],
    gold: Bool[np.ndarray, " item"] | Integer[np.ndarray, " item"],
    valid: Bool[np.ndarray, " item"] | None = None,
) -> float:
    """Chance that a gold item scores above another one, ties counting half: 1 = all above, ½ = chance.

    Gold is True or 1 for the items looked for. NaN when all or none are.

    >>> roc_auc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([1, 1, 0, 0]))
    0.875
    """
    return float(roc_auc_each(score[None], gold[None], _one_row(valid))[0])


def roc_auc_each(
    score: Real[np.ndarray, "example item"],
    gold: Bool[np.ndarray, "example item"] | Integer[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """`roc_auc` of each row.

    >>> roc_auc_each(np.array([[3, 2, 1], [3, 2, 1]]), np.array([[1, 0, 0], [0, 1, 0]]))
    array([1. , 0.5])
    """
    valid = real_items(score, valid)
    score = finite_scores("score", score, valid, padding=np.inf)
    wanted = _wanted(gold, valid)
    positives = wanted.sum(axis=1)
    negatives = valid.sum(axis=1) - positives
    rank_sum = np.where(wanted, average_ranks(score, valid), 0).sum(axis=1)
    return _share(rank_sum - positives * (positives + 1) / 2, positives * negatives)


def average_precision(
    score: Real[np.ndarray, " item"],
    gold: Bool[np.ndarray, " item"] | Integer[np.ndarray, " item"],
    valid: Bool[np.ndarray, " item"] | None = None,
) -> float:
    """Mean, over gold items, of the precision among all items that score no lower: 1 = all gold on top.

    The area under the steps of the precision-recall curve; chance is the share of gold items. Gold is True or
    1 for the items looked for. NaN when there are none.

    >>> round(average_precision(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1])), 4)
    0.8333
    """
    return float(average_precision_each(score[None], gold[None], _one_row(valid))[0])


def average_precision_each(
    score: Real[np.ndarray, "example item"],
    gold: Bool[np.ndarray, "example item"] | Integer[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"] | None = None,
) -> Float[np.ndarray, " example"]:
    """`average_precision` of each row.

    >>> average_precision_each(np.array([[3, 2, 1], [3, 2, 1]]), np.array([[1, 0, 0], [0, 1, 0]]))
    array([1. , 0.5])
    """
    valid = real_items(score, valid)
    descending = -finite_scores("score", score, valid, padding=-np.inf)
    wanted = _wanted(gold, valid)
    order = np.argsort(descending, axis=1)
    hits = np.take_along_axis(wanted, order, axis=1)
    _, last = tie_groups(np.take_along_axis(descending, order, axis=1))
    found = np.take_along_axis(hits.cumsum(axis=1), last, axis=1)
    return _share((hits * found / (last + 1)).sum(axis=1), wanted.sum(axis=1))


def _one_row(valid: Bool[np.ndarray, " item"] | None) -> Bool[np.ndarray, "1 item"] | None:
    return None if valid is None else valid[None]


def _wanted(
    gold: Bool[np.ndarray, "example item"] | Integer[np.ndarray, "example item"],
    valid: Bool[np.ndarray, "example item"],
) -> Bool[np.ndarray, "example item"]:
    """The real items looked for."""
    strange = valid & (gold != 0) & (gold != 1)
    if strange.any():
        row, item = np.argwhere(strange)[0]
        raise BadInput(f"gold must be 0 or 1 (or False or True), but row {row}, item {item} is {gold[row, item]}.")
    wanted: Bool[np.ndarray, "example item"] = valid & (gold == 1)
    return wanted


def _share(part: Float[np.ndarray, " example"], whole: Int[np.ndarray, " example"]) -> Float[np.ndarray, " example"]:
    """part/whole, NaN where whole is 0."""
    share = np.full(len(whole), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share
