"""Scores tokens by the norm of the vector they add, not by weight alone: a large weight on a small value adds little.

Norms of sums over heads come from inner products of what the heads write: with G_j[h,g] = ⟨f_h(x_j), f_g(x_j)⟩,
‖Σ_h α_hij f_h(x_j)‖² = Σ_hg α_hij α_gij G_j[h,g]. So no vector per pair of tokens is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.explainers.scores import Explain, Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import HasPlaces, Subject, require_layers
from heatcheck.models.hf.layer import Layer

# How much of a block is followed: its attention (Attn-N of Kobayashi et al. 2021); with the residual (AttnRes-N); with
# the norm after it (AttnResLn-N); with the residual around the MLP and its norm too (N-Enc of Modarressi et al. 2022).
# Where norms come first, the last three are the same.
Followed: TypeAlias = Literal["attention", "residual", "norm", "block"]

KOBAYASHI_2020 = "Kobayashi et al. 2020"
KOBAYASHI_2021 = "Kobayashi et al. 2021"


def require_blocks(subject: Subject, what: str) -> Any:
    """The model as one with places; raises NotSupported if heatcheck does not know the inside of its blocks."""
    require_layers(subject, what)
    if not isinstance(subject, HasPlaces):
        raise NotSupported(
            f"{what} needs the inside of a transformer's blocks, which heatcheck does not know for {subject.id}."
        )
    from heatcheck.models.hf.blocks import family_of  # transformers takes a second to import

    transformer: Any = subject
    family_of(transformer)
    if transformer.adapted:
        raise NotSupported(
            f"{what} reads a layer's weights, and those of {subject.id} are not all in it: merge its adapters first "
            "(merge_and_unload)."
        )
    return subject


def layers_of(subject: Subject, what: str) -> Callable[..., list[Tensor]]:
    """`each_layer` of a subject that has them."""
    transformer = require_blocks(subject, what)
    from heatcheck.models.hf.blocks import each_layer

    return partial(each_layer, transformer)


def contribution_norms(layer: Layer, followed: Followed) -> Float[Tensor, "example query key"]:
    """‖what each key adds to each query‖, biases apart.

    Of a `block`, rows are short of one factor: the scale of the MLP's norm, which is the same for all keys.
    """
    written, states = _through_norms(layer, followed)
    inner = torch.einsum("ehks,egks->ekhg", written, written)
    by_key = layer.strengths.permute(0, 3, 2, 1)  # [example key query head]
    squares = (by_key @ inner * by_key).sum(-1).mT
    if followed != "attention":
        own = layer.strengths.diagonal(dim1=2, dim2=3)  # [example head token]
        crossed = torch.einsum("eht,ehts,ets->et", own, written, states)
        squares = squares + torch.diag_embed(2 * crossed + states.square().sum(-1))
    return squares.clamp(min=0).sqrt() / _scale(layer, followed)


def _through_norms(layer: Layer, followed: Followed) -> tuple[Tensor, Tensor]:
    """What is written [example head key size] and what stays, each through the norms' linear parts."""
    written, states = layer.written(), layer.states
    norms = {"norm": [layer.norm], "block": [layer.norm, layer.last]}.get(followed, [])
    for norm in norms:
        if norm is not None:
            written, states = norm.linear(written), norm.linear(states)
    return written, states


def _scale(layer: Layer, followed: Followed) -> Tensor:
    if followed in ("norm", "block") and layer.norm is not None:
        return layer.norm.scale(layer.summed())
    return layer.states.new_ones(1, 1, 1)


def shares(sizes: Float[Tensor, "example query key"]) -> Float[Tensor, "example query key"]:
    """Rows that sum to 1; one without any size stays with its own token."""
    total = sizes.sum(-1, keepdim=True)
    own = torch.eye(sizes.shape[-1], dtype=sizes.dtype, device=sizes.device)
    return torch.where(total > 0, sizes / total.clamp(min=torch.finfo(sizes.dtype).tiny), own)


