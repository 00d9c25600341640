"""Extraction: a model that reads a few chosen words of each text, its rationale, and nothing else (FRESH).

Jain et al. 2020, Learning to Faithfully Rationalize by Construction. Another model, chance or a person chooses the
words. Words that were not chosen never reach the model, so they have weight 0 by construction.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Example, tokenize
from heatcheck.data.tokens import MASKED
from heatcheck.data.vocabulary import PAD
from heatcheck.engine import stream
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models.contract.encoding import marks_of
from heatcheck.stats import best_window, highest, level_ties

BY_MODEL = {
    "attention": "its attention weights",
    "gradient": "its |embedding · gradient| with constant attention weights",
    "gradient_through": "its |embedding · gradient|",
    "leave_one_out": "how much its answer moves without each word",
}
RANDOM, HUMAN = "random", "human"
BY = (*BY_MODEL, RANDOM, HUMAN)
TOP, WINDOW = "top_k", "window"
CHOSEN, REST, PATTERN = "chosen", "rest", "pattern"
READS = (CHOSEN, REST, PATTERN)
MARK = "rationale"  # of the words that people chose
KEPT, LEFT = "kept", "left"  # the two words of a pattern
Saliency = Float[np.ndarray, "example word"]


class Extracted(NamedTuple):
    """What a model reads of an example, the words of the whole text that this comes from, and those left unread."""

    example: Example
    places: tuple[int, ...]
    unread: tuple[int, ...]


@dataclass(frozen=True)
class Extraction:
    """How the words that a model reads are chosen. All of it is plain data in the model's recipe."""

    by: str = "attention"
    share: float = 0.2  # of a text's words, rounded up; people choose as many as they like
    how: str = TOP  # the highest words in their order, or the best window of neighbouring words
    reads: str = CHOSEN  # these words, or the rest; or only a pattern: which places were chosen, without any word
    parent: str | None = None  # the folder, in the same store, of the model that chooses
    seed: int = 0  # of random choices

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("way to extract words", self.by, BY),
            ("form of a rationale", self.how, (TOP, WINDOW)),
            ("part that an extracting model reads", self.reads, READS),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        if isinstance(self.share, bool) or not 0 < self.share <= 1:
            raise BadInput(f"the share of extracted words must be above 0 and at most 1, not {self.share}.")
        if (self.by in BY_MODEL) != (self.parent is not None):
            needs = "needs a model that chooses the words" if self.by in BY_MODEL else "needs no model to choose words"
            raise BadInput(f"extraction by {self.by} {needs}. Its parent is {self.parent}.")

    def facts(self) -> dict[str, Any]:
        """As a recipe keeps it, without what is off."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def words(self) -> str:
        """What the model reads, as a noun phrase.

        >>> Extraction("random", 0.1).words
        '10% of the words, chosen at random'
        """
        if self.by == HUMAN:
            chosen = "the words that people marked"
        else:
            which = "neighbouring words" if self.how == WINDOW else "words"
            how = "at random" if self.by == RANDOM else f"by a support model ({BY_MODEL[self.by]})"
            chosen = f"{100 * self.share:.3g}% of the {which}, chosen {how}"
        return {CHOSEN: chosen, REST: f"all but {chosen}", PATTERN: f"only the places of {chosen}"}[self.reads]

    @property
    def short(self) -> str:
        """The same in a few words, as lists of models show it.

        >>> Extraction("random", 0.1, reads="rest").short
        'rest of 10% by random'
        """
        part = "" if self.reads == CHOSEN else f"{self.reads} of "
        how = "" if self.how == TOP or self.by == HUMAN else " in one window"
        return f"{part}{'' if self.by == HUMAN else f'{100 * self.share:.3g}% '}by {self.by}{how}"

    def size(self, words: int) -> int:
        """How many of so many words are chosen: the share, rounded up.

        >>> Extraction("random", 0.2).size(15), Extraction("random", 0.2).size(16), Extraction("random", 0.2).size(1)
        (3, 4, 1)
        """
        return math.ceil(round(self.share * words, 9))  # 0.28 * 25 is a little more than 7

    def choose(
        self, examples: Sequence[Example], rule: str, saliency: Callable[[Sequence[Example]], Saliency] | None = None
    ) -> list[tuple[int, ...]]:
        """The chosen words of each example, in their order.

        Args:
            rule: the tokenizer of the model that reads; a word without a token is never chosen.
            saliency: one score per word, of the model that chooses.
        """
        tokens = [_readable(example, rule) for example in examples]
        if self.by == HUMAN:
            return [_marked(example, readable) for example, readable in zip(examples, tokens, strict=True)]
        shape = (len(examples), max(len(example.words) for example in examples))
        valid, scores, keys = np.zeros(shape, dtype=bool), np.zeros(shape), np.zeros(shape)
        for row, (example, readable) in enumerate(zip(examples, tokens, strict=True)):
            valid[row, readable] = True
            # Equal words are taken in a random order, which depends on the example alone.
            keys[row, readable] = stream(self.seed, "extracted words", example.id).random(len(readable))
        # Random windows all score 0: the best window of random words would stand at an end of the text too often.
        if self.by == RANDOM and self.how != WINDOW:
            scores = keys
        elif self.by != RANDOM and saliency is not None:
            scores = level_ties(saliency(examples), valid)
        size = np.array([self.size(len(readable)) for readable in tokens])
        pick = best_window if self.how == WINDOW else highest
        chosen: Bool[np.ndarray, "example word"] = pick(scores, size, valid, keys)
        return [_some(example, np.flatnonzero(row).tolist()) for example, row in zip(examples, chosen, strict=True)]

    def extract(self, example: Example, chosen: Collection[int], rule: str) -> Extracted:
        """What a model reads of an example, given its chosen words.

        >>> found = Extraction("random", reads="rest").extract(Example("a", "not so bad"), (1,), "spaces")
        >>> found.example.text, found.places, found.unread
        ('not bad', (0, 2), (1,))
        """
        words = [MASKED if place in example.masked else word for place, word in enumerate(example.words)]
        readable = _readable(example, rule)
        places: Sequence[int] = sorted(chosen)
        if self.reads == PATTERN:
            places, words = readable, [KEPT if place in chosen else LEFT for place in range(len(words))]
        elif self.reads == REST:
            places = [place for place in readable if place not in chosen]
            if not places:  # of a text of one word nothing is left: the model reads one masked word
                places, words = [min(chosen)], [MASKED] * len(words)
        text = " ".join(words[place] for place in places)
        unread = tuple(place for place in readable if place not in places)
        return Extracted(example.but(text=text, marks={}, masked=(), spans=None), tuple(places), unread)


def _readable(example: Example, rule: str) -> list[int]:
    """The words of a text that have a token."""
    return sorted({word for _, word in tokenize(example.masked_text, rule)})


def _marked(example: Example, readable: Sequence[int]) -> tuple[int, ...]:
    """The words that people chose."""
    marked = example.marks.get(MARK)
    if marked is None:
        raise NotSupported(
            f"the model reads only the words that people marked, and example {example.id} has no marks. Give examples "
            f"with a {MARK}."
        )
    return _some(example, [place for place in readable if marked[place]])


def _some(example: Example, chosen: Sequence[int]) -> tuple[int, ...]:
    """The chosen words; raises BadInput if there are none, so that no text is lost silently."""
    if not chosen:
        raise BadInput(f"example {example.id} has an empty rationale. Remove the example or mark some of its words.")
    return tuple(chosen)


def encode_extracted(
    encode: Callable[[Sequence[Example]], Batch], examples: Sequence[Example], extracted: Sequence[Extracted]
) -> Batch:
    """A batch of whole texts, in which the model reads only what was extracted.

    The extracted tokens come first. A token stands for each other word: it gets a score, and nothing reads it.

    Args:
        encode: encodes what the model reads.
        examples: the whole texts.
    """
    batch = encode([one.example for one in extracted])
    longest = max(len(one.places) for one in extracted)
    place_of = np.full((len(examples), longest + 1), -1)  # the last column: of no word
    unread = np.full((len(examples), max(len(one.unread) for one in extracted)), -1)
    for row, one in enumerate(extracted):
        place_of[row, : len(one.places)] = one.places
        unread[row, : len(one.unread)] = one.unread
    device = batch.valid.device
    read = torch.from_numpy(place_of).to(device).gather(1, batch.word.where(batch.word >= 0, longest))
    word = torch.cat([read, torch.from_numpy(unread).to(device)], dim=1)

    def longer(part: Tensor, filler: int) -> Tensor:
        return torch.nn.functional.pad(part, (0, unread.shape[1]), value=filler)

    return replace(
        batch,
        inputs={**batch.inputs, "tokens": longer(batch.inputs["tokens"], PAD)},
        valid=longer(batch.valid, False),
        scored=word >= 0,
        word=word,
        marks=marks_of(examples, word),
    )


def read_of(batch: Batch) -> Bool[Tensor, "example token"]:
    """The tokens of such a batch that may have weight."""
    return batch.scored & batch.valid
