"""How much each word's state speaks for the predicted label, whatever its attention weight."""

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
    """r_t of the label, minus the mean over the other labels."""
    require_words(subject, "relevance")

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        found = response(subject, batch)
        if found.relevance is None:
            raise NotSupported(
                f"relevance needs logits that are linear in the weights, and those of {subject.id} are not."
            )
        label = explained_labels(subject.run(batch).logits[:, 0], aim.label)
        votes = found.relevance[:, 0]  # [example token label]
        own = votes.gather(2, label[:, None, None].expand(*votes.shape[:2], 1))[..., 0]
        return own - (votes.sum(-1) - own) / (votes.shape[-1] - 1)

    return explain_tokens(subject, examples, score)


relevance = of_label(
    "relevance",
    "the vote of the token's state for the predicted label, without its weight",
    explain,
    signed=True,
    paper="Snell et al. 2021; Sun & Lu 2020",
)._replace(of_heatmap=True)
