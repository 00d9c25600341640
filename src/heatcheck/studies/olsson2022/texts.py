"""The texts: chains of words in which segments come again, so that there is something to copy.

A seed has a language of its own: a few likely successors for each word. Words are numbered by frequency (Zipf's law),
and 0 begins each text. Random numbers come from streams on the CPU; what is made of them is the same on any device.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from heatcheck.engine import stream

SUCCESSORS = 4  # of each word, equally likely; half of all words are one of their predecessor's
SHORTEST, LONGEST = 8, 32  # tokens of a segment that comes again
EXTREME = 0.04  # of the words: so many of the commonest and of the rarest stay out of random texts
_FINE = 1 << 16  # a frequency is a whole number of so many parts, so that drawing a word is one look into a table


@lru_cache
def by_frequency(words: int) -> Int[np.ndarray, " item"]:
    """A table in which word r stands about proportionally to 1/r."""
    share = (1 / np.arange(1, words)).cumsum()
    return np.searchsorted(share / share[-1], (np.arange(_FINE) + 0.5) / _FINE).astype(np.int16) + np.int16(1)


@lru_cache
def successors(seed: int, words: int) -> Int[np.ndarray, "word item"]:
    """The language of a seed: for each word those that are likely to come next, drawn by frequency."""
    drawn = stream(seed, "olsson2022", "language", words).integers(_FINE, size=(words, SUCCESSORS))
    return by_frequency(words)[drawn]


class Drawn(NamedTuple):
    """All that is random about some texts of one language."""

    fresh: Int[np.ndarray, "token text"]  # a word by frequency
    choice: Int[np.ndarray, "token text"]  # which successor to take instead; SUCCESSORS or more: none
    spans: Int[np.ndarray, "row column text"]  # of each copied segment: its length, its first and its second place


def draw(generator: np.random.Generator, many: int, tokens: int, words: int) -> Drawn:
    """Random numbers for so many texts."""
    fresh = by_frequency(words)[generator.integers(_FINE, size=(tokens, many), dtype=np.uint16)]
    choice = generator.integers(2 * SUCCESSORS, size=(tokens, many), dtype=np.uint8)
    spans = np.stack([_span(generator, many, tokens) for _ in range(2)])
    spans[1, 0] *= generator.integers(2, size=many)  # every other text has one segment, which is one of no length more
    return Drawn(fresh, choice, spans)


def _span(generator: np.random.Generator, many: int, tokens: int) -> Int[np.ndarray, "column text"]:
    """A segment, behind the token that begins the text, and a later place that it does not reach."""
    length = generator.integers(SHORTEST, min(LONGEST, (tokens - 1) // 2) + 1, size=many)
    first = generator.integers(1, tokens - 2 * length + 1)
    return np.stack((length, first, generator.integers(first + length, tokens - length + 1)))


def draw_texts(
    seeds: Sequence[int], purpose: str, number: int, *, many: int, tokens: int, words: int, device: torch.device
) -> Int[Tensor, "model text token"]:
    """Texts of each seed's language, each with one or two segments that come again later in the text.

    Args:
        purpose: what they are for; other purposes and numbers have other texts.
    """
    drawn = [draw(stream(seed, "olsson2022", purpose, number), many, tokens, words) for seed in seeds]
    fresh, choice, spans = (_sent(np.stack(part), device) for part in zip(*drawn, strict=True))
    language = _sent(np.stack([successors(seed, words) for seed in seeds]), device)
    texts = chains(fresh, choice, language)
    for at in range(spans.shape[1]):
        texts = with_copies(texts, *spans[:, at].unbind(1))
    return texts


def _sent(numbers: np.ndarray, device: torch.device) -> Tensor:
    """On their way to the device, which may still be working on those before."""
    small = torch.from_numpy(numbers)
    return (small.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else small).long()


def chains(
    fresh: Int[Tensor, "model token text"],
    choice: Int[Tensor, "model token text"],
    language: Int[Tensor, "model word item"],
) -> Int[Tensor, "model text token"]:
    """Each word is a successor of the one before it, or fresh; the first begins the text, the second is fresh.

    >>> fresh = torch.tensor([[[5], [1], [2], [2]]])
    >>> chains(fresh, torch.tensor([[[9], [0], [1], [9]]]), torch.tensor([[[0, 0], [1, 2], [0, 0]]]))
    tensor([[[0, 1, 2, 2]]])
    """
    models, tokens, _ = fresh.shape
    each = language.shape[2]
    start = torch.arange(models, device=fresh.device)[:, None] * language.shape[1] * each
    which, follows = choice.clamp(max=each - 1) + start[:, None], choice < SUCCESSORS
    words = [torch.zeros_like(fresh[:, 0]), fresh[:, 1]]
    for place in range(2, tokens):
        likely = language.take(which[:, place] + words[-1] * each)
        words.append(likely.where(follows[:, place], fresh[:, place]))
    return torch.stack(words, dim=2)


def with_copies(
    texts: Int[Tensor, "model text token"],
    length: Int[Tensor, "model text"],
    first: Int[Tensor, "model text"],
    second: Int[Tensor, "model text"],
) -> Int[Tensor, "model text token"]:
    """A segment of each text, written again at a later place.

    >>> two, one, four = torch.tensor([[[2]], [[1]], [[4]]])
    >>> with_copies(torch.tensor([[[0, 5, 6, 7, 8, 9]]]), two, one, four)
    tensor([[[0, 5, 6, 7, 5, 6]]])
    """
    place = torch.arange(texts.shape[2], device=texts.device)
    copied = (place >= second[..., None]) & (place < (second + length)[..., None])
    return texts.gather(2, place - copied * (second - first)[..., None])


def random_repeated(
    seed: int, purpose: str, *, many: int, period: int, copies: int, words: int
) -> Int[np.ndarray, "text token"]:
    """Random words, neither very common nor very rare, several times over, behind the token that begins a text.

    >>> random_repeated(0, "example", many=1, period=3, copies=2, words=512).tolist()
    [[0, 484, 421, 27, 484, 421, 27]]
    """
    aside = max(1, round(EXTREME * (words - 1)))
    drawn = stream(seed, "olsson2022", purpose)
    rows = [1 + aside + drawn.permutation(words - 1 - 2 * aside)[:period] for _ in range(many)]
    return np.concatenate((np.zeros((many, 1), dtype=int), np.tile(np.stack(rows), copies)), axis=1)
