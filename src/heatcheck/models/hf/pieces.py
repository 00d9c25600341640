"""Texts to word pieces, each with the word it belongs to.

A text reaches the tokenizer as it is written, so that a model sees what it sees everywhere else: ids are those of
`tokenizer(text)`, and a word is masked among the ids. A piece belongs to the word it ends in, the white space before a
word to that word; what the tokenizer adds ([CLS], [SEP], <s>) belongs to none and gets no score.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

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


KEPT = 2**20  # tokens of cut texts that are remembered: some tens of megabytes


class Cut:
    """A text in pieces: what the network takes of it, the word of each piece (-1: none), and where the piece stands."""

    def __init__(
        self,
        inputs: Mapping[str, Int[np.ndarray, " token"]],
        word: Int[np.ndarray, " token"],
        offsets: Int[np.ndarray, "token 2"],
        example: Example,
    ) -> None:
        self.inputs, self.word, self.offsets = inputs, word, offsets
        self._example = example

    def __len__(self) -> int:
        return len(self.word)

    @cached_property
    def holding(self) -> list[np.ndarray]:
        """The pieces that hide if a word does, for each word."""
        found = []
        for number, (_, start, end) in enumerate(self._example.places):
            pieces = np.flatnonzero(self.word == number)
            holding = pieces[(self.offsets[pieces, 1] > start) & (self.offsets[pieces, 0] < end)]
            found.append(holding if len(holding) else pieces)  # a line break before the word stays
        return found

    @cached_property
    def spare(self) -> list[int]:
        """How many tokens fewer there are if a word hides, for each word."""
        return [max(len(pieces) - 1, 0) for pieces in self.holding]


class Frame(NamedTuple):
    """What stands before and after each text, and whether the tokenizer adds its own tokens around the whole."""

    before: str = ""
    after: str = ""
    special: bool = True


NO_FRAME = Frame()


class Cutter:
    """Cuts texts into pieces and remembers them: a text is met when it is counted, and when it is read, often again.

    With a frame (a prompt) the pieces are those of the whole; what stands around the text belongs to no word, and a
    text that is too long is refused, because cutting it would cut the prompt.
    """

    def __init__(self, tokenizer: Any, longest: int, *, frame: Frame = NO_FRAME, kept: int = KEPT) -> None:
        self.tokenizer, self.longest, self.frame = tokenizer, longest, frame
        self.keeps_pieces = frame != NO_FRAME  # of a hidden word; else one token takes their place
        self._kept, self._held = kept, 0
        self._known: dict[tuple[Any, ...], Cut] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which meets texts of its own."""
        ours = {name: self.__dict__[name] for name in ("tokenizer", "longest", "frame", "keeps_pieces", "_kept")}
        return {**ours, "_held": 0, "_known": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __call__(self, examples: Sequence[Example]) -> tuple[list[Cut], list[int]]:
        """The different texts of the examples, cut, and the number of each example's among them."""
        kinds: dict[tuple[Any, ...], int] = {}
        number = [kinds.setdefault((e.text, e.text_pair, e.spans), len(kinds)) for e in examples]
        of_kind = dict(zip(reversed(number), reversed(examples), strict=True))
        with self._lock:
            found = {at: self._known[kind] for kind, at in kinds.items() if kind in self._known}
        for paired in (False, True):
            new = [at for kind, at in kinds.items() if at not in found and (kind[1] is not None) == paired]
            if new:
                found.update(zip(new, self._cut([of_kind[at] for at in new]), strict=True))
        with self._lock:
            for kind, at in kinds.items():
                self._keep(kind, found[at])
        return [found[at] for at in range(len(kinds))], number

    def _cut(self, examples: Sequence[Example]) -> Iterator[Cut]:
        pairs = None if examples[0].text_pair is None else [example.text_pair for example in examples]
        before, after, special = self.frame
        framed = self.keeps_pieces
        if framed and pairs is not None:
            raise BadInput(f"example {examples[0].id} has a second text, and the prompt has no place for it.")
        found = self.tokenizer(
            [f"{before}{example.text}{after}" for example in examples],
            pairs,
            **({"verbose": False} if framed else {"truncation": True, "max_length": self.longest}),
            add_special_tokens=special,
            return_offsets_mapping=True,
        )
        offsets_of = found.pop("offset_mapping")
        for row, (example, spans) in enumerate(zip(examples, offsets_of, strict=True)):
            if len(spans) > self.longest:
                raise BadInput(
                    f"example {example.id}: with the prompt around it the text has {len(spans):,} tokens, and the "
                    f"model reads {self.longest:,}. Leave out long texts, or shorten the prompt."
                )
            offsets = np.array(spans, dtype=np.int64).reshape(-1, 2) - len(before)
            inputs = {name: np.array(values[row], dtype=np.int64) for name, values in found.items()}
            word = _words_of(found.encodings[row], offsets, example)
            if framed:
                word = np.where(self._inside(offsets, example.text), word, -1)
            yield Cut(inputs, word, offsets, example)

    def _inside(self, offsets: Int[np.ndarray, "token 2"], text: str) -> Bool[np.ndarray, " token"]:
        """Which pieces are the text's. One that is the prompt's too is not, unless it is a space before the text."""
        start, end = offsets.T
        spaces = len(self.frame.before) - len(self.frame.before.rstrip())
        return np.asarray((start >= -spaces) & (end > 0) & (end <= len(text)))

    def _keep(self, kind: tuple[Any, ...], cut: Cut) -> None:
        if kind in self._known:
            return
        self._known[kind] = cut
        self._held += len(cut)
        while self._held > self._kept and len(self._known) > 1:
            self._held -= len(self._known.pop(next(iter(self._known))))


def encode_pieces(
    cutter: Cutter,
    examples: Sequence[Example],
    *,
    known: int | None = None,
    gold: Int[Tensor, "example decision"] | None,
    options: Bool[Tensor, "example label"] | None,
    device: torch.device,
) -> Batch:
    """`inputs` are what the network takes. A text that is too long is cut; words that are cut off have no piece.

    Args:
        known: how many ids the network knows; None: that is not known.
    """
    paired = [example.text_pair is not None for example in examples]
    if any(paired) != all(paired):
        raise BadInput("some examples of a batch have a second text and some have none: run them separately.")
    cuts, kind = cutter(examples)
    for cut, example in zip((cuts[number] for number in kind), examples, strict=True):
        if not (cut.word >= 0).any():  # such as zero-width characters alone
            raise BadInput(f"example {example.id}: its text has no token. Remove the example or give it a text.")
    tokenizer = cutter.tokenizer
    fillers = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id}
    inputs = {name: _padded([cut.inputs[name] for cut in cuts], fillers.get(name, 0))[kind] for name in cuts[0].inputs}
    word, masked = _padded([cut.word for cut in cuts], -1)[kind], None
    if any(example.masked for example in examples):
        held = [cuts[at] for at in kind]
        if cutter.keeps_pieces:
            masked = _hidden(held, examples, word.shape)
        else:
            inputs, word, masked = _hide(stand_in(tokenizer), fillers, inputs, word, held, examples)
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


