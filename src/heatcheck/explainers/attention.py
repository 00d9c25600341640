"""The heatmap itself."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The weights of the read-out behind the first decision, summed over heads."""
    site = subject.sites[-1]

    @torch.no_grad()
    def weights(batch: Batch) -> Float[Tensor, "example token"]:
        run = subject.run(batch, want=[site])
        of_heads = run.parts[site].sum(1)  # [example query key]
        return of_heads[torch.arange(len(batch), device=of_heads.device), run.row[:, 0]]

    return explain_tokens(subject, examples, weights)


attention = Explainer("attention", "the read-out's weights", signed=False, explain=explain)
