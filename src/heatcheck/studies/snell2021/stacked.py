"""Many small encoder–decoders trained side by side: every parameter has a leading axis of models.

A small model leaves a GPU idle. Here the products of all models are one batched product each, and on a GPU a whole
step (forward, backward, Adam) is recorded once and replayed. No model knows of the others: the loss is a sum of their
losses and Adam goes number by number, so each is trained exactly as it would be alone, up to rounding.

The model is that of the copy task of Snell et al. 2021: attention scores (W d)·h, context P(Σ α h) as the mean over
heads, logits U tanh(Q [d; c]).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.engine import seed_of
from heatcheck.errors import BadInput
from heatcheck.studies.side_by_side import Trainer
from heatcheck.studies.snell2021.recurrence import gru, lstm

LEARNING_RATE = 1e-3
GATES = {"lstm": 4, "gru": 3}
SHARES = {"learned": (1.0, 1.0), "uniform": (0.0, 1.0), "none": (1.0, 0.0)}  # of the scores, of the context


@dataclass(frozen=True)
class Shape:
    """What all models of a stack have in common."""

    hidden: int = 256  # also of the embeddings
    cell: Literal["lstm", "gru"] = "lstm"
    heads: int = 1
    shared: bool = True  # one embedding for source and target


class Member(NamedTuple):
    """One model of a stack: what decides its first weights, and how it attends."""

    symbols: int  # it copies; an end and a start come after them
    seed: int
    attention: str = "learned"  # "uniform": the same weight everywhere; "none": no context at all
    heads: tuple[int, ...] = ()  # the seed of each head, where heads are drawn apart from the rest; () : from `seed`

    @property
    def end(self) -> int:
        return self.symbols

    @property
    def start(self) -> int:
        return self.symbols + 1

    @property
    def vocabulary(self) -> int:
        return self.symbols + 2


class Seen(NamedTuple):
    """What a stack answers, and where each head looks."""

    logits: Float[Tensor, "model decision example label"]
    weights: Float[Tensor, "model head decision example key"]


def first_weights(member: Member, shape: Shape) -> dict[str, Tensor]:
    """Of one model, as PyTorch's own layers start: the same whatever stack it is in."""
    h, gates = shape.hidden, GATES[shape.cell]
    body = torch.Generator().manual_seed(seed_of(member.seed, "body") >> 1)
    found: dict[str, Tensor] = {}
    for side in ("embedding",) if shape.shared else ("source", "target"):
        found[side] = torch.randn(member.vocabulary, h, generator=body)
    for part in ("encoder", "decoder"):
        found[f"{part}_input"] = _uniform(h, h, gates * h, generator=body)
        found[f"{part}_state"] = _uniform(h, h, gates * h, generator=body)
        found[f"{part}_input_bias"] = _uniform(h, gates * h, generator=body)
        found[f"{part}_state_bias"] = _uniform(h, gates * h, generator=body)
    found["mix"], found["mix_bias"] = (_uniform(2 * h, *size, generator=body) for size in ((2 * h, h), (h,)))
    found["output"] = _uniform(h, h, member.vocabulary, generator=body)
    found["output_bias"] = _uniform(h, member.vocabulary, generator=body)
    heads = [_first_head(h, seed) for seed in member.heads or [seed_of(member.seed, n) for n in range(shape.heads)]]
    if len(heads) != shape.heads:
        raise BadInput(f"models of this stack have {shape.heads} heads, not {len(heads)}.")
    return found | {name: torch.stack([head[name] for head in heads]) for name in heads[0]}


def _first_head(hidden: int, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed_of(seed, "head") >> 1)
    sizes = {"query": (hidden, hidden), "query_bias": (hidden,), "value": (hidden, hidden), "value_bias": (hidden,)}
    return {name: _uniform(hidden, *size, generator=generator) for name, size in sizes.items()}


def _uniform(inputs: int, *size: int, generator: torch.Generator) -> Tensor:
    return torch.empty(size).uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)


