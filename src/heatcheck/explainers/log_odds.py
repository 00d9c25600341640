"""The log-odds of each word in a bag-of-words model: importance without attention, context or this model."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.probability import explained_labels
from heatcheck.explainers.scores import Aim, WordScores, of_label
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, of_first_decision, token_log_odds


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """The word's log-odds for the label; 0 for stop words and words that the regression never saw.

    The size is the published |log-odds|; the sign says which words speak against the label.
    """

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        found = token_log_odds(subject, batch)
        run = subject.run(batch)
        label = explained_labels(run.logits[:, 0], aim.label)
        return of_first_decision(found, run).take_along_dim(label[:, None, None], 2)[..., 0].nan_to_num(0.0)

    return explain_tokens(subject, examples, score)


log_odds = of_label(
    "log_odds",
    "log-odds of the predicted label in a bag-of-words logistic regression on the same training texts",
    explain,
    signed=True,
    paper="Jain & Wallace's released code, 2019",
)
