"""Generated tasks whose answer is known: each example carries the words that decide its label as `rationale`.

Nothing else in a text depends on the label (a bag of words without the rationale has AUC ½), so a model above
the prior must use the rationale. Everything is drawn from named streams: the same examples on every machine.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Protocol, TypeAlias

import numpy as np

from heatcheck.data.example import Corpus, Example, Split
from heatcheck.data.task import Task
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName

LABELS = ("negative", "positive")
POSITIVE = ("brilliant", "charming", "delightful", "funny", "gripping", "lovely", "moving", "splendid")
NEGATIVE = ("awful", "boring", "clumsy", "dull", "feeble", "hollow", "stale", "tedious")
OPINIONS = (NEGATIVE, POSITIVE)  # by label
MARKER = "but"
COMMA, STOP = ",", "."
# Words without meaning: no pretrained vector and no reader can prefer one.
FILLERS = tuple(sorted(a + b + c for a in ("ba", "do", "ki", "lu", "me") for b in "nrst" for c in "aeiou"))
# Two lexicons for the same opinion, so that a model can be built to attend to one and read the other.
TWINS_ATTENDED = (tuple(f"{word}-a" for word in NEGATIVE), tuple(f"{word}-a" for word in POSITIVE))
TWINS_SUMMARISED = (tuple(f"{word}-b" for word in NEGATIVE), tuple(f"{word}-b" for word in POSITIVE))
KEYS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "islet",
    "joust",
    "knoll",
    "lotus",
)
VALUES = ("blue", "brown", "green", "red", "white", "yellow")
SIZES = {"train": 2000, "dev": 500, "test": 1000}

_ZIPF = 1 / np.arange(1, len(FILLERS) + 1)
_ZIPF /= _ZIPF.sum()
_UP_TO = _ZIPF.cumsum()
_UP_TO /= _UP_TO[-1]

Writer: TypeAlias = Callable[[np.random.Generator, str], Example]
Lengths: TypeAlias = tuple[int, int]  # fewest and most filler words of a text
USUAL: Lengths = (8, 20)
USUAL_OF_LOOKUP: Lengths = (6, 10)


class WritesAtLength(Protocol):
    """A writer whose texts can be made longer or shorter."""

    def __call__(self, generator: np.random.Generator, name: str, *, fillers: Lengths = ...) -> Example: ...


def _filler(generator: np.random.Generator, lengths: Lengths) -> list[str]:
    low, high = lengths
    # The draws of `generator.choice(..., p=_ZIPF)`, which adds up and checks the same probabilities at each call.
    drawn = generator.random(generator.integers(low, high + 1))
    return [FILLERS[i] for i in _UP_TO.searchsorted(drawn, side="right").tolist()]


def _opinion(generator: np.random.Generator, label: int, lexicon: tuple[tuple[str, ...], ...] = OPINIONS) -> str:
    words = lexicon[label]
    return words[
        int(generator.integers(len(words)))
    ]  # as `generator.choice` draws, which makes an array of words first


def _insert(generator: np.random.Generator, words: list[str], pieces: list[list[str]]) -> tuple[list[str], list[int]]:
    """Puts the pieces at distinct gaps between the words, in random order; and where each came to stand."""
    if len(pieces) > len(words) + 1:
        raise BadInput(
            f"{len(pieces)} pieces need at least {len(pieces) - 1} filler words between them, but got {len(words)}."
        )
    gaps = generator.choice(len(words) + 1, size=len(pieces), replace=False)
    text: list[str] = []
    place = [0] * len(pieces)
    at = {int(gap): number for number, gap in enumerate(gaps)}
    for gap in range(len(words) + 1):
        if gap in at:
            place[at[gap]] = len(text)
            text += pieces[at[gap]]
        text += words[gap : gap + 1]
    return text, place


def _marked(name: str, words: list[str], label: int, deciding: list[int], pair: str | None = None) -> Example:
    rationale = tuple(place in deciding for place in range(len(words)))
    return Example(name, " ".join(words), pair, label, {"rationale": rationale})


def keyword(generator: np.random.Generator, name: str, *, fillers: Lengths = USUAL) -> Example:
    """One opinion among filler decides. An average is enough: attention is sufficient, not needed."""
    label = int(generator.integers(2))
    words, (place,) = _insert(generator, _filler(generator, fillers), [[_opinion(generator, label)]])
    return _marked(name, words, label, [place])


def first(generator: np.random.Generator, name: str, *, fillers: Lengths = USUAL) -> Example:
    """As `keyword`, but the opinion stands first: whoever breaks ties by position finds it."""
    label = int(generator.integers(2))
    return _marked(name, [_opinion(generator, label), *_filler(generator, fillers)], label, [0])


def second(generator: np.random.Generator, name: str, *, fillers: Lengths = USUAL) -> Example:
    """As `keyword`, but the opinion stands second, behind a filler word that can be a sink."""
    label = int(generator.integers(2))
    opening, *others = _filler(generator, fillers)
    return _marked(name, [opening, _opinion(generator, label), *others], label, [1])


def majority(generator: np.random.Generator, name: str, cues: int = 7, *, fillers: Lengths = USUAL) -> Example:
    """The majority of seven weak cues decides: attention is irrelevant."""
    votes = generator.integers(2, size=cues)
    words = _filler(generator, fillers)
    words, places = _insert(generator, words, [[_opinion(generator, int(vote))] for vote in votes])
    return _marked(name, words, int(2 * votes.sum() > cues), places)


def contrast(generator: np.random.Generator, name: str, unmarked: int = 4, *, fillers: Lengths = USUAL) -> Example:
    """The opinion right after the marker decides, among four unmarked ones of random polarity.

    Uniform weights over context-free values see a bag in which the deciding word is any of the five: at best
    11/16 right. Every text has one comma and, at its end, one full stop, which mean nothing.
    """
    label = int(generator.integers(2))
    others = [[_opinion(generator, int(vote))] for vote in generator.integers(2, size=unmarked)]
    words = _filler(generator, fillers)
    words, places = _insert(generator, words, [[MARKER, _opinion(generator, label)], *others, [COMMA]])
    return _marked(name, [*words, STOP], label, [places[0] + 1])


def lookup(generator: np.random.Generator, name: str, *, fillers: Lengths = USUAL_OF_LOOKUP) -> Example:
    """The value of the asked key decides; key and value are one token, each value stands once.

    Weights that do not depend on the question give an answer that does not either: right at most one time in six.
    """
    keys = generator.choice(KEYS, size=len(VALUES), replace=False)
    values = generator.permutation(len(VALUES))
    words, places = _insert(
        generator,
        _filler(generator, fillers),
        [[f"{key}:{VALUES[value]}"] for key, value in zip(keys, values, strict=True)],
    )
    asked = int(generator.integers(len(keys)))
    return _marked(name, words, int(values[asked]), [places[asked]], pair=str(keys[asked]))


def twins(generator: np.random.Generator, name: str, *, fillers: Lengths = USUAL) -> Example:
    """Two opinions of the same label from two lexicons: for models built to attend to one and use the other."""
    label = int(generator.integers(2))
    pieces = [[_opinion(generator, label, TWINS_ATTENDED)], [_opinion(generator, label, TWINS_SUMMARISED)]]
    words, places = _insert(generator, _filler(generator, fillers), pieces)
    return _marked(name, words, label, places)


WRITERS: dict[str, WritesAtLength] = {
    "planted_contrast": contrast,
    "planted_first": first,
    "planted_keyword": keyword,
    "planted_lookup": lookup,
    "planted_majority": majority,
    "planted_second": second,
    "planted_twins": twins,
}


@cache
def generate(name: str, write: Writer, *, seed: int = 0, labels: tuple[str, ...] = LABELS) -> Corpus:
    """Train, dev and test; example n of a split is the same whatever else is generated."""
    return _generate(name, write, seed, labels, SIZES)


def _generate(name: str, write: Writer, seed: int, labels: tuple[str, ...], sizes: Mapping[str, int]) -> Corpus:
    splits = {
        split: Split(split, tuple(write(stream(seed, name, split, n), f"{name}-{split}-{n}") for n in range(size)))
        for split, size in sizes.items()
    }
    return Corpus(name, labels, splits, tokens="spaces")


@lru_cache(maxsize=8)
def planted(
    name: str,
    *,
    seed: int = 0,
    fillers: Lengths | None = None,
    sizes: tuple[int, int, int] = (SIZES["train"], SIZES["dev"], SIZES["test"]),
) -> Corpus:
    """Generate a planted task with another seed, size or length of texts.

    >>> corpus = planted("planted_keyword", seed=7, fillers=(5, 5), sizes=(20, 10, 10))
    >>> len(corpus["train"]), {len(example.words) for example in corpus["test"]}
    (20, {6})
    """
    if name not in WRITERS:
        raise UnknownName("planted task", name, WRITERS)
    if fillers is not None and not 1 <= fillers[0] <= fillers[1]:
        raise BadInput(f"fillers must be (fewest, most) with 1 ≤ fewest ≤ most, not {fillers[0]} and {fillers[1]}.")
    write = WRITERS[name] if fillers is None else partial(WRITERS[name], fillers=fillers)
    labels = VALUES if name == "planted_lookup" else LABELS
    return _generate(name, write, seed, labels, dict(zip(SIZES, sizes, strict=True)))


def _task(name: str, write: Writer, about: str, labels: tuple[str, ...] = LABELS) -> Task:
    return Task(name, about, labels, SIZES, "generated", lambda _: generate(name, write, labels=labels))


planted_keyword = _task("planted_keyword", keyword, "generated: one opinion among filler decides")
planted_first = _task("planted_first", first, "generated: one opinion decides; it is the first word")
planted_second = _task("planted_second", second, "generated: one opinion decides; it is the second word")
planted_majority = _task("planted_majority", majority, "generated: the majority of seven weak cues decides")
planted_contrast = _task("planted_contrast", contrast, "generated: the opinion after 'but' decides, among four others")
planted_lookup = _task("planted_lookup", lookup, "generated: the value of the asked key decides (two segments)", VALUES)
planted_twins = _task("planted_twins", twins, "generated: two opinions of the same label, for the control dial(m)")
