"""From attention weights to logits while everything else stays the same: all that a check on weights may see."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models.contract.parts import readable_keys
from heatcheck.models.contract.subject import Subject

Weights = Float[Tensor, "example draw decision head token"]
Logits = Float[Tensor, "example draw decision label"]


@dataclass(frozen=True)
class Response:
    """The weights a model used, which tokens may carry weight, and a function from other weights to logits.

    A token is whatever the read-out attends to; for a model that attends to sentences (parts.py), a sentence.
    `relevance` is set if the logits are linear in the weights: Σ_t α_t r_tk + b_k. Then exact methods apply.
    """

    attention: Float[Tensor, "example decision head token"]
    allowed: Bool[Tensor, "example token"]
    logits: Callable[[Weights], Logits]
    relevance: Float[Tensor, "example decision token label"] | None = None
    bias: Float[Tensor, "example decision label"] | None = None

    @classmethod
    def linear(
        cls,
        attention: Float[Tensor, "example decision head token"],
        allowed: Bool[Tensor, "example token"],
        relevance: Float[Tensor, "example decision token label"],
        bias: Float[Tensor, "decision label"] | Float[Tensor, "example decision label"],
    ) -> "Response":
        """One head, and logits that are sums of relevances."""
        of_example = bias if bias.ndim == 3 else bias.expand(relevance.shape[0], *bias.shape)

        def logits(weights: Weights) -> Logits:
            return torch.einsum("enqht,eqtl->enql", weights.to(relevance.dtype), relevance) + of_example[:, None]

        return cls(attention, allowed, logits, relevance, of_example)


@runtime_checkable
class Responds(Protocol):
    """A model with a shortcut from weights to logits, past its encoder."""

    def response(self, batch: Batch) -> Response: ...


def response(subject: Subject, batch: Batch) -> Response:
    """The model's own shortcut, or whole forward passes with other weights imposed at the read-out.

    `no_grad`, not `inference_mode`: a Response may enter an optimiser later.
    """
    with torch.no_grad():
        return subject.response(batch) if isinstance(subject, Responds) else by_whole_passes(subject, batch)


def by_whole_passes(subject: Subject, batch: Batch) -> Response:
    """Whole forward passes with other weights imposed at the read-out; on every row, if the answer is read from all."""
    with torch.no_grad():
        site = subject.sites[-1]
        run = subject.run(batch, want=[site])
        used = run.parts[site]  # [example head query key]
        shared = run.row.shape[1] > 1 and len(set(run.row[0].tolist())) < run.row.shape[1]

        def impose(
            weights: Float[Tensor, "example decision head token"],
        ) -> Float[Tensor, "example decision label"]:
            weights = weights.to(used.dtype)
            if run.pooled is not None:
                everywhere = weights[:, 0, :, None].expand_as(used)
                return subject.run(batch, edits={site: everywhere}).logits
            site_weights = used.transpose(1, 2).clone()  # [example query head key]
            place = run.row[:, :, None, None].expand_as(weights)
            if not shared:
                return subject.run(batch, edits={site: site_weights.scatter(1, place, weights).transpose(1, 2)}).logits
            # Several decisions read one row: each is asked alone, with its own weights in that row.
            each = []
            for d in range(weights.shape[1]):
                edited = site_weights.scatter(1, place[:, d : d + 1], weights[:, d : d + 1]).transpose(1, 2)
                each.append(subject.run(batch, edits={site: edited}).logits[:, d])
            return torch.stack(each, dim=1)

        def logits(weights: Weights) -> Logits:
            return torch.stack([impose(one) for one in weights.unbind(1)], dim=1)

        if run.pooled is not None:
            return Response(run.behind(used)[:, None], readable_keys(subject, batch), logits)
        place = run.row[:, :, None, None].expand(-1, -1, used.shape[1], used.shape[3])
        return Response(used.transpose(1, 2).gather(1, place), readable_keys(subject, batch), logits)


CLOSE = 1e-4  # logits that far apart may be rounding
TINY = 1e-30  # a mass of a head on the text


def as_sums(found: Response) -> Response | None:
    """The same response as sums of relevances; None if the logits are not linear in the weights of its one head.

    All weight on one token gives its relevance, no weight gives the bias. heatcheck accepts them if they predict the
    logits of the model's own weights, of uniform weights and of two unusual ones.
    """
    examples, tokens = found.allowed.shape
    allowed = found.allowed[:, None].to(found.attention.dtype)
    even = allowed / allowed.sum(-1, keepdim=True)
    place = torch.arange(tokens, device=allowed.device)
    uneven = torch.stack([torch.sin(place + 1.0) * 3, torch.cos(place * 2.0) * 2]).to(allowed)
    tried = torch.cat([found.attention[:, 0], even, uneven * allowed], dim=1)  # [example draw token]
    each = torch.eye(tokens, dtype=allowed.dtype, device=allowed.device).expand(examples, -1, -1) * allowed
    asked = torch.cat([torch.zeros_like(even), each, tried], dim=1)
    with torch.no_grad():
        logits = found.logits(asked[:, :, None, None])[:, :, 0]
    bias = logits[:, 0]
    relevance = logits[:, 1 : tokens + 1] - bias[:, None]
    said = torch.einsum("edt,etl->edl", tried, relevance) + bias[:, None]
    if not torch.allclose(said, logits[:, tokens + 1 :], atol=CLOSE, rtol=CLOSE):
        return None
    return Response.linear(found.attention, found.allowed, relevance[:, None], bias[:, None])


def within(whole: Response) -> Response:
    """Other weights within the tokens that are allowed; the rest keeps its own, and these each head's mass on them."""
    text = whole.allowed
    mass = (whole.attention * text[:, None, None]).sum(-1, keepdim=True)
    rest = whole.attention.masked_fill(text[:, None, None], 0.0)
    even = (text / text.sum(-1, keepdim=True)).to(mass.dtype)[:, None, None]
    own = torch.where(mass > 0, whole.attention * text[:, None, None] / mass.clamp(min=TINY), even)

    def logits(weights: Weights) -> Logits:
        return whole.logits(weights.to(mass.dtype) * mass[:, None] + rest[:, None])

    return Response(own, text, logits)


def of_whole_mass(subject: Subject, whole: Response) -> Response:
    """Weights that sum to 1, where part of a head's weight goes to something that is no token, or is rounded away."""
    half = whole.attention.dtype in (torch.float16, torch.bfloat16)
    if not half and not getattr(subject, "sinks", False):
        return whole
    used = whole.attention.float() if half else whole.attention
    mass = used.sum(-1, keepdim=True)
    own = used / mass.clamp(min=torch.finfo(mass.dtype).tiny)

    def logits(weights: Weights) -> Logits:
        return whole.logits(weights.to(mass.dtype) * mass[:, None])

    return Response(own, whole.allowed, logits)
