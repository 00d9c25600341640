"""AttAttr: integrated gradients of the label's probability over the attention weights of each layer.

Hao et al. 2021. In one layer at a time all weights A are scaled by k from 0 to 1, while other layers respond. A
weight's attribution is A ⊙ ∫ ∂p(kA)/∂A dk, and over a whole layer these sum to p(A) − p(0). The paper's sum uses the
left end of each step; ours uses the middle, whose error falls with the square of the number of steps.

The paper attributes to pairs of tokens and has no score per word. Ours is the attribution that lies on a token as a
key, summed over heads and queries as in the paper's trees, and averaged over layers: each layer's sum is about the same
probability, so adding them up would count it once per layer.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.probability import explained_labels, label_probability
from heatcheck.explainers.scores import OWN_ANSWER, Aim, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Edits, HasLayers, Site, Subject, has_layers, require_stack
from heatcheck.models.contract.lengths import at_once

STEPS = 16
MOST = 2**14  # tokens whose states are kept for the way back


def attributions(
    subject: Subject, batch: Batch, aim: Aim = OWN_ANSWER, *, steps: int = STEPS
) -> Iterator[Float[Tensor, "example head query key"]]:
    """The attribution of each weight, layer by layer from the bottom."""
    blocks = subject.blocks if isinstance(subject, HasLayers) and has_layers(subject) else ()
    with torch.no_grad():
        run = subject.run(batch, want=blocks[:-1])
    label = explained_labels(run.logits[:, 0], aim.label)
    for number, site in enumerate(subject.sites):
        # A pass begins at the layer, whose input is known.
        start = {blocks[number - 1]: run.parts[blocks[number - 1]]} if blocks and number else {}
        with torch.no_grad():
            own = subject.run(batch, edits=start, want=[site]).parts[site]
        yield own * _mean_slope(subject, batch, site, own, start, label, aim.scale, steps)


def _mean_slope(
    subject: Subject,
    batch: Batch,
    site: Site,
    own: Float[Tensor, "example head query key"],
    start: Edits,
    label: Int[Tensor, " example"],
    scale: float,
    steps: int,
) -> Float[Tensor, "example head query key"]:
    """∂p/∂A at the middle of each step of the way from no weights to the model's own, averaged."""
    total = torch.zeros_like(own)
    places = (torch.arange(steps, device=own.device, dtype=own.dtype) + 0.5) / steps
    several = max(1, min(at_once(subject, batch), MOST // batch.valid.shape[1]) // len(batch))
    for some in torch.split(places, several):
        times = len(some)
        weights = (some[:, None, None, None, None] * own).flatten(0, 1).requires_grad_()
        given = {at: state.repeat(times, 1, 1) for at, state in start.items() if isinstance(state, Tensor)}
        with torch.enable_grad():
            again = subject.run(batch.repeat(times), edits={**given, site: weights})
            worth = label_probability(again, label.repeat(times), scale).sum()
            (slope,) = torch.autograd.grad(worth, weights)
        total += slope.reshape(times, *own.shape).sum(0)
    return total / steps


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """The attribution on each token as a key, summed over heads and queries, averaged over layers."""
    layered = require_stack(subject, "AttAttr")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        total = torch.zeros(batch.valid.shape, dtype=torch.float64, device=batch.valid.device)
        for found in attributions(layered, batch, aim):
            total += found.double().sum((1, 2))
        return total / len(layered.sites)

    return explain_tokens(subject, examples, score, batch_size=16, times=STEPS)


attattr = of_probability(
    "attattr",
    "integrated gradients of the probability over each layer's weights, summed by word and averaged over layers",
    explain,
    signed=True,
    paper="Hao et al. 2021",
)
