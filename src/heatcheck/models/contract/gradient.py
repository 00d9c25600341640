"""Gradients of a model's decision with respect to inner quantities, such as embeddings or attention weights."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import NotSupported, in_short
from heatcheck.models.contract.memory import is_out_of_memory
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Subject


def differentiate(
    subject: Subject,
    batch: Batch,
    sites: Sequence[Site],
    target: Callable[[Run], Float[Tensor, " example"]],
    *,
    edits: Edits = NO_EDITS,
) -> dict[Site, Tensor]:
    """d target / d site for each site, separately per example; zero if the target does not depend on the site.

    A site's value is differentiated where it stands in the graph. A step-wise decoder returns copies; there a second
    pass imposes the values as leaves. `edits` apply in both passes.
    """

    def tracked(site: Site) -> Callable[[Tensor], Tensor]:
        def edit(produced: Tensor) -> Tensor:
            given = edits.get(site)
            value = produced if given is None else given if isinstance(given, Tensor) else given(produced)
            return value if value.requires_grad else value.detach().requires_grad_()

        return edit

    # cuDNN's recurrent kernels cannot go backward in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        run = subject.run(batch, edits={**edits, **{site: tracked(site) for site in sites}}, want=sites)
        gradients = _gradients(target(run), [run.parts[site] for site in sites], subject.id)
        if any(gradient is None for gradient in gradients):
            leaves = {site: run.parts[site].detach().requires_grad_() for site in sites}
            again = subject.run(batch, edits={**edits, **leaves})
            imposed = _gradients(target(again), list(leaves.values()), subject.id)
            gradients = [i if g is None else g for g, i in zip(gradients, imposed, strict=True)]
    return {
        site: torch.zeros_like(run.parts[site]) if gradient is None else gradient
        for site, gradient in zip(sites, gradients, strict=True)
    }


def _gradients(values: Float[Tensor, " example"], inputs: Sequence[Tensor], called: str) -> list[Tensor | None]:
    if not values.requires_grad:
        return [None] * len(inputs)
    try:
        return list(torch.autograd.grad(values.sum(), inputs, allow_unused=True))
    except RuntimeError as error:  # a user's own module may write over what its gradient needs
        if is_out_of_memory(error):
            raise
        reason = in_short(error).removeprefix("RuntimeError: ")
        raise NotSupported(
            f"heatcheck cannot take the gradient of {called} ({reason}). A common cause is an in-place operation "
            "in forward."
        ) from error
