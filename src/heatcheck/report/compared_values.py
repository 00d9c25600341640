"""The values per text by which two models are compared, and the words for them."""

from collections.abc import Callable
from typing import NamedTuple

from heatcheck.engine import Facts
from heatcheck.report.wording import spaced

_AXES = {
    "pair": "{0[0]} and {0[1]}",
    "ranking": "{}",
    "operator": "{}",
    "logits": "{} logits",
    "epsilon": "ε = {:g}",
}


def facts_in_words(by: Facts) -> str:
    """The facts in the name of a value.

    >>> facts_in_words({"logits": "published", "epsilon": 0.05})
    'published logits, ε = 0.05'
    """
    return spaced(", ".join(words.format(by[axis]) for axis, words in _AXES.items() if axis in by))


def only_attention(by: Facts) -> str | None:
    """The same for attention; other methods by themselves are not compared.

    >>> only_attention({"ranking": "attention", "operator": "deletion"}), only_attention({"ranking": "gradient"})
    ('attention, deletion', None)
    """
    first = by.get("pair", (by.get("ranking"),))[0]
    return facts_in_words(by) if first == "attention" else None


class Compared(NamedTuple):
    """A value per text that a check keeps, and by which two models are compared."""

    name: str  # the first part of the value's name
    words: str  # what it is; {} stands for its facts in words
    facts: Callable[[Facts], str | None] = facts_in_words  # None: models are not compared by a value with these facts
