"""The answer in one sentence, with what may be said of these heatmaps and what may not.

The lines of a card are not added up into a score, but their pattern has a plain meaning. Each answer declares the
states that it needs; what may be said comes from the lines themselves, each for its own state and route.
"""

from collections.abc import Mapping
from typing import NamedTuple

from heatcheck.results.card import Card
from heatcheck.results.line import Line

Needs = Mapping[str, tuple[str, ...]]  # line by its short name -> the states of which it must have one

OPEN = ("unclear", "not run", "absent")  # decides nothing; a card may lack the line
PICTURE = "This picture shows where the model puts its weight."  # true of every heatmap
NOT_WHY = "These words are why the model answered so."


class Answer(NamedTuple):
    """An answer, and what the card must say for it."""

    needs: Needs
    words: str


class Headline(NamedTuple):
    """What a report, a terminal and a notebook open with."""

    answer: str
    may_say: tuple[str, ...]
    do_not_say: tuple[str, ...]


# The first whose needs are met. Every pattern of the two lines meets one: the last five cover what is open.
ANSWERS = (
    Answer(
        {"points": ("yes",), "hard": ("yes",)},
        "Yes, as far as was tested: the highlighted words matter, and very different weights would change the answer.",
    ),
    Answer(
        {"points": ("yes",), "hard": ("no",)},
        "Only as a pointer: the highlighted words matter, but most other weightings give the same answer.",
    ),
    Answer(
        {"points": ("yes",), "hard": OPEN},
        "As a pointer: the highlighted words matter. Whether other weights would change the answer is not decided.",
    ),
    Answer(
        {"points": ("no",), "hard": ("yes",)},
        "No: another method finds words that matter more than twice as much, though very different weights would "
        "change the answer.",
    ),
    Answer(
        {"points": ("no",), "hard": ("no",)},
        "No: another method finds words that matter more than twice as much, and most other weightings give the same "
        "answer.",
    ),
    Answer({"points": ("no",)}, "No: another method finds words that matter more than twice as much."),
    Answer(
        {"points": OPEN, "hard": ("no",)},
        "Not as reasons: most other weightings give the same answer. Whether the highlighted words matter is not "
        "decided.",
    ),
    Answer(
        {"points": OPEN, "hard": ("yes",)},
        "Not decided: very different weights would change the answer, but whether the highlighted words matter is "
        "open.",
    ),
    Answer(
        {"points": OPEN, "hard": OPEN},
        "Not decided: neither whether the highlighted words matter nor whether other weights would change the answer.",
    ),
)


def headline_of(card: Card) -> Headline:
    """The answer that the card's lines support."""
    lines = {line.short: line for line in card.every_line}
    answer = next(answer for answer in ANSWERS if supports(answer.needs, lines))
    may = tuple(line.may_say for line in card.every_line if line.may_say)
    may_not = tuple(line.do_not_say for line in card.every_line if line.do_not_say)
    return Headline(answer.words, may or (PICTURE,), may_not or (NOT_WHY,))


def supports(needs: Needs, lines: Mapping[str, Line]) -> bool:
    """Whether each line that is needed has one of the states that it needs."""
    return all((lines[name].state if name in lines else "absent") in states for name, states in needs.items())
