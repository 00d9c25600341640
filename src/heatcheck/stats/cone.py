"""How narrow the cone is that vectors lie in, as a tensor with gradients (Mohankumar et al. 2020)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LEAST_NORM = 1e-12  # a shorter vector has no direction: its cosine is taken as 0


def conicity(
    vectors: Float[Tensor, "*batch item feature"], valid: Bool[Tensor, "*batch item"]
) -> Float[Tensor, "*batch"]:
    """Mean |cosine| between each vector and the mean of all: 1 = all on one line, near 0 = in all directions.

    Half the vectors pointing one way and half the other have a mean of 0, which has no direction: the result is 0.

    >>> conicity(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([True, True]))
    tensor(0.7071)
    """
    count = valid.sum(-1).clamp(min=1)
    kept = vectors.masked_fill(~valid[..., None], 0.0)
    mean = kept.sum(-2) / count[..., None]
    direction = torch.nn.functional.normalize(mean, dim=-1, eps=LEAST_NORM)
    each = torch.nn.functional.normalize(kept, dim=-1, eps=LEAST_NORM)
    cosine = (each * direction[..., None, :]).sum(-1)
    return cosine.abs().sum(-1) / count
