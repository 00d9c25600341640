"""What a bag-of-words model thinks of each word: importance without attention, context or this model."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, of_first_decision, token_log_odds


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The word's log-odds for the label the subject predicts; 0 at stop words and words the regression never saw.

    Signed, because the size of it is the published |log-odds| and the sign says which of the words speak against.
    """

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        found = token_log_odds(subject, batch)
        run = subject.run(batch)
        predicted = run.logits[:, 0].argmax(-1)
        return of_first_decision(found, run).take_along_dim(predicted[:, None, None], 2)[..., 0].nan_to_num(0.0)

    return explain_tokens(subject, examples, score)


log_odds = Explainer(
    "log_odds",
    "log-odds of the predicted label in a bag-of-words logistic regression on the same training texts",
    signed=True,
    explain=explain,
    paper="Jain & Wallace's released code, 2019",
)
