"""A bag-of-words model's log-odds of each token, and the attention weights made from them.

The table of log-odds comes from a logistic regression on the same training texts (training/logistic_regression.py). It
is stored with a classifier, so that it can be used without the texts.
"""

from typing import Protocol, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Vocabulary
from heatcheck.errors import NotSupported
from heatcheck.models.contract.parts import require_words
from heatcheck.models.contract.subject import Run, Subject
from heatcheck.models.contract.weights import masked_softmax


class KnowsLogOdds(Protocol):
    """A model that reads `tokens` of a vocabulary and carries their log-odds [word label]; None if it has none."""

    vocabulary: Vocabulary
    log_odds: Tensor | None


def knows_log_odds(subject: object) -> TypeGuard[KnowsLogOdds]:
    """Whether a model has a place for log-odds. From Python 3.12 on, isinstance misses a torch module's buffers."""
    return hasattr(subject, "vocabulary") and hasattr(subject, "log_odds")


def word_log_odds(subject: Subject) -> tuple[Vocabulary, Float[Tensor, "word label"]]:
    """The model's words and their log-odds for each label; nan for words that the regression never saw.

    The regression never sees stop words and special tokens. A 0 is a word that it saw and dropped.
    """
    if not knows_log_odds(subject) or subject.log_odds is None:
        raise NotSupported(
            f"{subject.id} carries no log-odds of a bag-of-words model: a recent `heatcheck train` stores them, for up "
            "to 20 labels. Train it again with `heatcheck train TASK --out FOLDER`."
        )
    return subject.vocabulary, subject.log_odds


def token_log_odds(subject: Subject, batch: Batch) -> Float[Tensor, "example token label"]:
    """Each token's log-odds for each label; nan at stop words, unknown words, start, end and padding."""
    found: Tensor = word_log_odds(subject)[1][batch.inputs["tokens"]]
    return found


def of_first_decision(log_odds: Float[Tensor, "..."], run: Run) -> Float[Tensor, "..."]:
    """Log-odds [… label] of each answer to the first decision: the labels, or no and yes to the first label."""
    if run.logits.shape[1] == 1:
        return log_odds
    return torch.stack([-log_odds[..., 0], log_odds[..., 0]], dim=-1)


def log_odds_weights(subject: Subject, batch: Batch) -> Float[Tensor, "example 1 1 key"]:
    """Softmax of |log-odds|, averaged over the labels: the same weights for every head and query.

    Stop words and unknown words get no weight. A text without other words gets uniform weights.
    """
    require_words(subject, "attention weights from a bag of words")
    sizes = token_log_odds(subject, batch).abs().mean(-1)
    read = batch.scored & batch.valid
    known = read & ~sizes.isnan()
    known = known | (read & ~known.any(1, keepdim=True))
    return masked_softmax(sizes.nan_to_num(0.0)[:, None, None, :], known)
