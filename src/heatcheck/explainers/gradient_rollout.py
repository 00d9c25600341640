"""Gradient-weighted rollout: a weight counts if raising it would raise the predicted label's logit.

Chefer, Gur & Wolf 2021 (ICCV), the rule for self-attention: with Ā = mean over heads of (∂y/∂A ⊙ A)⁺ for each layer,
R ← R + Ā R from the bottom layer up, starting from the identity; no row is normalised. (Their CVPR paper uses
relevances instead of A.) It costs one forward and one backward pass for a whole batch.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.layers import Layers
from heatcheck.explainers.probability import explained_labels
from heatcheck.explainers.scores import OWN_ANSWER, Aim, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Site, Subject, require_stack


def explained_logit(run: Run, label: int | None = None) -> Float[Tensor, " example"]:
    """The logit of a label in the first decision; None: of the predicted label.

    A model with a lone output z has the logits (0, z); there the first label's is -z.
    """
    logits = run.logits[:, 0]
    own = logits.gather(1, explained_labels(logits, label)[:, None])[:, 0]
    lone = (logits.shape[1] == 2) & (own == 0) & (logits[:, 0] == 0)
    return torch.where(lone, -logits[:, -1], own)


def weigh_by_gradient(subject: Subject, batch: Batch, aim: Aim = OWN_ANSWER) -> tuple[Run, Layers]:
    """One pass there and back, and (∂y/∂A ⊙ A)⁺ of each layer, bottom to top, averaged over heads; y is a logit
    times the scale.

    Heads are averaged as soon as the gradient has reached a layer: gradients of all heads of all layers are never in
    memory together.
    """
    found: dict[Site, Tensor] = {}
    first = subject.sites[0]
    entry: list[Tensor] = []

    def watch(site: Site) -> Callable[[Tensor], Tensor]:
        def note(weights: Tensor) -> Tensor:
            used = weights if weights.requires_grad else weights.detach().requires_grad_()
            kept = used.detach()

            def reduce(slope: Tensor) -> None:
                found[site] = (slope * kept).clamp_(min=0).mean(1)

            if site == first:
                entry.append(used)
            else:
                used.register_hook(reduce)  # type: ignore[no-untyped-call]  # torch has no types for it
            return used

        return note

    with torch.enable_grad():
        run = subject.run(batch, edits={site: watch(site) for site in subject.sites})
        # On its way to the lowest weights the gradient meets all others, and no parameter's is computed.
        (slope,) = torch.autograd.grad(aim.scale * explained_logit(run, aim.label).sum(), entry)
    found[first] = (slope * entry[0].detach()).clamp(min=0).mean(1)
    return run, torch.stack([found[site] for site in subject.sites], dim=1)


def relevance_row(weighted: Layers, run: Run) -> Float[Tensor, "example key"]:
    """The read-out's row of (I + Ā_L) … (I + Ā_1), less the identity.

    From the left only one row is carried along. The identity is the read-out token's own entry, dropped in the paper:
    [CLS] is no word. A decoder's last token is one, and keeps what came to it through attention.
    """
    start = run.readers(weighted.shape[-1]).to(weighted.dtype)[:, None]
    row = start
    for layer in reversed(weighted.unbind(1)):
        row = row + row @ layer
    return (row - start)[:, 0]


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """The read-out's row for the label's logit."""
    layered = require_stack(subject, "gradient-weighted rollout")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        run, weighted = weigh_by_gradient(layered, batch, aim)
        return relevance_row(weighted, run)

    return explain_tokens(subject, examples, score)


gradient_rollout = of_probability(
    "gradient_rollout",
    "rollout of the weights times the gradient of the predicted label's logit, positive part only",
    explain,
    signed=False,
    paper="Chefer et al. 2021 (ICCV)",
)
