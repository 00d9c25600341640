"""Some rows of the weights instead of all: what a long text needs, for all of its rows do not fit into memory.

`want={site: Rows(queries)}` keeps the rows of these queries, and an edit `OnRows(queries, edit)` changes them alone.
Any model understands both. A transformer that reads a long text then computes no other row (models/hf/taps.py).
"""

from jaxtyping import Float, Int, Shaped
from torch import Tensor

from heatcheck.models.contract.subject import Edit

Weights = Float[Tensor, "example head query key"]


class Rows:
    """Keep the rows of these queries: [example head query key] to [example head asked key].

    >>> import torch
    >>> Rows(torch.tensor([[1]]))(torch.tensor([[[[0.1, 0.9], [0.4, 0.6]]]]))
    tensor([[[[0.4000, 0.6000]]]])
    """

    def __init__(self, queries: Int[Tensor, "example asked"]) -> None:
        self.queries = queries

    def __call__(self, weights: Weights) -> Float[Tensor, "example head asked key"]:
        return weights.gather(2, along(self.queries, weights))


class OnRows:
    """Edit the rows of these queries, [example head asked key], and leave the others alone.

    >>> import torch
    >>> OnRows(torch.tensor([[1]]), torch.ones(1, 1, 1, 2))(torch.tensor([[[[0.1, 0.9], [0.4, 0.6]]]]))
    tensor([[[[0.1000, 0.9000],
              [1.0000, 1.0000]]]])
    """

    def __init__(self, queries: Int[Tensor, "example asked"], edit: Edit) -> None:
        self.queries, self.edit = queries, edit

    def __call__(self, weights: Weights) -> Weights:
        place = along(self.queries, weights)
        return weights.scatter(2, place, self.change(weights.gather(2, place)))

    def change(self, rows: Float[Tensor, "example head asked key"]) -> Float[Tensor, "example head asked key"]:
        """What these rows become."""
        return (self.edit.to(rows) if isinstance(self.edit, Tensor) else self.edit(rows)).expand_as(rows)


def along(
    queries: Int[Tensor, "example asked"], whole: Shaped[Tensor, "example head query feature"]
) -> Int[Tensor, "example head asked feature"]:
    """The queries as an index into the third axis of weights, a mask, queries or contexts."""
    of = queries.to(whole.device)[:, None, :, None]
    return of.expand(len(whole), whole.shape[1], queries.shape[1], whole.shape[3])
