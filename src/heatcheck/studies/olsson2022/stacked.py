"""Attention-only transformers trained side by side: every parameter has a leading axis of models, one per seed.

A model is a sum: words and learned positions, then layers of heads, each of which reads the sum through a norm and adds
to it; no other layers. The norms have no gain, which the matrices behind them could hold. No model knows of the others:
each is trained exactly as it would be alone, up to rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.engine import seed_of
from heatcheck.heads.circuits.factors import Factors
from heatcheck.heads.circuits.matching import repeated


@dataclass(frozen=True)
class Shape:
    """What all models of a stack have in common."""

    layers: int = 2
    smeared: bool = False  # keys mixed with the key before: each head learns how much
    spared: bool = False  # no loss on tokens that an induction head could predict (HAPAX)
    size: int = 128
    heads: int = 4
    tokens: int = 128
    words: int = 512  # the first is the beginning of a text


class Seen(NamedTuple):
    """What a stack answers, and where each head of each layer looks."""

    logits: Float[Tensor, "model example token label"]
    weights: list[Float[Tensor, "model example head query key"]]


def first_weights(seed: int, shape: Shape) -> dict[str, Tensor]:
    """Of one model, as PyTorch's own layers start: the same in any stack, and whatever other parts it has."""
    tables = {"embedding": shape.words, "position": shape.tokens}
    found = {name: torch.randn(many, shape.size, generator=_drawn(seed, name)) for name, many in tables.items()}
    width = shape.size // shape.heads
    inner, outer = (shape.heads, shape.size, width), (shape.heads, width, shape.size)
    matrices: dict[str, tuple[int, ...]] = {"unembedding": (shape.size, shape.words)}
    for layer in range(shape.layers):
        matrices |= {f"{part}_{layer}": inner for part in ("query", "key", "value")} | {f"output_{layer}": outer}
    end = shape.size**-0.5
    found |= {name: torch.empty(of).uniform_(-end, end, generator=_drawn(seed, name)) for name, of in matrices.items()}
    if shape.smeared:  # sigmoid(0): half of this key, half of the one before
        found |= {f"smear_{layer}": torch.zeros(shape.heads) for layer in range(shape.layers)}
    return found


def _drawn(seed: int, name: str) -> torch.Generator:
    return torch.Generator().manual_seed(seed_of(seed, "olsson2022", name) >> 1)


class Stack(nn.Module):
    """All models of a stack, one per seed."""

    later: Float[Tensor, "query key"]
    numbers: Int[Tensor, " label"]

    def __init__(self, seeds: Sequence[int], shape: Shape) -> None:
        super().__init__()
        self.seeds, self.shape = tuple(seeds), shape
        each = [first_weights(seed, shape) for seed in seeds]
        self.weights = nn.ParameterDict({name: torch.stack([one[name] for one in each]) for name in each[0]})
        self.register_buffer("later", torch.full((shape.tokens, shape.tokens), -torch.inf).triu(1))
        self.register_buffer("numbers", torch.arange(shape.words))

    def forward(self, texts: Int[Tensor, "model example token"]) -> Seen:
        """The next word at every token, and the weights of all heads."""
        w, tokens = self.weights, texts.shape[-1]
        # A product with ones and zeros looks words up: its gradient is a product too, the same in every run.
        spots = (texts.flatten(1)[..., None] == self.numbers).to(w["embedding"].dtype)
        states = (spots @ w["embedding"]).view(*texts.shape, -1) + w["position"][:, None, :tokens]
        weights = []
        for layer in range(self.shape.layers):
            read = nn.functional.layer_norm(states, states.shape[-1:])
            queries, keys, values = (
                torch.einsum("mbts,mhsf->mbhtf", read, w[f"{part}_{layer}"]) for part in ("query", "key", "value")
            )
            if self.shape.smeared:
                keys = smear(keys, w[f"smear_{layer}"].sigmoid())
            scores = queries / queries.shape[-1] ** 0.5 @ keys.mT + self.later[:tokens, :tokens]
            weights.append(scores.softmax(-1))
            states = states + torch.einsum("mbhtf,mhfs->mbts", weights[-1] @ values, w[f"output_{layer}"])
        read = nn.functional.layer_norm(states, states.shape[-1:])
        return Seen((read.flatten(1, 2) @ w["unembedding"]).view(*texts.shape, -1), weights)

    def of_tokens(self, texts: Int[Tensor, "model example token"]) -> Float[Tensor, "model example item"]:
        """The loss on each token but the first."""
        logits = self(texts).logits[:, :, :-1]
        found = nn.functional.cross_entropy(logits.flatten(0, 2), texts[:, :, 1:].flatten(), reduction="none")
        return found.view(*logits.shape[:-1])

    def losses(self, texts: Int[Tensor, "model example token"]) -> Float[Tensor, " model"]:
        """What each model is trained on: its mean loss on the tokens that count."""
        each = self.of_tokens(texts).flatten(1)
        if not self.shape.spared:
            return each.mean(1)
        counted = (~predictable(texts, self.shape.words)).flatten(1).to(each.dtype)
        return (each * counted).sum(1) / counted.sum(1)

    def factors(self, layer: int) -> Factors:
        """What the heads of a layer read and write, with the centring of the norm before them."""
        queries, keys, values = (self.weights[f"{part}_{layer}"] for part in ("query", "key", "value"))
        queries, keys, values = (reader - reader.mean(-2, keepdim=True) for reader in (queries, keys, values))
        return Factors(queries, keys, values, self.weights[f"output_{layer}"])


def smear(
    keys: Float[Tensor, "model example head key feature"], share: Float[Tensor, "model head"]
) -> Float[Tensor, "model example head key feature"]:
    """Keys mixed with the key before; the first has none before it and stays.

    Args:
        share: of a token's own key.
    """
    before = torch.cat((keys[..., :1, :], keys[..., :-1, :]), dim=-2)
    own = share[:, None, :, None, None]
    return own * keys + (1 - own) * before


def predictable(texts: Int[Tensor, "*batch token"], words: int) -> Tensor:
    """Which tokens but the first an induction head could predict: they followed the same word earlier in the text.

    >>> predictable(torch.tensor([0, 5, 7, 5, 7]), 10).tolist()
    [False, False, False, True]
    """
    return repeated(texts[..., :-1] * words + texts[..., 1:])