def rolled_out(
    maps: Sequence[Float[Tensor, "example query key"]], rows: Int[Tensor, " example"]
) -> Float[Tensor, "example key"]:
    """The read-out's row of the product of all layers' shares, the last layer's on the left."""
    found = maps[-1][torch.arange(len(rows), device=rows.device), rows]
    for shared in reversed(maps[:-1]):
        found = torch.einsum("eq,eqk->ek", found, shared)
    return found


def mixing_ratios(
    subject: Subject, batch: Batch, followed: Followed = "norm", *, by_weight: bool = False
) -> Float[Tensor, "example layer token"]:
    """How much of each token comes from others: ‖others' part‖ / (‖others' part‖ + ‖own part‖); 0 at padding.

    `by_weight` uses the heads' mean weights as sizes: Attn-W, and AttnRes-W with the residual, which counts as one.
    """

    def ratio(layer: Layer) -> Float[Tensor, "example token"]:
        return mixing_by_weight(layer, followed) if by_weight else mixing_by_norm(layer, followed)

    found = torch.stack(layers_of(subject, "the mixing ratio")(batch, ratio), dim=1)
    return found * batch.valid[:, None]


def mixing_by_norm(layer: Layer, followed: Followed) -> Float[Tensor, "example token"]:
    """Of one layer. A row's scale is in both parts alike and falls out."""
    written, states = _through_norms(layer, followed)
    own = torch.einsum("eht,ehts->ets", layer.strengths.diagonal(dim1=2, dim2=3), written)
    others = torch.einsum("ehqk,ehks->eqs", layer.strengths, written) - own
    if followed != "attention":
        own = own + states
    mine, theirs = own.square().sum(-1).sqrt(), others.square().sum(-1).sqrt()
    return theirs / (mine + theirs).clamp(min=torch.finfo(mine.dtype).tiny)


def mixing_by_weight(layer: Layer, followed: Followed) -> Float[Tensor, "example token"]:
    """The same of mean weights."""
    own = layer.weights.mean(1).diagonal(dim1=1, dim2=2)
    return 1 - own if followed == "attention" else (1 - own) / 2


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """‖Σ_h α_h f_h(x_j)‖ in the read-out's row of the last layer."""
    layers = layers_of(subject, "norms")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        (found,) = layers(batch, readout_norms, only_last=True)
        return found

    return explain_tokens(subject, examples, score)


def readout_norms(layer: Layer) -> Float[Tensor, "example key"]:
    """Of one layer."""
    only_row = replace(layer, weights=layer.of_readout()[:, :, None])
    return contribution_norms(only_row, "attention")[:, 0]


def _rows(subject: Any, batch: Batch) -> Int[Tensor, " example"]:
    rows: Tensor = subject.rows(batch)
    return rows


def explain_by_rollout(name: str, shared: Callable[[Layer], Float[Tensor, "example query key"]]) -> Explain:
    """Each layer's shares, multiplied from the read-out down to the embeddings."""

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        layers = layers_of(subject, name)
        return explain_tokens(subject, examples, lambda batch: rolled_out(layers(batch, shared), _rows(subject, batch)))

    return explain


norms = Explainer(
    "norms",
    "size of what the token writes to the read-out in the last layer: its weight times its projected value",
    signed=False,
    explain=explain,
    paper=KOBAYASHI_2020,
)
norm_rollout = Explainer(
    "norm_rollout",
    "size of what tokens write to each other, residual and attention norm included; all layers",
    signed=False,
    explain=explain_by_rollout("norm_rollout", lambda layer: shares(contribution_norms(layer, "norm"))),
    paper=f"{KOBAYASHI_2021} (AttnResLn-N)",
)
globenc = Explainer(
    "globenc",
    "norm_rollout with the residual around the MLP and the norm after it; the MLP itself is left out",
    signed=False,
    explain=explain_by_rollout("globenc", lambda layer: shares(contribution_norms(layer, "block"))),
    paper="Modarressi et al. 2022",
)
