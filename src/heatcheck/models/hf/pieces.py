"""Texts to word pieces, each with the word it belongs to.

A text reaches the tokenizer as it is written, so that a model sees what it sees everywhere else: ids are those of
`tokenizer(text)`, and a word is masked among the ids. A piece belongs to the word it ends in, the white space before a
word to that word; what the tokenizer adds ([CLS], [SEP], <s>) belongs to none and gets no score.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.data.tokens import word_spans
from heatcheck.errors import BadInput
from heatcheck.models.contract.encoding import marks_of

# Scripts that put no space between words: Thai, Lao, Myanmar, Khmer, Hiragana, Katakana, Han.
_UNSPACED = (
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u3005\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_RUN = re.compile(f"{_UNSPACED}{{2}}")
_BESIDE = re.compile(f"{_UNSPACED}.|.{_UNSPACED}", re.DOTALL)

Spans = list[tuple[int, int]]


def encode_pieces(
    tokenizer: Any,
    examples: Sequence[Example],
    *,
    longest: int,
    known: int | None = None,
    gold: Int[Tensor, "example decision"] | None,
    options: Bool[Tensor, "example label"] | None,
    device: torch.device,
) -> Batch:
    """`inputs` are what the network takes. A text that is too long is cut; words that are cut off have no piece.

    Args:
        known: how many ids the network knows; None: that is not known.
    """
    pairs = [example.text_pair for example in examples]
    if any(pair is None for pair in pairs) != all(pair is None for pair in pairs):
        raise BadInput("some examples of a batch have a second text and some have none: run them separately.")
    # A text of which several words are hidden in turn is cut into pieces once.
    kinds: dict[tuple[Any, ...], int] = {}
    kind = [kinds.setdefault((e.text, e.text_pair, e.spans), len(kinds)) for e in examples]
    first = [kind.index(number) for number in range(len(kinds))]
    found = tokenizer(
        [examples[row].text for row in first],
        None if pairs[0] is None else [pairs[row] for row in first],
        padding=True,
        truncation=True,
        max_length=longest,
        return_offsets_mapping=True,
        return_tensors="np",
    )
    offsets = found.pop("offset_mapping")
    if not found["input_ids"].size:  # zero-width characters alone, where nothing is put around a text
        raise BadInput(f"example {examples[0].id}: its text has no token. Remove the example or give it a text.")
    word = np.stack([_words_of(found.encodings[at], offsets[at], examples[row]) for at, row in enumerate(first)])
    for at, row in enumerate(first):
        if not (word[at] >= 0).any():
            raise BadInput(f"example {examples[row].id}: its text has no token. Remove the example or give it a text.")
    inputs, masked = {name: value[kind] for name, value in found.items()}, None
    if any(example.masked for example in examples):
        held = [_holding(word[at], offsets[at], examples[row]) for at, row in enumerate(first)]
        inputs, word, masked = _hide(tokenizer, inputs, word[kind], [held[at] for at in kind], examples)
    else:
        word = word[kind]
    if known is not None and inputs["input_ids"].max() >= known:
        largest = inputs["input_ids"].max(1)
        row = int((largest >= known).argmax())
        raise BadInput(
            f"example {examples[row].id}: the tokenizer gives the id {largest[row]:,}, but the network knows "
            f"{known:,} ids, counted from 0. Load the network with the tokenizer that it was trained with."
        )
    of_network = {name: torch.from_numpy(value).to(device) for name, value in inputs.items()}
    of_word = torch.from_numpy(word).to(device)
    return Batch(
        ids=tuple(example.id for example in examples),
        inputs=of_network,
        valid=of_network["attention_mask"].bool(),
        scored=of_word >= 0,
        word=of_word,
        gold=gold,
        marks=marks_of(examples, of_word),
        options=options,
        masked=None if masked is None else torch.from_numpy(masked).to(device),
    )


def _words_of(encoding: Any, offsets: Int[np.ndarray, "token 2"], example: Example) -> Int[np.ndarray, " token"]:
    text_of = np.array([-1 if number is None else number for number in encoding.sequence_ids])
    word = np.full(len(text_of), -1)
    for which in range(len(example.texts)):
        own = [(end, number) for number, (of, _, end) in enumerate(example.places) if of == which]
        if own:
            ends, numbers = np.array(own).T
            place = np.searchsorted(ends, np.maximum(offsets[:, 1], 1), side="left")
            word = np.where(text_of == which, numbers[np.minimum(place, len(own) - 1)], word)
    return word


def _holding(
    word: Int[np.ndarray, " token"], offsets: Int[np.ndarray, "token 2"], example: Example
) -> list[np.ndarray]:
    """The pieces that hide if a word does, for each word."""
    found = []
    for number, (_, start, end) in enumerate(example.places):
        pieces = np.flatnonzero(word == number)
        holding = pieces[(offsets[pieces, 1] > start) & (offsets[pieces, 0] < end)]
        found.append(holding if len(holding) else pieces)  # a line break before the word stays
    return found


def count_pieces(tokenizer: Any, examples: Sequence[Example], longest: int) -> list[int]:
    """How many tokens there are of each text, [CLS] and [SEP] included; a hidden word is one."""
    kinds = [(example.text, example.text_pair, example.spans) for example in examples]
    hidden = {kind for kind, example in zip(kinds, examples, strict=True) if example.masked}
    length: dict[Any, int] = {}
    more: dict[Any, list[int]] = {}  # pieces of each word after its first
    for paired in (False, True):
        some = {k: e for k, e in zip(kinds, examples, strict=True) if (e.text_pair is not None) == paired}
        if not some:
            continue
        pairs = [example.text_pair for example in some.values()] if paired else None
        texts = [example.text for example in some.values()]
        found = tokenizer(texts, pairs, truncation=True, max_length=longest, return_attention_mask=False)
        for (kind, example), encoding in zip(some.items(), found.encodings, strict=True):
            length[kind] = len(encoding.ids)
            if kind in hidden:
                offsets = np.array(encoding.offsets).reshape(-1, 2)
                held = _holding(_words_of(encoding, offsets, example), offsets, example)
                more[kind] = [max(len(pieces) - 1, 0) for pieces in held]
    return [
        length[kind] - sum(more[kind][number] for number in example.masked)
        for kind, example in zip(kinds, examples, strict=True)
    ]


def _hide(
    tokenizer: Any,
    inputs: Mapping[str, Int[np.ndarray, "example token"]],
    word: Int[np.ndarray, "example token"],
    holding: Sequence[Sequence[np.ndarray]],
    examples: Sequence[Example],
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """One token in place of the pieces of each masked word, what follows moved up: inputs, words, where they stand."""
    kept = inputs["attention_mask"].astype(bool)
    masked = np.zeros_like(kept)
    for row, example in enumerate(examples):
        hidden = [holding[row][number] for number in example.masked]
        masked[row, [pieces[0] for pieces in hidden if len(pieces)]] = True
        for pieces in hidden:
            if len(pieces) > 1:
                kept[row, pieces[1:]] = False
    order = np.argsort(~kept, axis=1, kind="stable")[:, : kept.sum(1).max()]
    there = np.take_along_axis(kept, order, 1)
    fillers = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id}
    read = {**inputs, "input_ids": np.where(masked, stand_in(tokenizer), inputs["input_ids"])}
    moved = {
        name: np.where(there, np.take_along_axis(value, order, 1), fillers.get(name, 0)) for name, value in read.items()
    }
    return moved, np.where(there, np.take_along_axis(word, order, 1), -1), np.take_along_axis(masked, order, 1) & there


def stand_in(tokenizer: Any) -> int:
    """The token that replaces a masked word: [MASK], or the closest substitute that the tokenizer has."""
    for name in ("mask_token_id", "unk_token_id", "pad_token_id", "eos_token_id"):
        if (token := getattr(tokenizer, name, None)) is not None:
            return int(token)
    raise BadInput("the tokenizer has no token to replace a masked word with: use deletion.")


def cut_texts(tokenizer: Any, examples: Sequence[Example], units: str) -> list[Example]:
    """The examples with the words of both texts as words; or with the tokenizer's pieces, if units are `tokens`.

    Where a script puts no spaces between words, pieces are words in any case. Marks are of the first text, so an
    example that has some keeps to that one.
    """
    return [_cut(tokenizer, example, units) for example in examples]


def _cut(tokenizer: Any, example: Example, units: str) -> Example:
    if example.spans is not None:
        return example
    read = example.texts[:1] if example.marks else example.texts
    plain = [word_spans(text) for text in read]
    found = [_units_of(tokenizer, text, words, units) for text, words in zip(read, plain, strict=True)]
    if found == plain[:1]:
        return example
    ends = np.array([end for _, end in plain[0]])
    of_word = [min(int(np.searchsorted(ends, end)), len(ends) - 1) for _, end in found[0]]
    return replace(
        example,
        spans=tuple((which, *span) for which, spans in enumerate(found) for span in spans),
        marks={name: tuple(marked[word] for word in of_word) for name, marked in example.marks.items()},
    )


def _units_of(tokenizer: Any, text: str, words: Spans, units: str) -> Spans:
    if units == "words" and not _RUN.search(text):
        return words
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    if units == "tokens":
        return list(_pieces(text, offsets)) or words
    ends = sorted({end for _, end in offsets})
    return [span for start, end in words for span in _cut_run(text, start, end, ends)]


def _pieces(text: str, offsets: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where pieces stand, without the space before them; several that share a character are one."""
    last = 0
    for start, end in offsets:
        if end > last:
            piece = text[max(start, last) : end]
            yield end - len(piece.lstrip() or piece), end
            last = end


def _cut_run(text: str, start: int, end: int, ends: Sequence[int]) -> Spans:
    """One word, cut where pieces end beside a character of a script without spaces, but before no accent."""
    if not _RUN.search(text, start, end):
        return [(start, end)]
    inside = [
        at
        for at in ends
        if start < at < end and _BESIDE.match(text, at - 1) and not unicodedata.category(text[at]).startswith("M")
    ]
    bounds = [start, *inside, end]
    return list(pairwise(bounds))
