"""Finds out, when a transformer is loaded, which token its answer is read from; uses two made-up texts.

A heatmap is the last attention's row of one token. That row decides only if the answer is read from that token alone,
every layer has one attention, and nothing but attention carries information from token to token. Then, with the
outputs of the attentions kept as they are, the logits depend on that one token's state and on no other. One pass and
its gradient show this; a network that fails is refused by name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Site, Tap
from heatcheck.models.hf.taps import Pass, passing

MADE_UP = (Example("long", "a b c d e"), Example("short", "a b"))  # one of them is padded


def require_attention_in_every_layer(network: nn.Module, blocks: Sequence[Site], called: str) -> None:
    """Refuse hybrids: a heatmap does not show layers that read tokens without attention."""
    paths = {place.where.partition("@")[0] for place in blocks}
    lists = {path.rpartition(".")[0] for path in paths}
    layers = [f"{of}.{name}" for of in lists for name, _ in network.get_submodule(of).named_children()]
    without = [path for path in layers if path not in paths]
    if without:
        has = "has" if len(without) == 1 else "have"
        raise NotSupported(
            f"{called} does not read by attention alone: {len(without)} of its {len(layers)} layers {has} no "
            "attention that heatcheck can read. Choose a model with attention in every layer."
        )


class Tried(NamedTuple):
    """`last`: the answer is read from a text's last token, as in most decoders, not from its first."""

    last: bool
    width: int  # of a state


def try_out(
    network: Any,
    start: Callable[[Tap], Pass],
    batch: Batch,
    sites: Sequence[Site],
    blocks: Sequence[Site],
    called: str,
    ask: Callable[[Mapping[str, Tensor]], Tensor],
) -> Tried:
    """Find the token that the answer is read from, on a batch of texts of different lengths.

    Args:
        start: a pass with this tap.
        ask: the network's inputs, to one number per text and label.
    """
    entered: list[Tensor] = []

    def leaf(own: Tensor) -> Tensor:
        entered.append(own.detach().requires_grad_())
        return entered[0].clone()  # some networks add to it in place

    held = {Site("context", site.where): torch.detach for site in sites}
    tap = Tap({Site("input", blocks[0].where): leaf, **held}, [blocks[-1], *sites])
    now = start(tap)
    with torch.enable_grad(), passing(now):
        logits = ask(batch.inputs)
        _require_one_map(now, blocks, called)
        _require_whole_rows([tap.parts[site] for site in sites], batch, called)
        apart = torch.linspace(1.0, 2.0, logits.shape[-1], device=logits.device)  # no label's gradient undoes another's
        at_end, at_start = torch.autograd.grad((logits * apart).sum(), [tap.parts[blocks[-1]], entered[0]])
    read, mixed = ((slope != 0).any(-1) for slope in (at_end, at_start))
    last = _is_last(read, batch, network, called)
    if not torch.equal(mixed, read):
        raise NotSupported(
            f"{called} carries information from token to token outside its attention. Choose a model that reads "
            "other tokens by attention alone."
        )
    return Tried(last, at_end.shape[-1])


def _require_one_map(now: Pass, blocks: Sequence[Site], called: str) -> None:
    for path, maps in Counter(place.where.partition("@")[0] for place in blocks).items():
        uses = now.used[path, "state"]
        if uses != maps:
            many = f"has {maps // uses} attention maps in one layer" if maps > uses > 0 else "leaves out attentions"
            raise NotSupported(
                f"{called} {many}, so no single map shows what that layer reads. Choose a model with one attention "
                "per layer."
            )


def _require_whole_rows(weights: Sequence[Tensor], batch: Batch, called: str) -> None:
    for own in weights:
        sums = own.detach().sum(-1).transpose(1, 2)[batch.valid]  # [token head]
        if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            raise NotSupported(
                f"{called} gives part of its attention to something that is not a token: the weights of a token "
                f"sum to {float(sums.min()):.2f}, not to 1. Choose a model without attention sinks."
            )


def _is_last(read: Bool[Tensor, "example token"], batch: Batch, network: Any, called: str) -> bool:
    place = torch.arange(read.shape[1], device=read.device)
    first, last = (place == at for at in (0, batch.valid.sum(1, keepdim=True) - 1))
    is_first, is_last = bool((read == first).all()), bool((read == last).all())
    if is_first != is_last:
        return is_last
    if is_first or not bool(read.any()):  # texts of one token, or constant logits: as the family's head is named
        return hasattr(network, "score")
    pooling = getattr(network.config, "classifier_pooling", None)
    how = "" if pooling is None else f" (classifier_pooling={pooling!r})"
    which = "all tokens" if torch.equal(read, batch.valid) else "other tokens than the first or the last"
    raise NotSupported(
        f"{called} reads its answer from {which}{how}, so its heatmap is not one row of the last attention. Choose "
        "a model that reads its answer from one token."
    )
