"""How far each token pushes an attention layer's output in that output's direction: signed weights that sum to 1.

Experimental. Cunningham & Muça Cirone 2026 (ICML, arXiv 2606.07604) call such projections contribution weights. Only
their abstract and first figure could be read. These tell of a projection that takes in a token's weight, the size of
its value, and its direction relative to the layer's output; the figure draws it head by head. The formula below is the
projection that sums to 1, for all heads together. Theirs may differ in what it is normalised by.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.norms import layers_of
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject
from heatcheck.models.hf.layer import Layer


def projections(layer: Layer) -> Float[Tensor, "example key"]:
    """⟨Σ_h α_h f_h(x_j), o⟩ / ‖o‖² of the read-out's query, o what its heads write together, less the bias b_O.

    o is taken back through the projection to the heads, so that no key's vector is ever made.
    """
    weights = layer.of_readout()
    contexts = torch.einsum("ehk,ehkf->ehf", weights, layer.values)
    together = torch.einsum("ehf,hfs->es", contexts, layer.projection)
    asked = torch.einsum("es,hfs->ehf", together, layer.projection)
    pushed = torch.einsum("ehk,ehkf,ehf->ek", weights, layer.values, asked)
    size = together.square().sum(-1, keepdim=True)
    return torch.where(size > 0, pushed / size.clamp(min=torch.finfo(size.dtype).tiny), 0.0)


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """Score tokens by the read-out's row in the last layer."""
    layers = layers_of(subject, "contribution_weights")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        (found,) = layers(batch, projections, only_last=True)
        return found

    return explain_tokens(subject, examples, score)


contribution_weights = Explainer(
    "contribution_weights",
    "experimental: how far the token pushes the last attention's output in that output's direction; sums to 1",
    signed=True,
    explain=explain,
    paper="after Cunningham & Muça Cirone 2026; formula inferred from the abstract",
)
