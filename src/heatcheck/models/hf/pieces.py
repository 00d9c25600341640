"""Texts to word pieces, each with the word it belongs to.

A text reaches the tokenizer as it is written, so that a model sees what it sees everywhere else. A piece belongs to the
word it ends in; what the tokenizer adds ([CLS], [SEP], <s>) and the second text belong to none and get no score.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.data.vocabulary import SPECIAL, UNKNOWN
from heatcheck.errors import BadInput
from heatcheck.models.encoding import marks_of

MASKED = SPECIAL[UNKNOWN]  # what a masked word reads in an Example (explainers/removal.py)


def encode_pieces(
    tokenizer: Any,
    examples: Sequence[Example],
    *,
    longest: int,
    gold: Int[Tensor, "example decision"] | None,
    options: Bool[Tensor, "example label"] | None,
    device: torch.device,
) -> Batch:
    """`inputs` are what the network takes. A text that is too long is cut; words that are cut off have no piece."""
    pairs = [example.text_pair for example in examples]
    if any(pair is None for pair in pairs) != all(pair is None for pair in pairs):
        raise BadInput("some examples of a batch have a second text and some have none.")
    words = [[stand_in(tokenizer) if word == MASKED else word for word in example.words] for example in examples]
    found = tokenizer(
        [" ".join(each) for each in words],
        None if pairs[0] is None else list(pairs),
        padding=True,
        truncation=True,
        max_length=longest,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    offsets = found.pop("offset_mapping").numpy()
    word = np.stack([_words_of(found.encodings[row], offsets[row], each) for row, each in enumerate(words)])
    for row, example in enumerate(examples):
        if not (word[row] >= 0).any():
            raise BadInput(f"example {example.id}: its text has no token.")
    inputs = {name: value.to(device) for name, value in found.items()}
    of_word = torch.from_numpy(word).to(device)
    return Batch(
        ids=tuple(example.id for example in examples),
        inputs=inputs,
        valid=inputs["attention_mask"].bool(),
        scored=of_word >= 0,
        word=of_word,
        gold=gold,
        marks=marks_of(examples, of_word),
        options=options,
    )


def stand_in(tokenizer: Any) -> str:
    """What a masked word is read as: [MASK], or where a tokenizer has none, the nearest thing to nothing it has."""
    for name in ("mask_token", "unk_token", "pad_token", "eos_token"):
        if (token := getattr(tokenizer, name, None)) is not None:
            return str(token)
    raise BadInput("the tokenizer has no token that could stand for a masked word: use deletion.")


def _words_of(encoding: Any, offsets: np.ndarray, words: Sequence[str]) -> Int[np.ndarray, " token"]:
    # The space before a word is the word's own: tokenizers that keep spaces write it into the piece that follows.
    ends = np.array(list(accumulate(len(word) + 1 for word in words))) - 1
    first = np.array([number == 0 for number in encoding.sequence_ids])
    place = np.searchsorted(ends, np.maximum(offsets[:, 1], 1), side="left")
    return np.where(first, np.minimum(place, len(words) - 1), -1)
