"""What the read-out's row decides: logits under other weights in it, the keys it sees, logits from it alone."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.response import Logits, Response, Weights, by_whole_passes
from heatcheck.models.contract.subject import Site
from heatcheck.models.contract.weights import visible
from heatcheck.models.hf.narrowed import row_of, take
from heatcheck.models.hf.trial import MEAN

if TYPE_CHECKING:
    from heatcheck.models.hf.transformer import Transformer

AT_ONCE = 4096  # other weights that are tried together, each on one token


def respond(subject: "Transformer", batch: Batch) -> Response:
    """See Transformer.response."""
    if subject.not_layered:
        return by_whole_passes(subject, batch)
    site, values = subject.sites[-1], Site("value", subject.sites[-1].where)
    start = subject.blocks[-2] if len(subject.blocks) > 1 else Site("input", subject.blocks[-1].where)
    rows = subject.rows(batch)
    look = Look(rows)
    run = subject.run(batch, edits={Site("score", site.where): look}, want=[site, values, start])
    one = torch.arange(len(batch), device=rows.device)
    state, decisions = run.parts[start][one, rows][:, None], run.logits.shape[1]
    alone = row_of(batch, rows)

    def impose(weights: Tensor) -> Tensor:
        """[example draw head token] to [example draw decision label]."""
        draws = weights.shape[1]
        place = one.repeat_interleave(draws)
        context = torch.einsum("enht,ehtf->enhf", weights.to(state.dtype), run.parts[values])
        edits = {start: state[place], Site("context", site.where): context.flatten(0, 1)[:, :, None]}
        again = subject.run(take(alone, place), edits=edits)
        return again.logits.reshape(len(batch), draws, *again.logits.shape[1:])

    def logits(weights: Weights) -> Logits:
        step = max(1, AT_ONCE // len(batch))
        return torch.cat(
            [
                torch.stack([impose(part[:, :, d])[:, :, d] for d in range(decisions)], dim=2)
                for part in torch.split(weights, step, dim=1)
            ],
            dim=1,
        )

    attention = run.parts[site][one, :, rows][:, None].expand(-1, decisions, -1, -1)
    if not torch.allclose(logits(attention[:, None])[:, 0], run.logits, rtol=1e-3, atol=1e-3):
        raise NotSupported(f"{subject.id}: something other than the attention of its last block reads other tokens.")
    return Response(attention, look.seen[:, : batch.valid.shape[1]] & batch.valid, logits)


def beside_sinks(whole: Response) -> Response:
    """Weights over the tokens alone, where each head gives part of its weight to something that is no token."""
    mass = whole.attention.sum(-1, keepdim=True)
    own = whole.attention / mass.clamp(min=torch.finfo(mass.dtype).tiny)

    def logits(weights: Weights) -> Logits:
        return whole.logits(weights.to(mass.dtype) * mass[:, None])

    return Response(own, whole.allowed, logits)


def seen_keys(subject: "Transformer", batch: Batch) -> Bool[Tensor, "example key"]:
    """See Transformer.readable."""
    look = Look(subject.rows(batch), batch.valid if subject.reads == MEAN else None)
    size = (*batch.valid.shape, subject._width)
    skipped = subject.blocks[-2:-1] if subject.placed.skips else ()
    empty = {place: torch.zeros(size, dtype=subject.network.dtype, device=subject.device) for place in skipped}
    gpu = [] if subject.device.type == "cpu" else [subject.device]
    # In a training dropout draws random numbers here too: no other run may differ for that.
    with torch.no_grad(), torch.random.fork_rng(gpu, enabled=subject.training):
        subject.run(batch, edits={Site("score", subject.sites[-1].where): look, **empty})
    return look.seen[:, : batch.valid.shape[1]] & batch.valid


def answer_by_row(
    subject: "Transformer", batch: Batch, known: Mapping[str, Any]
) -> Float[Tensor, "example decision label"]:
    """Logits alone: after the last attention, only the token that they are read from goes on."""
    rows = subject.rows(batch)
    one = torch.arange(len(batch), device=rows.device)
    start = subject.blocks[-2] if len(subject.blocks) > 1 else Site("input", subject.blocks[-1].where)
    context = Site("context", subject.sites[-1].where)
    held: dict[Site, Tensor] = {}

    def keep(states: Tensor) -> Tensor:
        held[start] = states[one, rows][:, None]
        return states

    def stop(contexts: Tensor) -> Tensor:
        held[context] = contexts[one, :, rows][:, :, None]
        raise _EnoughError

    with suppress(_EnoughError):
        subject._run(batch, {start: keep, context: stop}, (), known)
    return subject.run(row_of(batch, rows), edits=held).logits


class _EnoughError(Exception):
    """The rest of a forward pass is not needed."""


class Look:
    """An edit that changes no scores, and notes which keys the rows that are read see in any head."""

    def __init__(self, rows: Int[Tensor, " example"], pooled: Bool[Tensor, "example query"] | None = None) -> None:
        self.rows, self.pooled = rows, pooled

    def __call__(self, scores: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
        if self.pooled is not None:
            self.seen = (visible(scores).any(1) & self.pooled[:, :, None]).any(1)
            return scores
        one = torch.arange(len(self.rows), device=scores.device)
        self.seen = visible(scores[one, :, self.rows]).any(1)
        return scores
