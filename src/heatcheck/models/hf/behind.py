"""Answers of several tokens behind a prompt, in a batch and in a network's attention."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from heatcheck.data import Batch
from heatcheck.models.contract.response import Logits, Response, Weights
from heatcheck.models.contract.subject import Site
from heatcheck.models.hf.answers import Answers

if TYPE_CHECKING:
    from heatcheck.models.hf.prompted import Prompted

TINY = 1e-30  # a mass of a head on the text
FULL, SLIDING = "full_attention", "sliding_attention"  # as transformers calls kinds of layers
AT_ONCE = 128  # texts with other weights that are read together, each whole through the last block


def append(batch: Batch, answers: Answers) -> Batch:
    """The batch with the answers' tokens behind each prompt; they belong to no word."""
    prompts, more = batch.valid.sum(1), len(answers.appended)
    place = prompts[:, None] + torch.arange(more, device=prompts.device)
    new = {
        "input_ids": torch.tensor(answers.appended, device=prompts.device).expand_as(place),
        "attention_mask": torch.ones_like(place),
    }
    if "position_ids" in batch.inputs:
        new["position_ids"] = batch.inputs["position_ids"][:, :1] + answers.positions(prompts)
    inputs = {}
    for name, value in batch.inputs.items():
        longer = pad(value, (0, more))
        inputs[name] = longer.scatter(1, place, new[name].to(longer.dtype)) if name in new else longer
    return replace(
        batch,
        inputs=inputs,
        valid=pad(batch.valid, (0, more)).scatter(1, place, True),
        scored=pad(batch.scored, (0, more)),
        word=pad(batch.word, (0, more), value=-1),
        marks={name: pad(marked, (0, more)) for name, marked in batch.marks.items()},
        masked=None if batch.masked is None else pad(batch.masked, (0, more)),
    )


def hide_strangers(
    inputs: Mapping[str, Any], answers: Answers, last: Int[Tensor, " example"], network: Any
) -> dict[str, Any]:
    """The inputs with a mask in which no answer sees another; one for each kind of layer, if some have a window.

    Args:
        last: the prompt's last token among the inputs' tokens, which may follow others that were read before.
    """
    there = inputs["attention_mask"].bool()
    keys, queries = there.shape[1], inputs["input_ids"].shape[1]
    dtype: torch.dtype = network.dtype

    def mask(window: int | None) -> Float[Tensor, "example 1 query key"]:
        hidden = answers.hidden(last + keys - queries, keys, window)[:, -queries:] | ~there[:, None]
        found = torch.zeros(hidden.shape, dtype=dtype, device=last.device)
        return found.masked_fill(hidden, torch.finfo(dtype).min)[:, None]

    window, kinds = getattr(network.config, "sliding_window", None), getattr(network.config, "layer_types", None)
    if kinds and SLIDING in kinds:
        return {**inputs, "attention_mask": {FULL: mask(None), SLIDING: mask(window)}}
    return {**inputs, "attention_mask": mask(None if kinds else window)}


def response_of_rows(subject: "Prompted", batch: Batch) -> Response:
    """Logits under other weights within the text, the same in every row that the answers are read from.

    The heatmap is the mean over these rows. In each row the prompt keeps its weights, and the text each head's mass.
    """
    site = subject.sites[-1]
    start = subject.blocks[-2] if len(subject.blocks) > 1 else Site("input", subject.blocks[-1].where)
    known = () if subject.not_layered else (start,)  # earlier blocks are not computed again
    with torch.no_grad():
        run = subject.run(batch, want=[site, *known])
    used = run.parts[site]
    text, one = batch.scored, torch.arange(len(batch), device=used.device)[:, None]
    if batch.masked is not None:
        text = text & ~batch.masked
    rows = subject.answers.rows(subject.rows(batch))  # [example asked]
    own = used[one, :, rows]  # [example asked head key]
    mass = (own * text[:, None, None]).sum(-1, keepdim=True)
    rest = own.masked_fill(text[:, None, None], 0.0)
    mean = run.behind(used) * text[:, None]
    even = (text / text.sum(-1, keepdim=True)).to(mean.dtype)[:, None]
    total = mean.sum(-1, keepdim=True)
    heatmap = torch.where(total > 0, mean / total.clamp(min=TINY), even)

    def impose(weights: Float[Tensor, "example draw head token"]) -> Float[Tensor, "example draw label"]:
        draws = weights.shape[1]
        place = torch.arange(len(batch), device=used.device).repeat_interleave(draws)
        new = weights.flatten(0, 1).to(used.dtype)[:, None] * mass[place] + rest[place]
        edited = used[place]
        edited[torch.arange(len(place), device=used.device)[:, None], :, rows[place]] = new
        earlier = {state: run.parts[state][place] for state in known}
        again = subject.run(batch.take(place), edits={**earlier, site: edited})
        return again.logits[:, 0].reshape(len(batch), draws, -1)

    def logits(weights: Weights) -> Logits:
        step = max(1, AT_ONCE // len(batch))
        return torch.cat([impose(part) for part in torch.split(weights[:, :, 0], step, dim=1)], dim=1)[:, :, None]

    return Response(heatmap[:, None], text, logits)
