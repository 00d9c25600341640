"""What every head says about the syntax of parsed sentences: for each word, the word that it takes for its head.

Clark et al.'s reading. *From the dependent*: the word that the dependent looks at most. *From the head*: the word that
looks at the dependent most. No map is kept: at the tap a map becomes these two guesses per word, and sums by offset.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.data.treebank import Sentence
from heatcheck.engine import check_time
from heatcheck.heads.looking import BATCH, Place
from heatcheck.heads.measures import of_words
from heatcheck.heads.scene import is_causal
from heatcheck.models import HasLayers, Subject, require_layers
from heatcheck.models.contract.memory import in_memory
from heatcheck.training import batches_by_length

DIRECTIONS = ("from the dependent", "from the head")
BUCKETS = (10, 20, 40)  # words; longer sentences are the last bucket
FARTHEST = 64  # offsets beyond share one place
SHARED = "the tokenizer joins two of its words in one piece"
CUT = "the model cannot read all of its words"


class Guesses(NamedTuple):
    """For each sentence, head and word: the guessed head, by direction (-1: it sees no other word).

    `sums` and `pairs` are the weight between words at each offset (key minus query), by length of the sentence.
    """

    heads: Int[np.ndarray, "example head word 2"]
    sums: Float[np.ndarray, "head size column"]
    pairs: Float[np.ndarray, "size column"]
    causal: bool
    places: tuple[Place, ...] = ()


def aligned(subject: Subject, sentences: Sequence[Sentence]) -> tuple[list[Sentence], dict[str, str]]:
    """The sentences whose words all have pieces of their own, and why each other one is left out."""
    deep = require_layers(subject, "syntactic roles")
    kept: list[Sentence] = []
    excluded: dict[str, str] = {}
    for sentence in sentences:
        reason = _misaligned(deep, sentence.example)
        if reason:
            excluded[sentence.id] = reason
        else:
            kept.append(sentence)
    return kept, excluded


def _misaligned(subject: HasLayers, example: Example) -> str:
    """Why a sentence's pieces are not its words'; "" if they are."""
    cuts, _ = subject.cutter([example])  # type: ignore[attr-defined]  # every transformer of Hugging Face has one
    word, offsets = cuts[0].word, cuts[0].offsets
    inside = word >= 0
    starts = np.array([start for _, start, _ in example.places])
    ends = np.array([end for _, _, end in example.places])
    if not inside.any() or offsets[inside, 1].max() < ends[-1]:
        return CUT
    if len(np.unique(word[inside])) < len(starts):
        return SHARED
    # The white space before a word belongs to its first piece.
    own = np.array([start + _spaces(example.text, start) for start in offsets[inside, 0].clip(min=0).tolist()])
    return SHARED if (own < starts[word[inside]]).any() else ""


def _spaces(text: str, start: int) -> int:
    return len(text[start:]) - len(text[start:].lstrip())


def read_heads(subject: Subject, sentences: Sequence[Sentence]) -> Guesses:
    """Every head's guesses about these sentences, which must be `aligned`."""
    deep = require_layers(subject, "syntactic roles")
    examples = [sentence.example for sentence in sentences]
    causal = is_causal(deep, examples)
    most = max(len(sentence.words) for sentence in sentences)
    rows: dict[int, np.ndarray] = {}
    sums: dict[int, Tensor] = {}
    pairs = torch.zeros(len(BUCKETS) + 1, 2 * FARTHEST + 1, dtype=torch.float64)
    layers: list[int] = []

    @torch.inference_mode()
    def read(indices: list[int]) -> tuple[list[Tensor], Tensor]:
        batch = deep.encode([examples[index] for index in indices])
        words = shares_in_words(batch, most=max(len(sentences[index].words) for index in indices))
        found = deep.run(batch, want={site: lambda weights: _reduced(weights, words, causal) for site in deep.sites})
        return [found.parts[site] for site in deep.sites], words

    for indices, (parts, words) in in_memory(batches_by_length(examples, BATCH, subject), read):
        check_time()
        layers = [part.shape[1] for part in parts]
        whole = torch.cat([part.cpu() for part in parts], dim=1)
        count = words.shape[1]
        guessed = whole[..., : 2 * count].reshape(*whole.shape[:2], count, 2).numpy().astype(np.int16)
        for at, index in enumerate(indices):
            rows[index] = np.pad(guessed[at], ((0, 0), (0, most - count), (0, 0)), constant_values=-1)
            bucket = bucket_of(len(sentences[index].words))
            sums[bucket] = sums.get(bucket, 0.0) + whole[at, :, 2 * count :].double()
            pairs[bucket] += pairs_at(len(sentences[index].words), causal)
    some = next(iter(sums.values()))
    by_length = torch.stack([sums.get(b, torch.zeros_like(some)) for b in range(len(BUCKETS) + 1)], dim=1)
    places = tuple(Place(layer + 1, head + 1) for layer, many in enumerate(layers) for head in range(many))
    heads = np.stack([rows[index] for index in range(len(sentences))])
    return Guesses(heads, by_length.numpy(), pairs.numpy(), causal, places)