class Stack(nn.Module):
    """All models of a stack. Vocabularies are padded to the largest; what a model does not know it cannot answer."""

    ends: Int[Tensor, " model"]
    numbers: Int[Tensor, " label"]
    unknown: Float[Tensor, "model label"]
    score_share: Float[Tensor, " model"]
    context_share: Float[Tensor, " model"]

    def __init__(self, members: Sequence[Member], shape: Shape) -> None:
        super().__init__()
        if not members:
            raise BadInput("a stack needs at least one model.")
        self.shape, self.members = shape, tuple(members)
        self.labels = max(member.vocabulary for member in members)
        each = [first_weights(member, shape) for member in members]
        self.weights = nn.ParameterDict({name: self._padded([one[name] for one in each]) for name in each[0]})
        known = torch.tensor([member.vocabulary for member in members])[:, None] > torch.arange(self.labels)
        self.register_buffer("unknown", torch.zeros(known.shape).masked_fill(~known, -torch.inf))
        self.register_buffer("ends", torch.tensor([member.end for member in members]))
        self.register_buffer("numbers", torch.arange(self.labels))
        shares = torch.tensor([SHARES[member.attention] for member in members])
        self.register_buffer("score_share", shares[:, 0])
        self.register_buffer("context_share", shares[:, 1])

    def _padded(self, each: Sequence[Tensor]) -> nn.Parameter:
        """Stacked; where a vocabulary is shorter, with zeros, which no gradient ever reaches."""
        size = [max(sizes) for sizes in zip(*(one.shape for one in each), strict=True)]
        together = torch.zeros(len(each), *size)
        for place, one in zip(together, each, strict=True):
            place[tuple(slice(length) for length in one.shape)] = one
        return nn.Parameter(together)

    def forward(self, sequences: Int[Tensor, "model example item"]) -> Seen:
        """Every symbol and the end, each given the ones before it (teacher forcing)."""
        w, scores = self.weights, self.score_share[:, None, None, None]
        source, target = with_end(sequences, self.ends), with_start(sequences, self.ends)
        states, last = self._run("encoder", "source", source, None)
        decoded, _ = self._run("decoder", "target", target, last)
        by_example = states.transpose(1, 2)  # [model example token feature]
        weights, contexts = [], []
        for head in range(self.shape.heads):
            queries = _affine(decoded, w["query"][:, head], w["query_bias"][:, head]).transpose(1, 2)
            weights.append((scores * (queries @ by_example.mT)).softmax(dim=-1))
            context = (weights[-1] @ by_example).transpose(1, 2)
            contexts.append(_affine(context, w["value"][:, head], w["value_bias"][:, head]))
        context = torch.stack(contexts).mean(dim=0) * self.context_share[:, None, None, None]
        mixed = _affine(torch.cat((decoded, context), dim=-1), w["mix"], w["mix_bias"]).tanh()
        logits = _affine(mixed, w["output"], w["output_bias"]) + self.unknown[:, None, None]
        return Seen(logits, torch.stack(weights, dim=1).transpose(2, 3))

    def losses(self, sequences: Int[Tensor, "model example item"]) -> Float[Tensor, " model"]:
        """Cross-entropy of each model, a mean over its examples and positions, the end's included."""
        logits = self(sequences).logits
        gold = with_end(sequences, self.ends)
        each = nn.functional.cross_entropy(logits.flatten(0, 2), gold.flatten(), reduction="none")
        return each.view(len(self.members), -1).mean(dim=1)

    def _run(
        self, part: str, side: str, tokens: Int[Tensor, "model token example"], before: Any
    ) -> tuple[Float[Tensor, "model token example feature"], Any]:
        """A recurrent layer over embedded tokens, and the state it ends in."""
        w = self.weights
        table = w["embedding" if self.shape.shared else side]
        # What each symbol adds to the gates is computed once a symbol, not once a token; a product with ones and
        # zeros looks it up, whose gradient is a product again and the same in every run, unlike a scatter.
        gates = torch.baddbmm(w[f"{part}_input_bias"][:, None], table, w[f"{part}_input"])
        if self.shape.cell == "lstm":
            gates = gates + w[f"{part}_state_bias"][:, None]
        spots = (tokens.flatten(1)[..., None] == self.numbers).to(gates.dtype)
        inputs = (spots @ gates).view(*tokens.shape, -1)
        nothing = torch.zeros(len(self.members), tokens.shape[2], self.shape.hidden, device=tokens.device)
        if self.shape.cell == "gru":
            hidden = nothing if before is None else before
            states = gru(inputs, w[f"{part}_state"], w[f"{part}_state_bias"], hidden)
            return states, states[:, -1]
        hidden, cell = (nothing, nothing) if before is None else before
        states, cell = lstm(inputs, w[f"{part}_state"], hidden, cell)
        return states, (states[:, -1], cell)


def with_end(
    sequences: Int[Tensor, "model example item"], ends: Int[Tensor, " model"]
) -> Int[Tensor, "model token example"]:
    """What is read, and what is to be answered: the symbols and the end, one row per step."""
    return torch.cat((sequences.mT, ends[:, None, None].expand(-1, 1, sequences.shape[1])), dim=1)


def with_start(
    sequences: Int[Tensor, "model example item"], ends: Int[Tensor, " model"]
) -> Int[Tensor, "model token example"]:
    """What the decoder has seen before each answer: the start and the symbols."""
    return torch.cat(((ends + 1)[:, None, None].expand(-1, 1, sequences.shape[1]), sequences.mT), dim=1)


def _affine(
    rows: Float[Tensor, "model token example size"],
    weights: Float[Tensor, "model size feature"],
    bias: Float[Tensor, "model feature"],
) -> Float[Tensor, "model token example feature"]:
    return torch.baddbmm(bias[:, None], rows.flatten(1, 2), weights).view(*rows.shape[:-1], -1)


class StackTrainer(Trainer):
    """Takes steps with a whole stack (`studies/side_by_side.py`)."""

    def __init__(
        self, members: Sequence[Member], shape: Shape, *, device: torch.device, record: bool | None = None
    ) -> None:
        self.stack = Stack(members, shape)
        super().__init__(self.stack, torch.optim.Adam, LEARNING_RATE, device=device, record=record)
