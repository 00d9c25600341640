"""Effective attention: the weights of the last layer, without the part that cannot reach the head's output.

Brunner et al. 2020. A head computes A·V. If a text has more tokens than a head has dimensions, many A give the same
A·V. Effective attention is the smallest of them: A without its part in the left null space of V. It may be negative,
and its rows need not sum to 1. Padding is not a key, and in a decoder each row is projected within the keys that it can
see; otherwise weight would appear on words that were never read.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import HasLayers, Run, Site, Subject, require_layers, values_read, visible
from heatcheck.stats.span import Projected, onto_span


@torch.no_grad()
def effective_weights(subject: HasLayers, batch: Batch, site: Site, *, read_out_only: bool = False) -> Projected:
    """The projected weights [example head query key] of one layer, and the rank of the values that a row sees.

    Rows of padding see nothing and are zero.

    Args:
        read_out_only: compute only the row that the first decision is read from, so that there is one query.
    """
    parts = {part: Site(part, site.where) for part in ("attention", "score", "value")}
    run = subject.run(batch, want=list(parts.values()))
    weights, values = run.parts[parts["attention"]], run.parts[parts["value"]]
    seen = _visible(run.parts[parts["score"]], batch)
    if read_out_only:
        weights, seen, values = _one_row(weights, run), _one_row(seen, run), values_read(subject, values)
    precision = float(torch.finfo(values.dtype).eps)
    return onto_span(_array(weights), _array(values), seen.cpu().numpy(), precision=precision)


def _visible(scores: Float[Tensor, "example head query key"], batch: Batch) -> Bool[Tensor, "example head query key"]:
    """What the mask lets through, of what is a text."""
    return visible(scores) & batch.valid[:, None, None, :] & batch.valid[:, None, :, None]


def _one_row(rows: Tensor, run: Run) -> Tensor:
    """[example head query key] to [example head 1 key]."""
    return rows[torch.arange(len(rows), device=rows.device), :, run.row[:, 0]][:, :, None]


def _array(part: Tensor) -> np.ndarray:
    return np.asarray(part.double().cpu().numpy())


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The last layer's row of the token that the answer is read from, projected head by head, summed over heads."""
    layered = require_layers(subject, "effective attention")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        found = effective_weights(layered, batch, layered.sites[-1], read_out_only=True)
        return torch.from_numpy(found.weights[:, :, 0].sum(1))

    return explain_tokens(subject, examples, score)


effective_attention = Explainer(
    "effective_attention",
    "the last layer's weights, without the part that cannot reach the head's output",
    signed=True,
    explain=explain,
    paper="Brunner et al. 2020",
)
