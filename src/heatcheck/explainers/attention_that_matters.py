"""The weights of all heads in all layers, each head counted by how much it matters to the model's answers.

A head's share is the mean size of the slope of the loss at a gate on it (Michel et al. 2019). It is estimated on the
other half of the examples, so that no example decides how it is explained.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.heads.halves import in_halves
from heatcheck.heads.proxy import estimate_each
from heatcheck.models import HasLayers, Subject, require_layers, whole_model
from heatcheck.models.contract.parts import rows_behind
from heatcheck.models.contract.rows import Rows

NAME = "attention_that_matters"


def head_shares(subject: HasLayers, examples: Sequence[Example]) -> Float[Tensor, "layer head"]:
    """How much each head matters on these examples; all heads together have 1."""
    unlabelled = [example.but(label=None) for example in examples]
    found = torch.from_numpy(estimate_each(subject, unlabelled, None, ()).importance).nan_to_num().mean(-1)
    total = found.sum()
    return found / total if total > 0 else torch.full_like(found, 1 / found.numel())


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """Σ_h w_h α_h over the read-out's row of every layer, with w_h from the other half of the examples."""
    layered = require_layers(whole_model(subject), NAME)
    second = in_halves(examples, NAME, seed=seed)
    half_of = {example.id: int(half) for example, half in zip(examples, second, strict=True)}
    halves = [[e for e, half in zip(examples, second, strict=True) if half == which] for which in (True, False)]
    shares = torch.stack([head_shares(layered, other) for other in halves])  # of the first half, from the second, …

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        rows = Rows(rows_behind(layered, batch))
        run = layered.run(batch, want=dict.fromkeys(layered.sites, rows))
        own = shares[[half_of[name] for name in batch.ids]].to(batch.valid.device)  # [example layer head]
        total = torch.zeros(batch.valid.shape, dtype=torch.float64, device=batch.valid.device)
        for layer, site in enumerate(layered.sites):
            weights = run.parts[site].double().mean(2)
            total += torch.einsum("eh,ehk->ek", own[:, layer, : weights.shape[1]], weights)
        return total

    return explain_tokens(subject, examples, score)


attention_that_matters = Explainer(
    NAME,
    "the weights of all heads, each head counted by how much the answers to other examples depend on it",
    signed=False,
    explain=explain,
    paper="Michel et al. 2019 for how much a head matters",
    together=True,
)
