"""Temperature twins: a trained model whose attention is made as sharp as another's, and nothing else.

Weights that are merely sharper agree better with every measure of importance (`docs/treatments.md`). So a treatment is
also compared with the untreated model at the same mean entropy.
"""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import entr, softmax
from torch import nn

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import FlatClassifier, Site, Subject
from heatcheck.models.classifiers.normalisers import NORMALISERS
from heatcheck.training.evaluation import batches_by_length
from heatcheck.training.recorded import record

WIDEST = 20.0  # the factor is searched between 2^−20 and 2^20, a million
STEPS = 60  # of the bisection: as exact as a float can be
FAR = -1e30  # the score of what is no word: finite, so that a factor of it is a number


def mean_entropy(subject: Subject, examples: Sequence[Example]) -> float:
    """Mean entropy, in nats, of the weights that the first decision is read from: 0 = all weight on one word."""
    found = record(subject, examples)
    return float(np.mean([entr(weights[:, 0].astype(float)).sum(-1).mean() for weights in found.each]))


def temperature(subject: FlatClassifier, entropy: float, examples: Sequence[Example]) -> float:
    """The factor of the attention scores at which the mean entropy of the weights on these texts is as given.

    Above 1 the weights become sharper. The entropy falls as the factor rises, so bisection finds it. Equal scores stay
    equal at every factor: if the entropy is out of reach, the factor is the end of the range that comes nearest.
    """
    if not 0 <= entropy < np.inf:
        raise BadInput(f"the mean entropy must be a number of nats, at least 0, not {entropy}.")
    scores = _scores(subject, examples)
    low, high = -WIDEST, WIDEST
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = float(entr(softmax(2.0**middle * scores, axis=1)).sum(1).mean())
        low, high = (middle, high) if found > entropy else (low, middle)
    return float(2.0 ** ((low + high) / 2))


def temperature_twin(subject: Subject, entropy: float, examples: Sequence[Example]) -> FlatClassifier:
    """The model with its attention scores times a constant, so that the mean entropy of its weights is as given.

    Args:
        subject: the untreated model.
        entropy: the treated model's mean entropy on the same texts (`mean_entropy`).
        examples: texts of dev.
    """
    if not isinstance(subject, FlatClassifier) or not NORMALISERS[subject.settings.normaliser].is_softmax:
        raise NotSupported("a temperature twin needs a classifier of heatcheck with one softmax attention over words.")
    scorer = getattr(subject.attention, "score", None)
    if not isinstance(scorer, nn.Linear):
        raise NotSupported(
            "a temperature twin needs an attention with a scorer of its own; attention=dot with a question has none."
        )
    factor = temperature(subject, entropy, examples)
    twin = deepcopy(subject)
    scorer = twin.attention.score
    assert isinstance(scorer, nn.Linear)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.mul_(factor)
    twin.recipe = None  # nothing was trained, so nobody can train it again
    return twin.eval()


@torch.inference_mode()
def _scores(subject: FlatClassifier, examples: Sequence[Example]) -> Float[np.ndarray, "example token"]:
    """The scores of each text's words for the first decision, the largest 0, in float64."""
    found = []
    for rows in batches_by_length(examples, 128, subject):
        batch = subject.encode([examples[row] for row in rows])
        scores = subject.run(batch, want=[Site("score")]).parts[Site("score")][:, 0, 0].double()
        scores = scores - scores.masked_fill(~batch.scored, -torch.inf).amax(1, keepdim=True)
        found.append(scores.masked_fill(~batch.scored, FAR).cpu().numpy())
    longest = max(part.shape[1] for part in found)
    return np.concatenate([np.pad(part, ((0, 0), (0, longest - part.shape[1])), constant_values=FAR) for part in found])
