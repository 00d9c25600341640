"""`scaled_dot_product_attention` as its documentation spells it out, in two steps, so that both can be met."""

import torch
from torch import Tensor


def masked_scores(
    query: Tensor, key: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """Scaled products of queries and keys; −inf where a query may not see a key.

    >>> masked_scores(torch.ones(2, 1), torch.ones(2, 1), is_causal=True)
    tensor([[1., -inf],
            [1., 1.]])
    """
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    if attn_mask is None:
        return scores
    return scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask


def weights_of_scores(scores: Tensor) -> Tensor:
    """The softmax over keys; zeros for a query that may see none."""
    blind = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
