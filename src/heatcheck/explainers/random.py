"""Random scores: the baseline of every other method."""

from collections.abc import Sequence

from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Subject


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """Uniform random numbers, one stream per example, so that a batch does not change them."""
    return [stream(seed, "random scores", example.id).random(len(example.words)) for example in examples]


random = Explainer("random", "random numbers, as a baseline", signed=False, explain=explain)
