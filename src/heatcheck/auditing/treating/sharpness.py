"""Stand-in until the treatments bring their own: a temperature twin by scaled score parameters."""

from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from scipy import special

from heatcheck.data import Example
from heatcheck.models import Subject
from heatcheck.training import record


def mean_entropy(subject: Subject, examples: Sequence[Example]) -> float:
    """The mean entropy of the attention weights, in nats."""
    return float(np.mean([special.entr(w.astype(float)).sum() for w in record(subject, examples).weights]))


def temperature_twin(subject: Subject, entropy: float, examples: Sequence[Example]) -> Subject:
    """The same model with its scores times a factor that gives its weights this mean entropy."""
    twin = deepcopy(subject)
    own = {name: value.clone() for name, value in twin.attention.score.named_parameters()}
    low, high = -6.0, 6.0
    for _ in range(14):
        middle = (low + high) / 2
        with torch.no_grad():
            for name, value in twin.attention.score.named_parameters():
                value.copy_(own[name] * 2.0**middle)
        low, high = (middle, high) if mean_entropy(twin, examples) > entropy else (low, middle)
    return twin
