"""Attention weights as tensors: softmax over the keys that may carry weight, and uniform weights."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.errors import BadInput


def masked_softmax(
    scores: Float[Tensor, "example head query key"], scored: Bool[Tensor, "example key"]
) -> Float[Tensor, "example head query key"]:
    """Softmax over the scored keys; all other keys get exactly zero.

    >>> masked_softmax(torch.zeros(1, 1, 1, 3), torch.tensor([[True, True, False]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    refuse_empty(scored)
    return scores.masked_fill(~scored[:, None, None, :], -torch.inf).softmax(-1)


def refuse_empty(scored: Bool[Tensor, "example key"]) -> None:
    """Raise BadInput if a text has no token to attend to."""
    # A step that is being recorded on a GPU cannot be asked; its texts were encoded, so each has a token.
    recording = scored.is_cuda and torch.cuda.is_current_stream_capturing()
    if not recording and not bool(scored.any(-1).all()):
        raise BadInput("an example has no token to attend to: remove empty texts.")


def softmax_within(
    scores: Float[Tensor, "example head query key"], allowed: Bool[Tensor, "example query key"]
) -> Float[Tensor, "example head query key"]:
    """Softmax over each query's own keys, exact zeros elsewhere; a query without keys gets only zeros.

    >>> softmax_within(torch.zeros(1, 1, 2, 3), torch.tensor([[[True, True, False], [False, False, False]]]))
    tensor([[[[0.5000, 0.5000, 0.0000],
              [0.0000, 0.0000, 0.0000]]]])
    """
    some = allowed.any(-1, keepdim=True)
    # A row of −∞ alone would have no softmax, and no gradient that is a number.
    weights = scores.masked_fill(~(allowed | ~some)[:, None], -torch.inf).softmax(-1)
    return weights * some[:, None]


HIDDEN = (
    -9000.0
)  # masks are written as −10⁴, −10⁹, −∞ or the lowest number there is; no score of a model's own is so low


def visible(scores: Float[Tensor, "*batch"]) -> Bool[Tensor, "*batch"]:
    """Mark the scores that are not masked, just before the softmax.

    >>> visible(torch.tensor([3.0, -50.0, -1e4, torch.finfo(torch.float32).min, -torch.inf]))
    tensor([ True,  True, False, False, False])
    """
    return scores > HIDDEN


def uniform_weights(scored: Bool[Tensor, "example key"]) -> Float[Tensor, "example 1 1 key"]:
    """Equal weights on all scored keys.

    >>> uniform_weights(torch.tensor([[True, True, False]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    return masked_softmax(torch.zeros(scored.shape, device=scored.device)[:, None, None, :], scored)
