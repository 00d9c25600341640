"""The units that get scores: the words of a text, or the pieces into which a tokenizer cuts it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from heatcheck.data import Example
from heatcheck.data.tokens import split_words
from heatcheck.errors import NotSupported, UnknownName
from heatcheck.models.contract.subject import Subject

UNITS = ("words", "tokens")


@runtime_checkable
class CutsTexts(Subject, Protocol):
    """A model with its own tokenizer, which may score words of both texts, and pieces of words."""

    def cut(self, examples: Sequence[Example], units: str) -> list[Example]: ...


def in_units(subject: Subject, examples: Sequence[Example], units: str = "words") -> list[Example]:
    """The examples with the units that the model scores as their words.

    >>> from heatcheck.models import load
    >>> in_units(load("known:reader@planted_keyword"), [Example("a", "not bad")])[0].words
    ('not', 'bad')
    """
    if units not in UNITS:
        raise UnknownName("kind of units", units, UNITS)
    if isinstance(subject, CutsTexts):
        return subject.cut(examples, units)
    if units == "tokens":
        raise NotSupported(
            f"units=tokens needs a model with a Hugging Face tokenizer, and {subject.id} has none. Use units=words."
        )
    return list(examples)


def name_units(examples: Sequence[Example], units: str = "words") -> str:
    """The name of the units that these examples' scores are for, as a reader sees it.

    >>> name_units([Example("a", "not bad")])
    'words'
    >>> name_units([Example("a", "我爱", spans=((0, 0, 1), (0, 1, 2))), Example("b", "not bad")])
    "words; the tokenizer's pieces in 1 of 2 texts, whose script has no spaces"
    """
    both = " of both texts" if any(which for e in examples for which, _, _ in e.spans or ()) else ""
    if units == "tokens":
        return f"the tokenizer's pieces{both}"
    cut = sum(_is_cut(example) for example in examples)
    pieces = f"; the tokenizer's pieces in {cut} of {len(examples)} texts, whose script has no spaces" if cut else ""
    return f"words{both}{pieces}"


def _is_cut(example: Example) -> bool:
    """Whether it has other words than those between its spaces."""
    if example.spans is None:
        return False
    scored = {which for which, _, _ in example.spans}
    return len(example.spans) != sum(len(split_words(example.texts[which])) for which in scored)
