"""Attention rollout: how much of each input token is in each token of a layer, assuming that only the weights mix them.

Abnar & Zuidema 2020. A block passes on its input beside what its attention adds, so half of each row stays in place;
the layers are then multiplied, the top layer on the left.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.layers import Layers, mean_attention, row_of
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, require_stack


def with_residual(attention: Layers) -> Layers:
    """(A + I), each row divided by its sum."""
    widened = attention + torch.eye(attention.shape[-1], dtype=attention.dtype, device=attention.device)
    return widened / widened.sum(-1, keepdim=True)


def roll_out(attention: Layers) -> Layers:
    """Up to each layer, from weights averaged over heads, bottom layer first. Rows sum to 1.

    >>> below, above = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]
    >>> roll_out(torch.tensor([[below, above]]))[0, 1].tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    bottom, *above = with_residual(attention).unbind(1)
    found = [bottom]
    for layer in above:
        found.append(layer @ found[-1])
    return torch.stack(found, dim=1)


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The row of the token that the answer is read from, all layers multiplied.

    Weight on [CLS], [SEP] and a second text belongs to no word, so scores over words sum to less than 1.
    """
    layered = require_stack(subject, "rollout")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        run, attention = mean_attention(layered, batch)
        return row_of(roll_out(attention)[:, -1], run)

    return explain_tokens(subject, examples, score)


rollout = Explainer(
    "rollout",
    "product of all layers' weights, half of each row kept in place for the residual",
    signed=False,
    explain=explain,
    paper="Abnar & Zuidema 2020",
)
