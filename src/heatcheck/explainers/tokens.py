"""From scores over tokens to scores over words: a word's score is the sum over its tokens."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import WordScores
from heatcheck.models import Subject
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length

OfTokens = Callable[[Batch], Float[Tensor, "example token"]]


def explain_tokens(
    subject: Subject, examples: Sequence[Example], score: OfTokens, *, batch_size: int = 64, times: int = 1
) -> WordScores:
    """Runs `score` over batches of like length and pools its tokens to words; it reads each text so many `times`."""

    def words(indices: list[int]) -> list[np.ndarray]:
        chosen = [examples[i] for i in indices]
        batch = subject.encode(chosen)
        scores = score(batch).detach().double().cpu().numpy()
        word = batch.word.cpu().numpy()
        return [pool(scores[row], word[row], len(example.words)) for row, example in enumerate(chosen)]

    found: dict[int, np.ndarray] = {}
    for indices, of_words in in_memory(batches_by_length(examples, batch_size, subject, times=times), words):
        found.update(zip(indices, of_words, strict=True))
    return [found[place] for place in range(len(examples))]


def pool(scores: np.ndarray, word: np.ndarray, words: int) -> np.ndarray:
    """Sums by word; nan for a word without a token.

    >>> pool(np.array([0.1, 0.2, 0.7, 0.0]), np.array([0, 0, 2, -1]), words=3).round(1)
    array([0.3, nan, 0.7])
    """
    scored = word >= 0
    count = np.bincount(word[scored], minlength=words)
    total = np.bincount(word[scored], weights=scores[scored], minlength=words)
    return np.where(count > 0, total, np.nan)
