"""What each word adds to the answer: its attention weight times what its state says for the label."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.explainers.probability import explained_labels
from heatcheck.explainers.scores import Aim, WordScores, of_label
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, require_words, response


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """α_t · (r_t + b) of the label, minus the mean over the other labels that the example may have.

    Unlike the weights, it is the same, up to one factor per text, in every twin that trades a word's weight for its
    vote (checks/gauge.py). The bias is shared among the tokens because the weights sum to 1.
    """
    require_words(subject, "contribution")

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        found = response(subject, batch)
        if found.relevance is None or found.bias is None:
            raise NotSupported(
                f"contribution needs logits that are linear in the weights, and those of {subject.id} are not."
            )
        weights = found.attention[:, 0, 0]
        votes = found.relevance[:, 0] + found.bias[:, 0, None]  # [example token label]
        logits = torch.einsum("et,etl->el", weights, votes)
        own = torch.nn.functional.one_hot(explained_labels(logits, aim.label), logits.shape[-1]).bool()
        others = ~own if batch.options is None else batch.options & ~own
        share = others / others.sum(-1, keepdim=True).clamp(min=1)
        return weights * torch.einsum("etl,el->et", votes, own.to(votes.dtype) - share)

    return explain_tokens(subject, examples, score)


contribution = of_label(
    "contribution",
    "the token's weight times its state's vote for the predicted label: what it adds to the answer",
    explain,
    signed=True,
    paper="Sun & Lu 2020; unchanged in a gauge twin",
)._replace(of_heatmap=True)
