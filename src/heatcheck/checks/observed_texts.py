"""For recorded training runs: log-odds of each word in a bag of words, and a few short texts to draw."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.data import Example
from heatcheck.explainers.tokens import pool
from heatcheck.models import Subject, token_log_odds
from heatcheck.training import Observed

SHORTEST, LONGEST = 5, 12  # words of a text that can be drawn


def shown_texts(
    subject: Subject,
    probe: Sequence[Example],
    labels: Sequence[str],
    learned: Sequence[Observed],
    uniform: Sequence[Observed],
    count: int,
) -> list[dict[str, Any]]:
    """The first texts that are short enough to draw, as plain facts: one row per checkpoint, one number per word."""
    rows = [row for row, example in enumerate(probe) if SHORTEST <= len(example.words) <= LONGEST][:count]
    found = []
    for row in rows:
        batch = subject.encode([probe[row]])
        word = batch.word[0][batch.scored[0]].cpu().numpy()

        def over(seen: Sequence[Observed], quantity: str, row: int = row, word: np.ndarray = word) -> Any:
            tokens = [of.padded(quantity)[row][of.valid[row]] for of in seen]
            pooled = [np.nan_to_num(pool(values, word, len(probe[row].words))) for values in tokens]
            return np.round(pooled, 4).tolist()

        found.append(
            {
                "id": probe[row].id,
                "words": list(probe[row].words),
                "label": labels[learned[0].gold[row]],
                "attention": over(learned, "attention"),
                "relevance": over(learned, "relevance"),
                "uniform_relevance": over(uniform, "relevance"),
            }
        )
    return found


def log_odds_of(
    subject: Subject, probe: Sequence[Example], valid: Bool[np.ndarray, "example token"]
) -> Float[np.ndarray, "example token"]:
    """A logistic regression's log-odds of the right label minus the mean of the others; 0 for unknown words."""
    batch = subject.encode(probe)
    odds = token_log_odds(subject, batch).nan_to_num(0.0)
    assert batch.gold is not None  # observed texts have labels
    own = odds.take_along_dim(batch.gold[:, :1, None], 2)[..., 0]
    margin = own - (odds.sum(-1) - own) / (odds.shape[-1] - 1)
    found = np.zeros(valid.shape)
    found[valid] = margin[batch.scored].double().cpu().numpy()
    return found
