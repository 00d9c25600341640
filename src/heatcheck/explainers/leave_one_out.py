"""What the predicted label's probability loses without each word."""

from collections.abc import Sequence

import numpy as np

from heatcheck.data import Example
from heatcheck.explainers.removal import delete
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Subject
from heatcheck.training import predict

DIGITS = 6  # a difference below a millionth is the noise of float32 logits: such words are tied


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """p(label) − p(label | the text without the word), the word deleted and the rest encoded again."""
    whole = np.exp(predict(subject, examples)[:, 0])
    predicted = whole.argmax(-1)
    gaps = [(row, place) for row, example in enumerate(examples) for place in _removable(example)]
    scores = [np.full(len(example.words), np.nan) for example in examples]
    if gaps:
        without = np.exp(predict(subject, [delete(examples[row], {place}) for row, place in gaps])[:, 0])
        for (row, place), p in zip(gaps, without, strict=True):
            scores[row][place] = round(whole[row, predicted[row]] - p[predicted[row]], DIGITS)
    return [
        found if len(_removable(example)) else "one word only: nothing is left without it"
        for example, found in zip(examples, scores, strict=True)
    ]


def _removable(example: Example) -> list[int]:
    """Places of words whose deletion leaves a text."""
    places = [place for place, word in enumerate(example.words) if word]
    return places if len(places) > 1 else []


leave_one_out = Explainer(
    "leave_one_out",
    "loss of the predicted label's probability when the word is deleted",
    signed=True,
    explain=explain,
    paper="Jain & Wallace 2019, Algorithm 1",
)