def _padded(rows: Sequence[np.ndarray], filler: int) -> Int[np.ndarray, "example token"]:
    found = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


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


def count_pieces(cutter: Cutter, examples: Sequence[Example]) -> list[int]:
    """How many tokens there are of each text, [CLS] and [SEP] included; a hidden word is one."""
    cuts, kind = cutter(examples)
    if cutter.keeps_pieces:
        return [len(cuts[at]) for at in kind]
    return [
        len(cuts[at]) - (sum([cuts[at].spare[number] for number in example.masked]) if example.masked else 0)
        for at, example in zip(kind, examples, strict=True)
    ]


def read_ids(cutter: Cutter, examples: Sequence[Example]) -> list[list[int]]:
    """The ids of each text, without padding; a hidden word is one id, or -1 for each of its pieces if these stay."""
    cuts, kind = cutter(examples)
    found = []
    for at, example in zip(kind, examples, strict=True):
        ids = cuts[at].inputs["input_ids"]
        if example.masked:
            hidden = [cuts[at].holding[number] for number in example.masked]
            ids = ids.copy()
            if cutter.keeps_pieces:
                ids[np.concatenate(hidden)] = -1
            else:
                ids[[pieces[0] for pieces in hidden if len(pieces)]] = stand_in(cutter.tokenizer)
                ids = np.delete(ids, np.concatenate([pieces[1:] for pieces in hidden]))
        found.append(ids.tolist())
    return found


