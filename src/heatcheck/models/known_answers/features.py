"""Features of each token in the generated tasks (`planted_…`): all that a known-answer model sees."""

from functools import cache, lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Vocabulary
from heatcheck.data.planted import (
    COMMA,
    FILLERS,
    KEYS,
    MARKER,
    OPINIONS,
    STOP,
    TWINS_ATTENDED,
    TWINS_SUMMARISED,
    VALUES,
)
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.engine import stream

PLAIN = ("opinion", "summarised", "marker", "comma", "stop")  # then one feature a key, and twice one a value
OF_KEYS = slice(len(PLAIN), len(PLAIN) + len(KEYS))
OF_VALUES = slice(OF_KEYS.stop, OF_KEYS.stop + len(VALUES))
OF_FILLER = slice(OF_VALUES.stop, OF_VALUES.stop + len(VALUES))  # what a filler word says, where it says anything
CERTAIN = 1e4  # a score over others that leaves them a weight of exactly 0


class View(NamedTuple):
    """A batch in terms of the features of the planted tasks."""

    features: Float[Tensor, "example token feature"]
    question: Float[Tensor, "example asked feature"] | None
    scored: Bool[Tensor, "example token"]

    def feature(self, name: str) -> Float[Tensor, "example token"]:
        return self.features[..., PLAIN.index(name)]


# One of each for all subjects that ask for the same: an audit makes dozens of them, and reads the same texts with each.


@cache
def vocabulary() -> Vocabulary:
    fused = [f"{key}:{value}" for key in KEYS for value in VALUES]
    words = {MARKER, COMMA, STOP, *FILLERS, *KEYS, *fused}
    for lexicon in (OPINIONS, TWINS_ATTENDED, TWINS_SUMMARISED):
        words.update(word for side in lexicon for word in side)
    return Vocabulary((*SPECIAL, *sorted(words)), rule="spaces", lowercase=False)


@lru_cache(maxsize=64)
def feature_table(filler: float, seed: int) -> Float[Tensor, "word feature"]:
    tokens = vocabulary().tokens
    rows = torch.zeros(len(tokens), OF_FILLER.stop, dtype=torch.float64)
    number = {word: place for place, word in enumerate(tokens)}
    for sign, label in ((-1, 0), (1, 1)):
        for word in OPINIONS[label] + TWINS_ATTENDED[label]:
            rows[number[word], 0] = sign
        for word in TWINS_SUMMARISED[label]:
            rows[number[word], 1] = sign
    for name, word in (("marker", MARKER), ("comma", COMMA), ("stop", STOP)):
        rows[number[word], PLAIN.index(name)] = 1
    for k, key in enumerate(KEYS):
        rows[number[key], OF_KEYS.start + k] = 1
        for v, value in enumerate(VALUES):
            rows[number[f"{key}:{value}"], [OF_KEYS.start + k, OF_VALUES.start + v]] = 1
    for word in FILLERS if filler else ():
        drawn = stream(seed, "filler", word).uniform(-1, 1, len(VALUES))
        rows[number[word], OF_FILLER] = filler * torch.from_numpy(drawn)
    return rows


@lru_cache(maxsize=64)
def score_jitter(seed: int) -> Float[Tensor, " word"]:
    drawn = [float(stream(seed, "jitter", word).uniform(-1, 1)) for word in vocabulary().tokens]
    return torch.tensor(drawn, dtype=torch.float64)


def silent(text: View) -> Bool[Tensor, "example token"]:
    """Words that say nothing."""
    return (text.features[..., : OF_FILLER.start].abs().sum(-1) == 0) & text.scored


def first_of(words: Bool[Tensor, "example token"]) -> Bool[Tensor, "example token"]:
    """The first of these words."""
    return words & (words.cumsum(1) == 1)


def key_features(features: Float[Tensor, "example token feature"]) -> Float[Tensor, "example token key"]:
    return features[..., OF_KEYS]


def against_zero(vote: Float[Tensor, "example token"]) -> Float[Tensor, "example token label"]:
    return torch.stack([torch.zeros_like(vote), vote], dim=-1)


def left_neighbours(scored: Bool[Tensor, "example token"]) -> Int[Tensor, "example token"]:
    """Where each scored token's left neighbour stands; the first one's is the last; others stay."""
    position = torch.arange(scored.shape[1])
    first = scored.int().argmax(1, keepdim=True)
    length = scored.sum(1, keepdim=True)
    return torch.where(scored, (position - first - 1) % length + first, position)
