"""Encode examples as a batch for models that read words. Start and end marks are read but never attended to."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.tokens import split_words
from heatcheck.data.vocabulary import END, PAD, START, UNKNOWN
from heatcheck.errors import BadInput

_NUMBER = {1: "one text", 2: "two texts"}


def encode_words(
    vocabulary: Vocabulary,
    examples: Sequence[Example],
    *,
    segments: int,
    gold: Int[Tensor, "example decision"] | None,
    device: torch.device,
    options: Bool[Tensor, "example label"] | None = None,
    ends: bool = True,
) -> Batch:
    """`inputs` are `tokens` and, for two segments, `question`; with `ends` each has a mark before and after it."""
    found = [vocabulary.look_up(example.masked_text) for example in examples]
    for example, (numbers, _) in zip(examples, found, strict=True):
        if not numbers:
            raise BadInput(f"example {example.id}: its text has no token. Remove the example or give it a text.")
        if (example.text_pair is not None) != (segments == 2):
            raise BadInput(
                f"example {example.id}: this model reads {_NUMBER[segments]} per example, but this one has "
                f"{_NUMBER[1 if example.text_pair is None else 2]}."
            )
    before, after = ([START], [END]) if ends else ([], [])
    tokens = pad([before + numbers + after for numbers, _ in found], PAD, device)
    beside = [-1] * len(before)
    word = pad([beside + words + beside for _, words in found], -1, device)
    inputs = {"tokens": tokens}
    if segments == 2:
        asked = [vocabulary.look_up(example.text_pair or "")[0] for example in examples]
        inputs["question"] = pad([before + numbers + after for numbers in asked], PAD, device)
    return Batch(
        ids=tuple(example.id for example in examples),
        inputs=inputs,
        valid=tokens != PAD,
        scored=word >= 0,
        word=word,
        gold=gold,
        marks=marks_of(examples, word),
        options=options,
    )


def options_of(examples: Sequence[Example], labels: int, device: torch.device) -> Bool[Tensor, "example label"] | None:
    """Which of `labels` each example may have, or None where no example restricts them.

    >>> options_of([Example("a", "x", options=(0, 2)), Example("b", "y")], 3, torch.device("cpu")).tolist()
    [[True, False, True], [True, True, True]]
    """
    if all(example.options is None for example in examples):
        return None
    allowed = torch.zeros(len(examples), labels, dtype=torch.bool)
    for row, example in enumerate(examples):
        chosen = range(labels) if example.options is None else example.options
        if not chosen or not all(0 <= label < labels for label in chosen):
            raise BadInput(
                f"example {example.id}: its options {tuple(chosen)} are not among the {labels} labels, which count "
                "from 0."
            )
        allowed[row, list(chosen)] = True
    return allowed.to(device)


def marks_of(examples: Sequence[Example], word: Int[Tensor, "example token"]) -> dict[str, Tensor]:
    """Each mark over tokens: a token has its word's; False where an example has no such mark."""
    names = sorted({name for example in examples for name in example.marks})
    return {name: _marks(name, examples, word) for name in names}


def _marks(name: str, examples: Sequence[Example], word: Int[Tensor, "example token"]) -> Tensor:
    rows = [
        [example.marks[name][w] if w >= 0 and name in example.marks else False for w in words]
        for example, words in zip(examples, word.tolist(), strict=True)
    ]
    return torch.tensor(rows, device=word.device)


def pad(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> Int[Tensor, "example token"]:
    """Rows of numbers as one array, filled up to the longest."""
    # Through numpy: torch takes ten times as long to read lists of lists.
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    padded = np.full((len(rows), lengths.max()), filler, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(rows), np.int64)
    return torch.from_numpy(padded).to(device)


def unknown_words(subject: object, text: str) -> list[str]:
    """The words of these examples that a model's vocabulary does not have."""
    vocabulary = getattr(subject, "vocabulary", None)
    if not isinstance(vocabulary, Vocabulary):
        return []
    return [word for word in dict.fromkeys(split_words(text)) if UNKNOWN in vocabulary.look_up(word)[0]]
