"""The label's probability, as explainers use it: from scaled logits, by log-odds in float64, to lose no digits.

Words are ranked by differences of this probability, which depend on how confident a model is: an output layer ten times
as large makes the same decisions and ranks words differently. So an audit sets a scale that compensates for it
(checks/case.py). At scale 1 it is the model's own probability. Log-odds come first because a probability near 1 has no
digits left: in float32 a confident model's is exactly 1, and all its differences and gradients are 0.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import expit, logsumexp
from torch import Tensor

from heatcheck.models import Run

OWN = 1.0  # the scale of a model's own probabilities


def log_odds(
    logits: Float[np.ndarray, "text label"], label: Int[np.ndarray, " text"], scale: float = OWN
) -> Float[np.ndarray, " text"]:
    """ln p / (1 − p) of a label, from logits or log-probabilities.

    >>> log_odds(np.log([[0.2, 0.8], [0.2, 0.8]]), np.array([1, 0])).round(3)
    array([ 1.386, -1.386])
    """
    row = np.arange(len(logits))
    others = scale * logits
    own = others[row, label]
    others[row, label] = -np.inf
    return np.asarray(own - logsumexp(others, axis=-1))


def probability_lost(whole: Float[np.ndarray, "..."], without: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """p(label) − p(label | without something), from the log-odds of both; exact even if both are nearly 1.

    >>> probability_lost(np.array([50.0]), np.array([49.0])) > 0
    array([ True])
    """
    sure = whole > 0
    return np.asarray(np.where(sure, expit(-without) - expit(-whole), expit(whole) - expit(without)))


def explained_labels(logits: Float[Tensor, "example label"], label: int | None) -> Int[Tensor, " example"]:
    """The given label for every text, or the label predicted for each.

    >>> logits = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> explained_labels(logits, None).tolist(), explained_labels(logits, 0).tolist()
    ([1, 0], [0, 0])
    """
    return logits.argmax(-1) if label is None else torch.full_like(logits[:, 0], label, dtype=torch.long)


def label_log_odds(
    run: Run, label: Int[Tensor, " example"] | None = None, scale: float = OWN
) -> Float[Tensor, " example"]:
    """ln p / (1 − p) of the first decision's label; of the predicted one if none is given."""
    logits = run.logits[:, 0].double()
    chosen = (logits.argmax(-1) if label is None else label)[:, None]
    others = logits.scatter(1, chosen, -torch.inf)
    return scale * logits.gather(1, chosen)[:, 0] - (scale * others).logsumexp(-1)


def label_probability(
    run: Run, label: Int[Tensor, " example"] | None = None, scale: float = OWN
) -> Float[Tensor, " example"]:
    """p(label) of the first decision."""
    return label_log_odds(run, label, scale).sigmoid()
