"""Splits a model's texts by predicted class, for the panels of a study's figures."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from heatcheck.results import Model

CLASSES = 3  # more are drawn together, as published


def parts_of(model: Model) -> Iterator[tuple[str, Bool[np.ndarray, " example"]]]:
    """The texts of each predicted class, or all texts if a grid cannot show so many classes."""
    predicted = model.examples["predicted"]
    if len(model.labels) > CLASSES:
        yield "", np.ones(len(predicted), bool)
        return
    for at, label in enumerate(model.labels):
        yield label, predicted == at
