"""No explanation at all: the floor that every other is read against."""

from collections.abc import Sequence

from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Subject


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """Uniform numbers, a stream an example: the same alone as in any batch."""
    return [stream(seed, "random scores", example.id).random(len(example.words)) for example in examples]


random = Explainer("random", "numbers drawn at random: the floor", signed=False, explain=explain)
