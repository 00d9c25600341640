"""An audit's answer in one sentence, what may and may not be said of its heatmaps, and what would decide the rest.

The lines of a card are not added up into a score, but their pattern has a plain meaning. Each answer declares the
states that it needs; what may be said comes from the lines themselves, each for its own state and route.
"""

from collections.abc import Mapping
from typing import NamedTuple

from heatcheck.results.card import Card
from heatcheck.results.line import NO_WEIGHTS, TOO_FEW, Line
from heatcheck.results.written import in_brief

Needs = Mapping[str, tuple[str, ...]]  # line by its short name -> the answers of which it must have one

# What a line can say to a headline: `line_says` gives one of these.
SAYS = ("yes", "no", "no better than random", "mixed", "cannot be asked", "open", "not tested", NO_WEIGHTS)
NO = ("no", "no better than random")
PICTURE = "This picture shows where the model puts its weight."  # true of every heatmap of weights
SCORES = "This picture shows how one method scores the words."  # true of every other
NOT_WHY = "These words are why the model answered so."
NOT_SHOWN = "The highlighted words are the words the answer depends on."  # where nothing decided it


class Answer(NamedTuple):
    """An answer, and what the card must say for it."""

    needs: Needs
    words: str


class Headline(NamedTuple):
    """What a report, a terminal and a notebook open with."""

    answer: str
    may_say: tuple[str, ...]
    do_not_say: tuple[str, ...]
    next: str = ""  # what would decide what is open; empty where nothing is, or nothing would
    instead: str = ""  # what to show in place of a heatmap that fails
    command: str = ""  # makes that for a new text


_MATTER = "the highlighted words matter"
_HALF = "the highlighted words matter less than half as much as another method's words"
_RANDOM = "the highlighted words do not matter significantly more than random words"
_NOTHING = "no method clearly finds words that matter more than random words"
_CHANGES = "very different weights would change the answer"
_SAME = "most other weightings give the same answer"

# The first whose needs are met. Every pattern of the two lines meets one.
ANSWERS = (
    Answer({"points": ("yes",), "hard": ("yes",)}, f"Yes, as far as was tested: {_MATTER}, and {_CHANGES}."),
    Answer({"points": ("yes",), "hard": ("no",)}, f"Only as a pointer: {_MATTER}, but {_SAME}."),
    Answer(
        {"points": ("yes",), "hard": ("cannot be asked",)},
        f"Only as a pointer: {_MATTER}, but all words have nearly equal weights.",
    ),
    Answer(
        {"points": ("yes",), "hard": ("mixed",)},
        f"As a pointer: {_MATTER}, and most shuffles of the weights move the probability. But a search finds other "
        "weights that do not.",
    ),
    Answer(
        {"points": ("yes",), "hard": ("open",)},
        f"As a pointer: {_MATTER}. Whether other weights would change the answer is not decided.",
    ),
    Answer(
        {"points": ("yes",), "hard": ("not tested",)},
        f"As a pointer: {_MATTER}. Whether other weights would change the answer was not tested.",
    ),
    Answer(
        {"points": ("yes",), "hard": (NO_WEIGHTS,)},
        f"As a pointer: {_MATTER}. The heatmap has no attention weights, so other weights cannot be tried.",
    ),
    Answer({"points": ("no",), "hard": ("yes",)}, f"No: {_HALF}, though {_CHANGES}."),
    Answer({"points": ("no",), "hard": ("no",)}, f"No: {_HALF}, and {_SAME}."),
    Answer({"points": ("no",)}, f"No: {_HALF}."),
    Answer({"points": ("no better than random",), "hard": ("yes",)}, f"No: {_RANDOM}, though {_CHANGES}."),
    Answer({"points": ("no better than random",), "hard": ("no",)}, f"No: {_RANDOM}, and {_SAME}."),
    Answer({"points": ("no better than random",)}, f"No: {_RANDOM}."),
    Answer({"points": ("cannot be asked",), "hard": ("no",)}, f"Cannot be asked here: {_NOTHING}, and {_SAME}."),
    Answer({"points": ("cannot be asked",)}, f"Cannot be asked here: {_NOTHING}."),
    Answer(
        {"points": ("open",), "hard": ("no",)},
        f"Not decided: {_SAME}, and these examples do not show whether the highlighted words matter.",
    ),
    Answer(
        {"points": ("open",), "hard": ("yes",)},
        f"Not decided: {_CHANGES}, but these examples do not show whether the highlighted words matter.",
    ),
    Answer({"points": ("open",)}, "Not decided: these examples do not show whether the highlighted words matter."),
    Answer(
        {"points": ("not tested",), "hard": ("no",)},
        f"Not decided: {_SAME}, and whether the highlighted words matter was not tested.",
    ),
    Answer(
        {"points": ("not tested",), "hard": ("yes",)},
        f"Not decided: {_CHANGES}, but whether the highlighted words matter was not tested.",
    ),
    Answer({"points": ("not tested",)}, "Not decided: whether the highlighted words matter was not tested."),
)


def headline_of(card: Card) -> Headline:
    """The answer that the card's lines support."""
    lines = {line.short: line for line in card.every_line}
    answer = next(answer for answer in ANSWERS if supports(answer.needs, lines))
    ordered = (*card.in_reading_order, *card.apart)
    may = tuple(line.may_say for line in ordered if line.may_say)
    may_not = tuple(line.do_not_say for line in ordered if line.do_not_say)
    if line_says(lines.get("points")) in ("open", "cannot be asked", "not tested"):
        may_not = (NOT_SHOWN, *may_not)
    picture = SCORES if line_says(lines.get("hard")) == NO_WEIGHTS else PICTURE
    return Headline(answer.words, may or (picture,), may_not or (NOT_WHY,), _next(lines), *_instead(lines))


def supports(needs: Needs, lines: Mapping[str, Line]) -> bool:
    """Whether each line that is needed says one of the things that are needed of it."""
    return all(line_says(lines.get(name)) in said for name, said in needs.items())


def line_says(line: Line | None) -> str:
    """What a line says to a headline; a line that the card lacks was not tested.

    >>> line_says(None)
    'not tested'
    """
    if line is None or line.state == "not run":
        return NO_WEIGHTS if line is not None and line.route == NO_WEIGHTS else "not tested"
    if line.state == "unclear":
        return {"cannot be asked": "cannot be asked", "in between": "mixed"}.get(line.undecided, "open")
    return line.route if line.route in SAYS else line.state


def _next(lines: Mapping[str, Line]) -> str:
    """What would decide the line that the answer calls undecided; empty where it calls none so, or nothing would."""
    points = lines.get("points")
    line = lines.get("hard") if line_says(points) == "yes" else points
    if line is None or line_says(line) not in ("open", "not tested"):
        return ""
    if line.undecided == "not run":
        return f"This would decide it: {line.reason}"
    if line.route == TOO_FEW:
        return line.sentence
    if line.would_take:
        return f"About {line.would_take:,} examples would decide it, if the value stays."
    return ""


def _instead(lines: Mapping[str, Line]) -> tuple[str, str]:
    """The method that did best on this model, with its number, and its command; empty where there is none."""
    points = lines.get("points")
    if points is None or points.state != "no" or points.instead is None:
        return "", ""
    found = points.instead
    name = f"{found.method.replace('_', ' ')}{' with its sign' if found.signed else ''}"
    words = (
        f"Show this instead: {name}. Beyond random words, its top words move the probability by "
        f"{in_brief(found.gain)}, the heatmap's by {in_brief(found.own)}."
    )
    return words, found.command
