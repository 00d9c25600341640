"""Value zeroing: how far each token's state moves, layer by layer, if another token says nothing there.

Mohebbi et al. 2023. In one layer the value of token j is set to zero in all heads, and the block is computed again from
the same input. Its effect on token i is the cosine distance between the two outputs. Unlike weights this includes what
values, norms and the MLP do. Each row is divided by its sum, and layers are multiplied as in rollout; the residual is
in the outputs already, so no identity is added.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Edit, HasLayers, Site, Subject, require_layers
from heatcheck.models.contract.edits import at_tokens, zero
from heatcheck.models.contract.lengths import at_once
from heatcheck.models.contract.until import run_until

TINY = 1e-300


@torch.no_grad()
def mixing(subject: HasLayers, batch: Batch) -> Iterator[Float[Tensor, "example query key"]]:
    """Each layer's distances, from the bottom, rows divided by their sum: one pass through one block per token."""
    first = Site("input", subject.blocks[0].where)
    states = subject.run(batch, want=[first, *subject.blocks]).parts
    places = batch.valid.nonzero()
    for start, site, block in zip((first, *subject.blocks), subject.sites, subject.blocks, strict=False):
        found = torch.zeros(*batch.valid.shape, batch.valid.shape[1], dtype=torch.float64, device=batch.valid.device)
        for example, token in (some.T for some in torch.split(places, at_once(subject, batch))):
            alone = torch.nn.functional.one_hot(token, batch.valid.shape[1]).bool()
            silent: dict[Site, Edit] = {
                start: states[start][example],
                Site("value", site.where): at_tokens(alone, zero),
            }
            moved = run_until(subject, batch.take(example), block, edits=silent)
            found[example, :, token] = cosine_distance(states[block][example], moved)
        found *= batch.valid[:, :, None]
        yield found / found.sum(-1, keepdim=True).clamp(min=TINY)


def cosine_distance(one: Float[Tensor, "*batch size"], other: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch"]:
    """1 − cos, as half the squared distance of the directions: exact for states that hardly differ.

    >>> cosine_distance(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])).item()
    1.0
    """
    directions = (torch.nn.functional.normalize(states.double(), dim=-1) for states in (one, other))
    return (next(directions) - next(directions)).square().sum(-1) / 2


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The row of the token that the answer is read from, all layers multiplied."""
    layered = require_layers(subject, "value zeroing")

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        layers = list(mixing(layered, batch))
        row = layered.run(batch).readers(batch.valid.shape[1]).to(layers[0])[:, None]
        for layer in reversed(layers):
            row = row @ layer
        return row[:, 0]

    return explain_tokens(subject, examples, score)


value_zeroing = Explainer(
    "value_zeroing",
    "how far states move if a word's value is zero in a layer, over all layers",
    signed=False,
    explain=explain,
    paper="Mohebbi et al. 2023",
)