def _hidden(
    cuts: Sequence[Cut], examples: Sequence[Example], shape: tuple[int, ...]
) -> Bool[np.ndarray, "example token"]:
    """Where the pieces of masked words stand."""
    masked = np.zeros(shape, dtype=bool)
    for row, cut, example in zip(masked, cuts, examples, strict=True):
        for number in example.masked:
            row[cut.holding[number]] = True
    return masked


def _hide(
    instead: int,
    fillers: Mapping[str, int],
    inputs: Mapping[str, Int[np.ndarray, "example token"]],
    word: Int[np.ndarray, "example token"],
    cuts: Sequence[Cut],
    examples: Sequence[Example],
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """One token in place of the pieces of each masked word, what follows moved up: inputs, words, where they stand."""
    kept = inputs["attention_mask"].astype(bool)
    masked = np.zeros_like(kept)
    for row, (cut, example) in enumerate(zip(cuts, examples, strict=True)):
        hidden = [cut.holding[number] for number in example.masked]
        masked[row, [pieces[0] for pieces in hidden if len(pieces)]] = True
        for number, pieces in zip(example.masked, hidden, strict=True):
            if cut.spare[number]:
                kept[row, pieces[1:]] = False
    order = np.argsort(~kept, axis=1, kind="stable")[:, : kept.sum(1).max()]
    there = np.take_along_axis(kept, order, 1)
    read = {**inputs, "input_ids": np.where(masked, instead, inputs["input_ids"])}
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


Offsets: TypeAlias = Callable[[Any, str], Sequence[tuple[int, int]]]  # of the pieces of a text, by its tokenizer


def _alone(tokenizer: Any, text: str) -> Sequence[tuple[int, int]]:
    found: Sequence[tuple[int, int]] = tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )["offset_mapping"]
    return found


def cut_texts(tokenizer: Any, examples: Sequence[Example], units: str, offsets_of: Offsets = _alone) -> list[Example]:
    """The examples with the words of both texts as words; or with the tokenizer's pieces, if units are `tokens`.

    Where a script puts no spaces between words, pieces are words in any case. Marks are of the first text, so an
    example that has some keeps to that one.
    """
    return [_cut(tokenizer, example, units, offsets_of) for example in examples]


def _cut(tokenizer: Any, example: Example, units: str, offsets_of: Offsets) -> Example:
    if example.spans is not None:
        return example
    read = example.texts[:1] if example.marks else example.texts
    plain = [word_spans(text) for text in read]
    found = [_units_of(tokenizer, text, words, units, offsets_of) for text, words in zip(read, plain, strict=True)]
    if found == plain[:1]:
        return example
    ends = np.array([end for _, end in plain[0]])
    of_word = [min(int(np.searchsorted(ends, end)), len(ends) - 1) for _, end in found[0]]
    return replace(
        example,
        spans=tuple((which, *span) for which, spans in enumerate(found) for span in spans),
        marks={name: tuple(marked[word] for word in of_word) for name, marked in example.marks.items()},
    )


def _units_of(tokenizer: Any, text: str, words: Spans, units: str, offsets_of: Offsets) -> Spans:
    if units == "words" and not _RUN.search(text):
        return words
    offsets = offsets_of(tokenizer, text)
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
