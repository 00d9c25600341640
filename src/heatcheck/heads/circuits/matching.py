"""How much of a head's weight lies where an induction head, a previous-token or a duplicate-token head would look.

All three are means over *repeated* queries: tokens that stood in the text before. The first copy of a repeated text has
nothing to match, so a mean over all queries would be about ½ for a perfect induction head on a text that stands twice.
Put a BOS in front: a previous-token head has nothing before the first token, and points it at itself.

Olsson et al. 2022. Leading axes of the weights broadcast against those of the tokens, such as
[seed example head query key] and [example token].
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Weights = Float[Tensor, "*batch head query key"]
Tokens = Int[Tensor, "*#batch token"]
Queries = Bool[Tensor, "*#batch token"]


def prefix_matching(weights: Weights, tokens: Tokens, queries: Queries | None = None) -> Float[Tensor, "*batch head"]:
    """The weight on keys whose previous token is the query's: mean over queries i of Σ_{j ≤ i, t_{j−1} = t_i} A[i, j].

    1: the head looks only at what followed earlier copies of the query, as an induction head does.

    Args:
        tokens: ids of the tokens, a BOS among them.
        queries: which queries count; None: all repeated ones.

    >>> perfect = torch.tensor([[1.0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    >>> prefix_matching(perfect[None], torch.tensor([9, 7, 5, 7]))
    tensor([1.])
    """
    return mass(weights, follows_a_copy(tokens), repeated(tokens) if queries is None else queries)


def previous_token(weights: Weights, tokens: Tokens, queries: Queries | None = None) -> Float[Tensor, "*batch head"]:
    """The weight on the token before: mean over queries i of A[i, i − 1]. 1: the head looks nowhere else."""
    place = torch.arange(tokens.shape[-1], device=tokens.device)
    before = (place[:, None] - place == 1).expand(*tokens.shape, tokens.shape[-1])
    return mass(weights, before, repeated(tokens) if queries is None else queries)


def duplicate_token(weights: Weights, tokens: Tokens, queries: Queries | None = None) -> Float[Tensor, "*batch head"]:
    """The weight on earlier copies of the query: mean of Σ_{j < i, t_j = t_i} A[i, j]. 1: it looks nowhere else."""
    return mass(weights, is_a_copy(tokens), repeated(tokens) if queries is None else queries)


def repeated(tokens: Int[Tensor, "*batch token"]) -> Bool[Tensor, "*batch token"]:
    """Tokens that stood in the text before.

    >>> repeated(torch.tensor([9, 7, 5, 7])).tolist()
    [False, False, False, True]
    """
    return is_a_copy(tokens).any(-1)


def is_a_copy(tokens: Int[Tensor, "*batch token"]) -> Bool[Tensor, "*batch token token"]:
    """For each query, the earlier keys with the same token."""
    return (tokens[..., :, None] == tokens[..., None, :]).tril(-1)


def follows_a_copy(tokens: Int[Tensor, "*batch token"]) -> Bool[Tensor, "*batch token token"]:
    """For each query, the keys that stand right behind an earlier copy of it."""
    return torch.nn.functional.pad(is_a_copy(tokens)[..., :-1], (1, 0))


def mass(
    weights: Weights, keys: Bool[Tensor, "*#batch query key"], queries: Bool[Tensor, "*#batch query"]
) -> Float[Tensor, "*batch head"]:
    """The weight of each head on these keys, mean over these queries; NaN if there are none."""
    of_query = (weights * keys[..., None, :, :]).sum(-1)
    chosen = queries[..., None, :]
    return (of_query * chosen).sum(-1) / chosen.sum(-1)


def in_context_score(
    losses: Float[Tensor, "*batch token"], early: int | None = None, late: int | None = None
) -> Float[Tensor, "*batch"]:
    """The loss at a late token less the loss at an early one, in nats; more negative: context helps more.

    Args:
        losses: the loss on each token, in order.
        early: the place of the early token, from 0; None: 50 where the text has more than 500 tokens, else 0.1 of it.
        late: the place of the late token; None: 500, else 0.9 of the text.

    >>> in_context_score(torch.linspace(10, 0, 11)[None])
    tensor([-8.])
    """
    tokens = losses.shape[-1]
    if early is None:
        early = 50 if tokens > 500 else round(0.1 * (tokens - 1))
    if late is None:
        late = 500 if tokens > 500 else round(0.9 * (tokens - 1))
    return losses[..., late] - losses[..., early]
