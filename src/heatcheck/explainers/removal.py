"""Taking words out of a text: an example to another example. Each way is named in the results that use it."""

from collections.abc import Callable, Collection
from dataclasses import replace

from heatcheck.data import Example
from heatcheck.data.vocabulary import SPECIAL, UNKNOWN

MASK = SPECIAL[UNKNOWN]  # a word no vocabulary knows


def delete(example: Example, places: Collection[int]) -> Example:
    """The text without these words.

    >>> delete(Example("a", "not so bad"), {1}).text
    'not bad'
    """
    kept = [word for place, word in enumerate(example.words) if place not in places]
    return replace(example, text=" ".join(kept), marks={})


def mask(example: Example, places: Collection[int]) -> Example:
    """The text with these words made unknown.

    >>> mask(Example("a", "not so bad"), {1}).text
    'not <unk> bad'
    """
    kept = [MASK if place in places else word for place, word in enumerate(example.words)]
    return replace(example, text=" ".join(kept), marks={})


REMOVALS: dict[str, Callable[[Example, Collection[int]], Example]] = {"deletion": delete, "masking": mask}
