"""Attention as an explainer: the model's own weights, as one score per word."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import HasLayers, Subject, heat_sites, token_weights
from heatcheck.models.contract.parts import rows_behind
from heatcheck.models.contract.rows import Rows


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The weights of the read-out that the first decision is read from, averaged over heads.

    If they are over sentences, a word's score is its own weight within its sentence, times the sentence's weight.
    """

    @torch.no_grad()
    def weights(batch: Batch) -> Float[Tensor, "example token"]:
        if isinstance(subject, HasLayers) and not getattr(subject, "pools", False):
            last = subject.sites[-1]
            rows = Rows(rows_behind(subject, batch))
            return subject.run(batch, want={last: rows}).parts[last].mean((1, 2))
        return token_weights(subject, subject.run(batch, want=heat_sites(subject)))

    return explain_tokens(subject, examples, weights)


attention = Explainer(
    "attention",
    "the attention heatmap: the weights that the answer is read from",
    signed=False,
    explain=explain,
    of_heatmap=True,
)
