"""Rollout of the relevance of attention weights times their gradient: Chefer, Gur & Wolf 2021, the form of CVPR.

Ā = mean over heads of (∂y/∂A ⊙ Rel)⁺ for each layer, then R ← R + Ā R from the bottom layer up, as in gradient_rollout.
Rel is the relevance that layer-wise propagation leaves at the weights A, of 1 at the label's logit. A matrix product
hands it to inputs by what they add with a positive sign (α = 1, β = 0). A product of two gives half to each. Norms,
softmax and activations hand it on number by number. A sum of two states gives it to both, by what each adds in all.

The rules keep the sum of relevance, but for an output that no input adds to with a positive sign: its part is lost.
They keep it in each text by itself, so that texts of a batch do not touch each other. (The authors' code sums over the
batch, and for BERT normalises rows and starts at the last layer. The paper's formula does not.) It costs two forward
and two backward passes.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.gradient_rollout import relevance_row
from heatcheck.explainers.layers import Layers
from heatcheck.explainers.logit_parts import logit_of
from heatcheck.explainers.norms import require_blocks
from heatcheck.explainers.scores import Aim, WordScores, of_label
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Site, Subject, differentiate


def relevances(
    subject: Subject, batch: Batch, sites: Sequence[Site], label: int | None = None
) -> tuple[Run, dict[Site, Tensor]]:
    """The relevance at each of these places, of 1 at the label's logit (None: the predicted one)."""
    transformer = require_blocks(subject, "relevance_rollout")
    from heatcheck.models.hf.backward import RELEVANCE, following  # transformers takes a second to import

    runs: list[Run] = []

    def unit(run: Run) -> Float[Tensor, " example"]:
        runs.append(run)
        logit = logit_of(transformer, run, label)
        return logit / torch.where(logit == 0, 1.0, logit).detach()

    with following(transformer, RELEVANCE):
        slopes = differentiate(subject, batch, sites, unit)
    return runs[0], {site: runs[0].parts[site].detach() * slope for site, slope in slopes.items()}


def weigh_by_relevance(subject: Subject, batch: Batch, label: int | None = None) -> tuple[Run, Layers]:
    """(∂y/∂A ⊙ Rel)⁺ of each layer, bottom to top, averaged over heads."""
    run, relevant = relevances(subject, batch, subject.sites, label)
    slopes = differentiate(subject, batch, subject.sites, lambda plain: logit_of(subject, plain, label))
    return run, torch.stack([(slopes[site] * relevant[site]).clamp(min=0).mean(1) for site in subject.sites], dim=1)


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """The read-out's row for the label's logit."""
    require_blocks(subject, "relevance_rollout")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        run, weighted = weigh_by_relevance(subject, batch, aim.label)
        return relevance_row(weighted, run)

    return explain_tokens(subject, examples, score)


relevance_rollout = of_label(
    "relevance_rollout",
    "rollout of the weights' relevance times their gradient for the predicted label's logit, positive part only",
    explain,
    signed=False,
    paper="Chefer et al. 2021 (CVPR)",
)
