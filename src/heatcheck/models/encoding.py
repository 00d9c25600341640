"""Examples to a batch for subjects that read words: start and end marks are read, never attended to."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.vocabulary import END, PAD, START
from heatcheck.errors import BadInput


def encode_words(
    vocabulary: Vocabulary,
    examples: Sequence[Example],
    *,
    segments: int,
    gold: Int[Tensor, "example decision"] | None,
    device: torch.device,
) -> Batch:
    """`inputs` are `tokens` and, for two segments, `question`."""
    found = [vocabulary.look_up(example.text) for example in examples]
    for example, (numbers, _) in zip(examples, found, strict=True):
        if not numbers:
            raise BadInput(f"example {example.id}: its text has no token.")
        if (example.text_pair is not None) != (segments == 2):
            raise BadInput(f"example {example.id}: this model reads {segments} text(s) an example.")
    tokens = _pad([[START, *numbers, END] for numbers, _ in found], PAD, device)
    word = _pad([[-1, *words, -1] for _, words in found], -1, device)
    inputs = {"tokens": tokens}
    if segments == 2:
        asked = [vocabulary.look_up(example.text_pair or "")[0] for example in examples]
        inputs["question"] = _pad([[START, *numbers, END] for numbers in asked], PAD, device)
    names = sorted({name for example in examples for name in example.marks})
    return Batch(
        ids=tuple(example.id for example in examples),
        inputs=inputs,
        valid=tokens != PAD,
        scored=word >= 0,
        word=word,
        gold=gold,
        marks={name: _marks(name, examples, word) for name in names},
    )


def _marks(name: str, examples: Sequence[Example], word: Int[Tensor, "example token"]) -> Tensor:
    rows = [
        [example.marks[name][w] if w >= 0 and name in example.marks else False for w in words]
        for example, words in zip(examples, word.tolist(), strict=True)
    ]
    return torch.tensor(rows, device=word.device)


def _pad(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows], device=device)
