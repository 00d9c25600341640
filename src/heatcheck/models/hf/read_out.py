"""What the read-out's row decides: logits under other weights in it, the keys it sees, logits from it alone."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.edits import applied
from heatcheck.models.contract.response import Logits, Response, Weights, by_whole_passes
from heatcheck.models.contract.rows import Rows
from heatcheck.models.contract.subject import NO_EDITS, Edit, Edits, Site
from heatcheck.models.contract.weights import visible
from heatcheck.models.hf.precision import HALF
from heatcheck.models.hf.trial import MEAN

if TYPE_CHECKING:
    from heatcheck.models.hf.transformer import Transformer

AT_ONCE = 4096  # other weights that are tried together, each on one token


def respond(subject: "Transformer", batch: Batch) -> Response:
    """See Transformer.response."""
    if subject.not_layered:
        return by_whole_passes(subject, batch)
    site = subject.sites[-1]
    values, score = (Site(part, site.where) for part in ("value", "score"))
    start = subject.blocks[-2] if len(subject.blocks) > 1 else Site("input", subject.blocks[-1].where)
    rows = subject.rows(batch)
    one_row = Rows(rows[:, None])
    run = subject.run(batch, want={site: one_row, score: one_row, values: _whole, start: _whole})
    one = torch.arange(len(batch), device=rows.device)
    state, decisions = run.parts[start][one, rows][:, None], run.logits.shape[1]
    alone = batch.at(rows)

    def impose(weights: Tensor) -> Tensor:
        """[example draw head token] to [example draw decision label]."""
        draws = weights.shape[1]
        place = one.repeat_interleave(draws)
        context = torch.einsum("enht,ehtf->enhf", weights.to(state.dtype), run.parts[values])
        edits = {start: state[place], Site("context", site.where): context.flatten(0, 1)[:, :, None]}
        again = subject.run(alone.take(place), edits=edits)
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

    attention = run.parts[site][:, None, :, 0].expand(-1, decisions, -1, -1)
    near = 0.05 if subject.network.dtype in HALF else 1e-3  # how far rounding may go
    if not torch.allclose(logits(attention[:, None])[:, 0], run.logits, rtol=near, atol=near):
        raise NotSupported(f"{subject.id}: something other than the attention of its last block reads other tokens.")
    return Response(attention, visible(run.parts[score]).any((1, 2)) & batch.valid, logits)


def seen_keys(subject: "Transformer", batch: Batch) -> Bool[Tensor, "example key"]:
    """See Transformer.readable."""
    score = Site("score", subject.sites[-1].where)
    size = (*batch.valid.shape, subject._width)
    skipped = subject.blocks[-2:-1] if subject.placed.skips else ()
    empty = {place: torch.zeros(size, dtype=subject.network.dtype, device=subject.device) for place in skipped}
    gpu = [] if subject.device.type == "cpu" else [subject.device]

    def read_by_any(scores: Float[Tensor, "example head query key"]) -> Bool[Tensor, "example 1 1 key"]:
        return (visible(scores) & batch.valid[:, None, :, None]).any(1, keepdim=True).any(2, keepdim=True)

    rows = Rows(subject.rows(batch)[:, None])
    # In a training dropout draws random numbers here too: no other run may differ for that.
    with torch.no_grad(), torch.random.fork_rng(gpu, enabled=subject.training):
        run = subject.run(batch, edits=empty, want={score: read_by_any if subject.reads == MEAN else rows})
    found = run.parts[score]
    return (found if found.dtype == torch.bool else visible(found)).any((1, 2)) & batch.valid


def answer_by_row(
    subject: "Transformer", batch: Batch, known: Mapping[str, Any], edits: Edits = NO_EDITS
) -> Float[Tensor, "example decision label"]:
    """Logits alone: after the last attention, only the token that they are read from goes on.

    Args:
        known: of tokens before those of the batch.
        edits: at attentions, and at blocks before the last.
    """
    rows = subject.rows(batch)
    one = torch.arange(len(batch), device=rows.device)
    start = subject.blocks[-2] if len(subject.blocks) > 1 else Site("input", subject.blocks[-1].where)
    context = Site("context", subject.sites[-1].where)
    held: dict[Site, Tensor] = {}

    given, changed = edits.get(start), edits.get(context)

    def keep(states: Tensor) -> Tensor:
        states = states if given is None else applied(given, states)
        held[start] = states[one, rows][:, None]
        return states

    def stop(contexts: Tensor) -> Tensor:
        contexts = contexts if changed is None else applied(changed, contexts)
        held[context] = contexts[one, :, rows][:, :, None]
        raise _EnoughError

    # A state that is given as a tensor stays one, so that nothing before it is computed.
    first: Edit = keep(given) if isinstance(given, Tensor) else keep
    with suppress(_EnoughError):
        subject._run(batch, {**edits, start: first, context: stop}, (), known)
    return subject.run(batch.at(rows), edits=held).logits


class _EnoughError(Exception):
    """The rest of a forward pass is not needed."""


def _whole(value: Tensor) -> Tensor:
    return value
