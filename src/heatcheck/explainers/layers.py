"""Every layer of a transformer at once: the weights of a batch."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Run, Site, Subject

Layers = Float[Tensor, "example layer query key"]


@torch.no_grad()
def mean_attention(subject: Subject, batch: Batch) -> tuple[Run, Layers]:
    """A plain pass, and the weights of each layer, bottom to top, averaged over heads; in float64.

    Heads are averaged as soon as a layer has them, so that no more than one layer's are in memory.
    """
    found: dict[Site, Tensor] = {}

    def average(site: Site) -> Callable[[Tensor], Tensor]:
        def note(weights: Tensor) -> Tensor:
            found[site] = weights.double().mean(1)
            return weights

        return note

    run = subject.run(batch, edits={site: average(site) for site in subject.sites})
    return run, torch.stack([found[site] for site in subject.sites], dim=1)


def row_of(matrices: Float[Tensor, "example query key"], run: Run) -> Float[Tensor, "example key"]:
    """The row of each example's read-out, for its first decision; the mean over rows that it pools."""
    return run.behind(matrices[:, None])[:, 0]
