"""Edits of one head or of some tokens, made from edits of a whole site.

```python
model.run(batch, edits={model.sites[3]: only_head(5, uniform)})  # head 5 of the fourth layer attends evenly
model.run(batch, edits={Site("value", where): at_tokens(hidden, zero)})  # these tokens say nothing there
```
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.errors import BadInput
from heatcheck.models.contract.subject import Edit


class ByGroup:
    """An edit of keys or values as the model makes them: heads that share them are one group.

    A function sees [example group key feature] instead of one copy for each head.
    """

    def __init__(self, edit: Edit) -> None:
        self.edit = edit

    def __call__(self, own: Tensor) -> Tensor:
        return applied(self.edit, own)


def zero(own: Tensor) -> Tensor:
    """Nothing in its place.

    >>> zero(torch.ones(2))
    tensor([0., 0.])
    """
    return torch.zeros_like(own)


def uniform(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
    """Equal weights on the keys that any head of the row sees; a masked key keeps exactly zero.

    >>> uniform(torch.tensor([[[[0.9, 0.1, 0.0]]]]))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    visible = (own > 0).any(1, keepdim=True)
    return (visible / visible.sum(-1, keepdim=True).clamp(min=1)).to(own.dtype).expand_as(own)


def mean(valid: Bool[Tensor, "example token"]) -> Callable[[Tensor], Tensor]:
    """Put the mean over a batch's tokens in place of each token's own context, value or state; padding counts nowhere.

    >>> mean(torch.tensor([[True, True, False]]))(torch.tensor([[[1.0], [3.0], [9.0]]]))
    tensor([[[2.],
             [2.],
             [2.]]])
    """

    def edit(own: Float[Tensor, "example *head token feature"]) -> Float[Tensor, "example *head token feature"]:
        real = valid.to(own.device)
        counted = real[:, None] if own.ndim == 4 else real
        total = (own * counted[..., None]).sum((0, -2), keepdim=True)
        return (total / real.sum()).expand_as(own)

    return edit


def only_head(head: int, edit: Edit) -> Callable[[Tensor], Tensor]:
    """Edit one head, counted from 0, of weights, scores, queries, values or contexts; the others stay.

    The edit is one of the whole site, of which this head's part is used.

    >>> only_head(1, zero)(torch.ones(1, 2, 1, 1)).flatten()
    tensor([1., 0.])
    """

    def changed(own: Float[Tensor, "example head *batch"]) -> Float[Tensor, "example head *batch"]:
        if not 0 <= head < own.shape[1]:
            raise BadInput(f"there is no head {head}: this layer has {own.shape[1]} heads, counted from 0.")
        this = torch.arange(own.shape[1], device=own.device).reshape(-1, *[1] * (own.ndim - 2)) == head
        return torch.where(this, applied(edit, own), own)

    return changed


def at_tokens(tokens: Bool[Tensor, "example token"], edit: Edit) -> Callable[[Tensor], Tensor]:
    """Edit what stands at these tokens, in values, contexts or states [example … token feature]; the others stay.

    >>> at_tokens(torch.tensor([[False, True]]), zero)(torch.ones(1, 2, 1)).flatten()
    tensor([1., 0.])
    """

    def changed(own: Float[Tensor, "example *head token feature"]) -> Float[Tensor, "example *head token feature"]:
        _require_tokens(tokens, (own.shape[0], own.shape[-2]))
        chosen = tokens.to(own.device).reshape(len(tokens), *[1] * (own.ndim - 3), -1, 1)
        return torch.where(chosen, applied(edit, own), own)

    return changed


def at_keys(tokens: Bool[Tensor, "example token"], edit: Edit) -> Callable[[Tensor], Tensor]:
    """Edit the columns of these tokens, in weights or scores [example head query key]; the others stay.

    >>> at_keys(torch.tensor([[False, True]]), zero)(torch.full((1, 1, 1, 2), 0.5)).flatten()
    tensor([0.5000, 0.0000])
    """

    def changed(own: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
        _require_tokens(tokens, (own.shape[0], own.shape[-1]))
        return torch.where(tokens.to(own.device)[:, None, None], applied(edit, own), own)

    return changed


def applied(edit: Edit, own: Tensor) -> Tensor:
    """What an edit makes of a value."""
    return edit.to(own) if isinstance(edit, Tensor) else edit(own)


def _require_tokens(tokens: Tensor, shape: tuple[int, int]) -> None:
    if tuple(tokens.shape) != shape:
        raise BadInput(f"the tokens to edit have shape {tuple(tokens.shape)}, but the site has shape {shape} there.")
