"""Copying and composition of a whole model's heads, from weights alone: no text is read."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Float

from heatcheck.heads.circuits.factors import (
    RandomHeads,
    composition,
    copying,
    random_composition,
    random_copying,
    unembed_embed,
)
from heatcheck.heads.looking import Place
from heatcheck.models.contract.opened import Factors, OpensItsHeads

Into: TypeAlias = Literal["query", "key", "value"]
INTO: tuple[Into, ...] = ("query", "key", "value")
NOT_A_TEST = (
    "Copying from weights is a hint and no test for induction: in a deep model many heads copy, and induction heads "
    "need not. On SmolLM2 its rank correlation with prefix matching is about 0 or below."
)


class Copying(NamedTuple):
    """The copying score of each head from its weights, and that of random heads of the same shape."""

    places: tuple[Place, ...]
    scores: Float[np.ndarray, " head"]
    z: Float[np.ndarray, " head"]  # how many standard deviations above random heads
    random: RandomHeads  # of the last layer's shape


class Link(NamedTuple):
    """How much of what one head writes another one reads."""

    writer: Place
    reader: Place
    into: Into
    composition: float
    random: float  # of random heads of the same shapes

    @property
    def times_random(self) -> float:
        return self.composition / self.random


@torch.no_grad()
def copying_of_heads(subject: OpensItsHeads, *, seed: int = 0) -> Copying:
    """Whether each head writes the tokens that it reads, from weights alone. See NOT_A_TEST."""
    ends = subject.ends()
    table = unembed_embed(ends.embedding, ends.unembedding)
    places, scores, z = [], [], []
    random: dict[int, RandomHeads] = {}
    for layer in range(len(subject.sites)):
        factors = subject.factors(layer)
        width = factors.value.shape[-1]
        if width not in random:
            random[width] = random_copying(table, width, seed=seed)
        found = copying(factors.value.double(), factors.output.double(), table)
        places += [Place(layer + 1, head + 1) for head in range(len(found))]
        scores.append(found)
        z.append(random[width].z(found))
    of_all, over = (torch.cat(each).cpu().numpy() for each in (scores, z))
    return Copying(tuple(places), of_all, over, random[width])


@torch.no_grad()
def feeds(
    subject: OpensItsHeads, readers: Sequence[Place], into: Sequence[Into] = INTO, *, seed: int = 0
) -> list[Link]:
    """The composition of every head of the layers below into each of these heads."""
    factors = {layer: subject.factors(layer) for layer in range(max((one.layer for one in readers), default=0))}
    random: dict[tuple[int, int, int], float] = {}
    found = []
    for reader in readers:
        for name in into:
            read = _reader(factors[reader.layer - 1], name)[reader.head - 1 : reader.head]
            for layer in range(reader.layer - 1):
                writers = factors[layer]
                shape = read.shape[1], writers.value.shape[-1], read.shape[-1]
                if shape not in random:
                    random[shape] = random_composition(*shape, seed=seed).mean
                values = composition(writers.value, writers.output, read)[:, 0].tolist()
                found += [
                    Link(Place(layer + 1, head + 1), reader, name, value, random[shape])
                    for head, value in enumerate(values)
                ]
    return found


def _reader(factors: Factors, into: Into) -> Float[torch.Tensor, "head size feature"]:
    return factors.query if into == "query" else factors.key if into == "key" else factors.value


def strongest(links: Sequence[Link], into: Into = "key") -> list[Link]:
    """For each reader the writer that feeds it most, by how many times random heads."""
    best: dict[Place, Link] = {}
    for link in links:
        known = best.get(link.reader)
        if link.into == into and (known is None or link.times_random > known.times_random):
            best[link.reader] = link
    return list(best.values())
