"""Finds out, when a transformer is loaded, which token its answer is read from; uses two made-up texts.

A heatmap is the last attention's row of one token. That row decides only if the answer is read from that token alone,
every layer has one attention, and nothing but attention carries information from token to token. Then, with the
outputs of the attentions kept as they are, the logits depend on that one token's state and on no other. One pass and
its gradient show this; a network that fails is refused by name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Site, Tap
from heatcheck.models.hf.placing import Placed
from heatcheck.models.hf.precision import HALF
from heatcheck.models.hf.taps import Pass, passing

CLOSE, CLOSE_IN_HALF = 1e-3, 0.05
MADE_UP = (Example("long", "a b c d e"), Example("short", "a b"))  # one of them is padded


class Reads(NamedTuple):
    """The token that the answer is read from: by its place, counted from the `start` or `end` of the text, or by its
    `id` (the last such token); or `mean`, if it is read from all tokens."""

    by: Literal["start", "end", "id", "mean"]
    number: int = 0

    def rows(self, batch: Batch) -> Int[Tensor, " example"]:
        """The token's place in each text; the first place if all are read."""
        if self.by == "end":
            return batch.valid.sum(1) + self.number
        if self.by == "id":
            found = (batch.inputs["input_ids"] == self.number) & batch.valid
            return (found * torch.arange(found.shape[1], device=found.device)).argmax(1)
        return torch.full_like(batch.valid[:, 0], self.number, dtype=torch.long)


FIRST, LAST, MEAN = Reads("start"), Reads("end", -1), Reads("mean")


class Tried(NamedTuple):
    """What a trial finds out."""

    reads: Reads
    sinks: bool  # part of the weight goes to something that is no token
    width: int  # of a state


def try_out(
    network: Any,
    start: Callable[[Tap], Pass],
    batch: Batch,
    sites: Sequence[Site],
    placed: Placed,
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
    end = placed.blocks[-1]
    tap = Tap({placed.entry: leaf, **held}, [end, *sites])
    now = start(tap)
    with torch.enable_grad(), passing(now):
        logits = ask(batch.inputs)
        _require_one_map(now, sites, placed, called)
        sinks = _has_sinks([tap.parts[site] for site in sites], batch, called)
        apart = torch.linspace(1.0, 2.0, logits.shape[-1], device=logits.device)  # no label's gradient undoes another's
        enough = 2.0**10 if logits.dtype in HALF else 1.0  # small slopes would be 0 in half precision
        asked = [tap.parts[end], entered[0]]
        at_end, at_start = torch.autograd.grad((logits.float() * apart * enough).sum(), asked, allow_unused=True)
    if at_end is None or at_start is None:
        raise NotSupported(
            f"{called} does not use its last attention for its answer. Choose a model that reads its answer from there."
        )
    read, mixed = ((slope != 0).any(-1) for slope in (at_end, at_start))
    reads = _found(read, batch, network, called)
    if not torch.equal(mixed, read):
        raise NotSupported(
            f"{called} carries information from token to token outside its attention. Choose a model that reads "
            "other tokens by attention alone."
        )
    _require_product(start, batch, sites, called, ask, logits.detach())
    return Tried(reads, sinks, at_end.shape[-1])


def _require_one_map(now: Pass, sites: Sequence[Site], placed: Placed, called: str) -> None:
    """One attention per layer; a decoder's layer may have another one, which reads what the encoder made."""
    paths = [place.where.partition("@")[0] for place in placed.blocks]
    if placed.not_layered:
        maps = max(Counter(site.where.partition("@")[0] for site in sites).values())
        paths = [] if maps == 1 else paths
    for path, maps in Counter(paths).items():
        uses = now.used[path, "state"]
        apart = len({site.where.partition("@")[0] for site, of in zip(sites, paths, strict=True) if of == path})
        each = maps // apart if placed.not_stacked else maps
        if uses != each:
            many = f"has {maps // uses} attention maps in one layer" if maps > uses > 0 else "leaves out attentions"
            raise NotSupported(
                f"{called} {many}, so no single map shows what that layer reads. Choose a model with one attention "
                "per layer."
            )


def require_tokens(weights: Tensor, batch: Batch, called: str) -> None:
    """Refuse a last attention that is not over the tokens of the text, each at its place."""
    if weights.shape[0] != len(batch) or weights.shape[2:] != batch.valid.shape[1:] * 2:
        raise NotSupported(
            f"{called} does not attend to the tokens of a text in the end, but to {weights.shape[-1]} other things in "
            f"place of {batch.valid.shape[1]} tokens. Choose a model that attends to tokens in its last layer."
        )


def _has_sinks(weights: Sequence[Tensor], batch: Batch, called: str) -> bool:
    """Whether the weights of a token sum to less than 1 (gpt-oss); more than 1 is refused."""
    sinks = False
    for own in weights:
        if own.shape[2:] != batch.valid.shape[1:] * 2:
            continue
        sums = own.detach().sum(-1).transpose(1, 2)[batch.valid]  # [token head]
        off = CLOSE_IN_HALF if own.dtype in HALF else CLOSE
        if not bool((sums < 1 + off).all()):
            raise NotSupported(
                f"{called}: the weights of a token sum to {float(sums.max()):.2f}, not to 1, so they are no attention "
                "that heatcheck knows. Choose a model with softmax attention."
            )
        sinks = sinks or not bool((sums > 1 - off).all())
    return sinks


def _require_product(
    start: Callable[[Tap], Pass],
    batch: Batch,
    sites: Sequence[Site],
    called: str,
    ask: Callable[[Mapping[str, Tensor]], Tensor],
    own: Tensor,
) -> None:
    """Refuse attention that is not its weights times its values: other weights would change more than the weights."""
    with torch.no_grad(), passing(start(Tap(dict.fromkeys(sites, torch.clone), ()))):
        imposed = ask(batch.inputs)
    off = CLOSE_IN_HALF if own.dtype in HALF else CLOSE
    if not torch.allclose(imposed, own, rtol=off, atol=off * max(1.0, float(own.abs().max()))):
        raise NotSupported(
            f"{called} scales what its attention reads by something other than its weights, so other weights cannot "
            "be tried on it. Choose a model without attention sinks."
        )


def _found(read: Bool[Tensor, "example token"], batch: Batch, network: Any, called: str) -> Reads:
    """Which token it is that the answer depends on, in texts of different lengths."""
    lengths = batch.valid.sum(1)
    if torch.equal(read, batch.valid) and bool((lengths > 1).all()):
        return MEAN
    if not bool(read.any()) or bool((lengths == 1).all()):  # constant logits, or texts of one token: as heads are named
        return LAST if hasattr(network, "score") else FIRST
    if bool((read.sum(1) == 1).all()):
        at = read.long().argmax(1)
        ids = batch.inputs["input_ids"].gather(1, at[:, None])[:, 0]
        for by, numbers in (("end", at - lengths), ("start", at), ("id", ids)):
            if len(set(numbers.tolist())) == 1:
                return Reads(by, int(numbers[0]))  # type: ignore[arg-type]  # the three words above
    pooling = getattr(network.config, "classifier_pooling", None)
    how = "" if pooling is None else f" (classifier_pooling={pooling!r})"
    raise NotSupported(
        f"{called} reads its answer from some tokens and not from others{how}, or padding decides which token it "
        "is. Choose a model that reads its answer from one token or from all."
    )
