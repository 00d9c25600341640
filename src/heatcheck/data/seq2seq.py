"""Tasks that turn one text into another: copying, reversing, swapping neighbours, and English to German.

The generated ones know which source word each target word comes from (`Example.alignment`), so that what attention
points at can be held against what it should. The words mean nothing, and are drawn from a named stream a split: the
same examples on every machine.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from heatcheck.data.example import Corpus, Example, Split
from heatcheck.data.folder_tasks import Fields, gather, missing, rows_of
from heatcheck.data.task import Task
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName

Numbers = Int[np.ndarray, " word"]


class Kind(NamedTuple):
    """How the sequences of a task are drawn, and where each word to be written comes from."""

    about: str
    draw: Callable[[np.random.Generator, int, int], Numbers]  # generator, symbols, length
    order: Callable[[int], Numbers]  # a length -> the source word of each target word
    symbols: int
    lengths: tuple[int, int]  # shortest and longest
    multiple: int = 1  # a length is a multiple of it
    sizes: tuple[int, int, int] = (20_000, 1000, 1000)


def _with_repetition(generator: np.random.Generator, symbols: int, length: int) -> Numbers:
    return generator.integers(symbols, size=length)


def _distinct(generator: np.random.Generator, symbols: int, length: int) -> Numbers:
    return generator.permutation(symbols)[:length]


def _backwards(length: int) -> Numbers:
    return np.arange(length)[::-1]


def _flipped_pairs(length: int) -> Numbers:
    return np.arange(length) ^ 1


# Snell et al. train on 200 batches of 128 sequences that are never seen twice: one epoch over as many.
_FRESH = (25_600, 500, 500)
KINDS: dict[str, Kind] = {
    "bigram_flip": Kind(
        "generated: the words of each pair swapped (Pruthi et al.)", _with_repetition, _flipped_pairs, 1000, (2, 32), 2
    ),
    "copy_distinct": Kind(
        "generated: copy 40 different symbols out of 60 (Snell et al.)", _distinct, np.arange, 60, (40, 40), 1, _FRESH
    ),
    "copy_iid": Kind(
        "generated: copy 40 symbols drawn from 40 with repetition (Snell et al.)",
        _with_repetition,
        np.arange,
        40,
        (40, 40),
        1,
        _FRESH,
    ),
    "copy_permutation": Kind(
        "generated: copy a permutation of 40 symbols, whose bag of words says nothing (Snell et al.)",
        _distinct,
        np.arange,
        40,
        (40, 40),
        1,
        _FRESH,
    ),
    "sequence_copy": Kind(
        "generated: copy up to 32 of 1000 symbols (Pruthi et al.)", _with_repetition, np.arange, 1000, (1, 32)
    ),
    "sequence_reverse": Kind(
        "generated: up to 32 of 1000 symbols, backwards (Pruthi et al.)", _with_repetition, _backwards, 1000, (1, 32)
    ),
}


@lru_cache(maxsize=4)
def draw_sequences(
    name: str,
    *,
    seed: int = 0,
    sizes: tuple[int, int, int] | None = None,
    symbols: int | None = None,
    lengths: tuple[int, int] | None = None,
) -> Corpus:
    """Generate a sequence-to-sequence task with another seed, size, vocabulary or length.

    >>> corpus = draw_sequences("sequence_reverse", sizes=(20, 5, 5), symbols=10, lengths=(3, 3))
    >>> example = corpus["train"].examples[0]
    >>> example.text, example.text_pair, example.alignment
    ('w4 w8 w3', 'w3 w8 w4', ((2, 0), (1, 1), (0, 2)))
    """
    if name not in KINDS:
        raise UnknownName("generated sequence-to-sequence task", name, KINDS)
    kind = KINDS[name]
    sizes, symbols, lengths = sizes or kind.sizes, symbols or kind.symbols, lengths or kind.lengths
    possible = [length for length in range(lengths[0], lengths[1] + 1) if length > 0 and length % kind.multiple == 0]
    if not possible:
        raise BadInput(f"{name} needs lengths that are multiples of {kind.multiple}, not {lengths[0]} to {lengths[1]}.")
    if kind.draw is _distinct and max(possible) > symbols:
        raise BadInput(f"{name} cannot draw {max(possible)} distinct symbols from {symbols}. Ask for more symbols.")
    words = np.array([f"w{number:0{len(str(symbols - 1))}d}" for number in range(symbols)])
    splits = {
        split: Split(split, tuple(_examples(name, kind, split, size, seed, words, possible)))
        for split, size in zip(("train", "dev", "test"), sizes, strict=True)
    }
    return Corpus(name, (), splits, tokens="spaces")


def _examples(
    name: str, kind: Kind, split: str, size: int, seed: int, words: np.ndarray, lengths: list[int]
) -> list[Example]:
    """As many as asked for; the first of them are the same however many more there are."""
    generator = stream(seed, name, split)
    # A length's order is the same for all its sequences, and so are its pairs.
    orders = {length: kind.order(length) for length in lengths}
    pairs = {
        length: tuple((int(source), target) for target, source in enumerate(order)) for length, order in orders.items()
    }
    found = []
    for number in range(size):
        length = lengths[int(generator.integers(len(lengths)))]
        drawn = words[kind.draw(generator, len(words), length)]
        found.append(
            Example(
                f"{name}-{split}-{number}",
                " ".join(drawn.tolist()),
                " ".join(drawn[orders[length]].tolist()),
                alignment=pairs[length],
            )
        )
    return found


def _task(name: str) -> Task:
    sizes: Mapping[str, int] = dict(zip(("train", "dev", "test"), KINDS[name].sizes, strict=True))
    return Task(name, KINDS[name].about, (), sizes, "generated", lambda _: draw_sequences(name))


def _translated(fields: Fields) -> Example:
    source, target = fields["src"], fields["tgt"]
    sizes = len(source.split(" ")), len(target.split(" "))
    pairs = tuple((int(i), int(j)) for i, j in fields["align"])
    if not all(0 <= i < sizes[0] and 0 <= j < sizes[1] for i, j in pairs):
        raise ValueError(f"an alignment is outside its {sizes[0]} and {sizes[1]} words")
    return Example(fields["id"], source, target, alignment=pairs)


_STEM = "multi30k_pruthi_align"


def _read_multi30k(folder: Path) -> Corpus:
    return gather("multi30k", (), rows_of(multi30k, _STEM, folder), _translated, tokens="spaces")


_GOLD_STEM, _OTHER_LANGUAGES = "gold_alignments", "another pair of languages"


def _english_to_german(fields: Fields) -> Example | str:
    """The file has German first; what Multi30k teaches is to write German from English."""
    if fields["lang_pair"] != "deen":
        return _OTHER_LANGUAGES
    links = [(english, german) for german, english in fields["sure"]]
    return _translated({"id": fields["id"], "src": fields["tgt"], "tgt": fields["src"], "align": links})


def _read_gold(folder: Path) -> Corpus:
    return gather("gold_en_de", (), rows_of(gold_en_de, _GOLD_STEM, folder), _english_to_german, tokens="spaces")


bigram_flip = _task("bigram_flip")
copy_distinct = _task("copy_distinct")
copy_iid = _task("copy_iid")
copy_permutation = _task("copy_permutation")
sequence_copy = _task("sequence_copy")
sequence_reverse = _task("sequence_reverse")
multi30k = Task(
    "multi30k",
    "photo captions, English to German, with automatic word alignments (Pruthi et al.)",
    (),
    {"train": 29_000, "dev": 1014, "test": 1000},
    "none stated",
    _read_multi30k,
    missing(_STEM, None),
)
gold_en_de = Task(
    "gold_en_de",
    "parliament speeches, English to German, with word alignments made by hand; test only",
    (),
    {"test": 100},
    "none stated",
    _read_gold,
    missing(_GOLD_STEM, None),
)
GOLD_OF = {"multi30k": "gold_en_de"}  # whose models can be held against which alignments made by hand
