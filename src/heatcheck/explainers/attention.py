"""The heatmap itself."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, heat_sites, token_weights


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The weights of the read-out behind the first decision, mean over heads.

    Where those are over sentences, a word has its sentence's weight times its own within the sentence.
    """

    @torch.no_grad()
    def weights(batch: Batch) -> Float[Tensor, "example token"]:
        return token_weights(subject, subject.run(batch, want=heat_sites(subject)))

    return explain_tokens(subject, examples, weights)


attention = Explainer("attention", "the read-out's weights", signed=False, explain=explain)