def shares_in_words(batch: Batch, most: int) -> Float[Tensor, "example word token"]:
    """Each token's share in its word."""
    place = batch.word[:, None, :] == torch.arange(most, device=batch.word.device)[None, :, None]
    return place / place.sum(-1, keepdim=True).clamp(min=1)


def _reduced(
    weights: Float[Tensor, "example head query key"], words: Float[Tensor, "example word token"], causal: bool
) -> Float[Tensor, "example head column"]:
    maps = of_words(weights, words)
    real = words.any(-1)
    return torch.cat([guess(maps, real, causal).flatten(2).float(), by_offset(maps, real)], dim=-1)


def guess(
    maps: Float[Tensor, "example head word key"], real: Bool[Tensor, "example word"], causal: bool
) -> Int[Tensor, "example head word 2"]:
    """The head of each word by its map: the most attended other word, and the word that attends most to it.

    >>> maps = torch.tensor([[[[0.9, 0.1], [0.3, 0.7]]]])
    >>> guess(maps, torch.ones(1, 2, dtype=torch.bool), causal=False).tolist()
    [[[[1, 1], [0, 0]]]]
    """
    other = ~torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    seen = other.tril() if causal else other
    found = []
    for way, allowed in ((maps, seen), (maps.transpose(-1, -2), seen.T)):
        may = (allowed & real[:, None, :] & real[:, :, None])[:, None]
        best = way.masked_fill(~may, -1.0).max(-1)
        found.append(torch.where(best.values >= 0, best.indices, -1))
    return torch.stack(found, -1)


def by_offset(
    maps: Float[Tensor, "example head word key"], real: Bool[Tensor, "example word"]
) -> Float[Tensor, "example head column"]:
    """The weight at each offset of key minus query, from -FARTHEST to FARTHEST, summed over pairs of words."""
    place = torch.arange(real.shape[1], device=real.device)
    column = ((place - place[:, None]).clamp(-FARTHEST, FARTHEST) + FARTHEST).flatten()
    both = (real[:, None, :] & real[:, :, None])[:, None]
    found = maps.new_zeros(*maps.shape[:2], 2 * FARTHEST + 1)
    return found.index_add_(-1, column, (maps * both).flatten(2))


def pairs_at(words: int, causal: bool) -> Float[Tensor, " column"]:
    """How many pairs of words a sentence has at each offset."""
    place = torch.arange(words)
    apart = place - place[:, None]
    chosen = apart[apart <= 0] if causal else apart.flatten()
    return torch.bincount(chosen.clamp(-FARTHEST, FARTHEST) + FARTHEST, minlength=2 * FARTHEST + 1).double()


def bucket_of(words: int) -> int:
    """The number of a sentence's length bucket.

    >>> bucket_of(10), bucket_of(11), bucket_of(99)
    (0, 1, 3)
    """
    return int(np.searchsorted(BUCKETS, words))


def twin_guesses(learned: Guesses, lengths: Sequence[int], width: int) -> Int[np.ndarray, "example head word 2"]:
    """What position alone gives each head: its guesses if its map were its own mean weight at each offset.

    Args:
        learned: whose sums by offset are used, of other sentences.
        lengths: of the sentences, in words.
        width: the most words of a sentence, to which the others are padded.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(learned.pairs > 0, learned.sums / learned.pairs, 0.0)  # [head bucket offset]
    known: dict[int, np.ndarray] = {}
    for words in sorted(set(lengths)):
        place = np.arange(words)
        apart = np.clip(place - place[:, None], -FARTHEST, FARTHEST) + FARTHEST
        maps = torch.from_numpy(mean[:, bucket_of(words)][:, apart])[None]
        found = guess(maps, torch.ones(1, words, dtype=torch.bool), learned.causal)[0].numpy().astype(np.int16)
        known[words] = np.pad(found, ((0, 0), (0, width - words), (0, 0)), constant_values=-1)
    return np.stack([known[words] for words in lengths])
