"""Attention without its weights, and some rows of the weights: m · T numbers a head instead of T².

PyTorch's own kernel (`scaled_dot_product_attention`) makes the output. The rows that somebody asked for are spelled out
beside it, softmax(q Kᵀ). Both know scaled products and a mask, and nothing else: a family whose attention does more
(soft-capping, sinks, position biases) keeps its eager function (transformer.py tries it).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.contract.rows import OnRows, Rows, along
from heatcheck.models.contract.subject import Site, Tap
from heatcheck.models.contract.weights import visible

Queries = Float[Tensor, "example head query feature"]
Keys = Float[Tensor, "example head key feature"]
Values = Float[Tensor, "example head key size"]
STRONG = 100.0  # a score that no soft-capping leaves alone
LONG = 1024  # tokens; a longer text is read without all of its weights


class Seen(NamedTuple):
    """Which key a query sees: a mask of both, True or 0 where it does; or none, with all earlier keys or simply all."""

    mask: Tensor | None
    causal: bool

    def of(self, queries: Int[Tensor, "example asked"], scores: Tensor) -> Tensor | None:
        """The mask of some queries, for scores [example head asked key]."""
        keys = scores.shape[-1]
        if self.mask is None:
            if not self.causal:
                return None
            return torch.arange(keys, device=scores.device) <= queries.to(scores.device)[:, None, :, None]
        whole = self.mask.expand(len(scores), *self.mask.shape[1:])
        return whole.gather(2, along(queries, whole))


class Asked(NamedTuple):
    """Rows that are wanted or edited at one attention: of these queries, or of none."""

    queries: Int[Tensor, "example asked"] | None
    edit: OnRows | None


def asked_rows(tap: Tap, where: str) -> Asked | None:
    """What a pass asks of an attention's weights and scores, if it is rows of the same queries; None if it is more."""
    weights, scores = Site("attention", where), Site("score", where)
    edit = tap.edits.get(weights)
    if scores in tap.edits or not (edit is None or isinstance(edit, OnRows)):
        return None
    kept = [tap.reductions.get(site) for site in (weights, scores) if site in tap.want]
    if not all(isinstance(reduce, Rows) for reduce in kept):
        return None
    queries = [one.queries for one in (*kept, edit) if isinstance(one, Rows | OnRows)]
    if any(not torch.equal(one, queries[0]) for one in queries[1:]):
        return None
    return Asked(queries[0] if queries else None, edit)


def output(
    query: Queries, key: Keys, value: Values, seen: Seen, scaling: float | None
) -> Float[Tensor, "example head query size"]:
    """What the heads read; no weights are held."""
    found: Tensor = nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=seen.mask, is_causal=seen.causal, scale=scaling
    )
    return found


def rows_of_scores(
    query: Queries, key: Keys, seen: Seen, queries: Int[Tensor, "example asked"], scaling: float | None
) -> Float[Tensor, "example head asked key"]:
    """The masked scores of some queries, before the softmax."""
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = torch.matmul(query.gather(2, along(queries, query)), key.transpose(2, 3)) * scale
    mask = seen.of(queries, scores)
    if mask is None:
        return scores
    return masked(scores, mask) if mask.dtype == torch.bool else scores + mask


def masked(scores: Tensor, seen: Bool[Tensor, "*batch"]) -> Tensor:
    """As transformers masks them: a row that sees nothing must have a softmax too."""
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min)


def weights_of(scores: Float[Tensor, "example head asked key"]) -> Float[Tensor, "example head asked key"]:
    """The softmax, in float32 at least."""
    at_least = torch.promote_types(scores.dtype, torch.float32)
    return scores.softmax(-1, dtype=at_least).to(scores.dtype)


def spread(grouped: Tensor, heads: int) -> Tensor:
    """Keys or values that several heads share, once for each head."""
    return grouped if grouped.shape[1] == heads else grouped.repeat_interleave(heads // grouped.shape[1], dim=1)


def additive(seen: Seen, query: Tensor, key: Tensor) -> Tensor | None:
    """The mask as an eager function takes it, if one attention of a long text needs all of its weights after all."""
    mask = seen.mask
    if mask is None and seen.causal:
        mask = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=key.device).tril()[None, None]
    if mask is None or mask.dtype != torch.bool:
        return mask
    return masked(torch.zeros(mask.shape, dtype=query.dtype, device=mask.device), mask)


def agrees(
    eager: Callable[..., tuple[Tensor, Tensor | None]],
    parts: tuple[Tensor, Tensor, Tensor],
    seen: Seen,
    options: Mapping[str, Any],
) -> bool:
    """Whether a family's own function gives the same, for queries and keys of these directions and great length."""
    query, key, value = (part.float() for part in parts)
    long = (STRONG * query.shape[-1] ** 0.5) ** 0.5  # products of two such are up to STRONG, once they are scaled
    query, key = (long * nn.functional.normalize(part, dim=-1) for part in (query, key))
    theirs, weights = eager(query, key, value, additive(seen, query, key))
    if weights is None:
        return False
    key, value = (spread(part, query.shape[1]) for part in (key, value))
    scaling = options.get("scaling")
    every = torch.arange(query.shape[2], device=query.device).expand(len(query), -1)
    scores = rows_of_scores(query, key, seen, every, scaling)
    real = visible(scores).any(-1, keepdim=True)  # padding may see nothing at all, and then reads anything
    off = (weights_of(scores) - weights) * real
    apart = (output(query, key, value, seen, scaling) - theirs.transpose(1, 2)) * real
    return bool(off.abs().max() < 1e-3) and bool(apart.abs().max() <= 1e-3 * value.abs().max())
