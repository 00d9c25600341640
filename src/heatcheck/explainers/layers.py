"""The attention weights of every layer of a transformer, for a batch."""

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Run, Subject

Layers = Float[Tensor, "example layer query key"]


@torch.no_grad()
def mean_attention(subject: Subject, batch: Batch) -> tuple[Run, Layers]:
    """The weights of each layer, bottom to top, averaged over heads, from a plain pass; in float64.

    Heads are averaged as soon as a layer has them, so that only one layer's are in memory at a time.
    """
    run = subject.run(batch, want=dict.fromkeys(subject.sites, _average))
    return run, torch.stack([run.parts[site] for site in subject.sites], dim=1)


def _average(weights: Float[Tensor, "example head query key"]) -> Float[Tensor, "example query key"]:
    return weights.double().mean(1)


def row_of(matrices: Float[Tensor, "example query key"], run: Run) -> Float[Tensor, "example key"]:
    """The read-out's row of each example's first decision; the mean over rows if the model pools."""
    return run.behind(matrices[:, None])[:, 0]
