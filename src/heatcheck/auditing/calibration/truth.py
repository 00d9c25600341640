"""The right answer to each question, for every model whose truth is known: what calibration compares with.

Each row is a theorem about a subject that was written down, or about the task a decoy was trained on; the proofs are in
docs/calibration.md and in the subjects' docstrings. A line that is not named is one about which nothing is known.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from heatcheck.auditing.lines.across import NAME as ACROSS
from heatcheck.auditing.lines.hard import NAME as HARD
from heatcheck.auditing.lines.necessary import NAME as NECESSARY
from heatcheck.auditing.lines.out_of_context import NAME as OUT_OF_CONTEXT
from heatcheck.auditing.lines.points import NAME as POINTS

Truth: TypeAlias = Literal["yes", "no", "moot", "not no"]
# moot: the question cannot be asked, so the line must be unclear; not no: a "no" would lack a proof.

LINES = (NECESSARY, POINTS, HARD, OUT_OF_CONTEXT, ACROSS)
KEYWORD, CONTRAST, LOOKUP = "planted_keyword", "planted_contrast", "planted_lookup"
MAJORITY = "planted_majority"
FIRST, SECOND = "planted_first", "planted_second"
DECOY = "decoy"


class Cell(NamedTuple):
    """A subject on a task."""

    subject: str
    task: str

    def __str__(self) -> str:
        return f"{self.subject}@{self.task}"


def _known(necessary: Truth, points: Truth, hard: Truth, out_of_context: Truth, across: Truth) -> dict[str, Truth]:
    return dict(zip(LINES, (necessary, points, hard, out_of_context, across), strict=True))


# Uniform weights are already perfect on keyword, and in lookup no word by itself says anything about the label: there
# works out of context is moot, whoever is asked.
TRUTH: dict[Cell, Mapping[str, Truth]] = {
    Cell("reader", KEYWORD): _known("no", "yes", "yes", "moot", "no"),
    # Another word of the same polarity would do (15 in 16 texts have one), a random one would not.
    Cell("reader", CONTRAST): _known("yes", "yes", "moot", "yes", "not no"),
    Cell("reader", LOOKUP): _known("yes", "yes", "yes", "moot", "not no"),
    # It reads a fifth of the words. On lookup the others that it reads decide what equal weights say: not asserted.
    Cell("rationale_reader", KEYWORD): _known("no", "yes", "yes", "moot", "not no"),
    Cell("rationale_reader", LOOKUP): {POINTS: "yes", HARD: "yes", OUT_OF_CONTEXT: "moot", ACROSS: "not no"},
    Cell("bystander_right", KEYWORD): _known("no", "yes", "no", "moot", "no"),
    Cell("bystander_right", CONTRAST): _known("no", "yes", "no", "yes", "no"),
    Cell("bystander_right", LOOKUP): _known("no", "yes", "no", "moot", "no"),
    Cell("bystander_wrong", KEYWORD): _known("no", "no", "no", "moot", "no"),
    Cell("bystander_wrong", CONTRAST): _known("no", "no", "no", "no", "no"),
    Cell("bystander_wrong", LOOKUP): _known("no", "no", "no", "moot", "no"),
    Cell("shifted", KEYWORD): _known("no", "no", "yes", "moot", "not no"),
    # As the reader there: the states of four other words vote as loudly.
    Cell("shifted", CONTRAST): _known("no", "no", "moot", "no", "not no"),
    Cell("shifted", LOOKUP): _known("no", "no", "yes", "moot", "not no"),
    Cell("gauge_twin", KEYWORD): _known("no", "no", "moot", "moot", "no"),
    Cell("leaker", CONTRAST): _known("no", "no", "no", "no", "no"),
    # The first layer looks the answer up, and the heatmap is the second's: needed, and not by the heatmap's layer.
    Cell("two_layers", LOOKUP): _known("yes", "yes", "no", "moot", "no"),
    # A heatmap has no sign, so it cannot tell cues for the answer from cues against it: whether another method's words
    # matter more is not asserted, nor how far the weights of seven cues can move.
    Cell("majority_reader", MAJORITY): {NECESSARY: "no", OUT_OF_CONTEXT: "moot"},
    # Most words are tied, and the deciding one stands first among them: who breaks ties by position finds it.
    Cell("one_hot", FIRST): _known("no", "no", "no", "moot", "no"),
    Cell("flat", FIRST): _known("no", "no", "moot", "moot", "no"),
    Cell("sink", SECOND): _known("no", "no", "no", "moot", "no"),
}
# A decoy's training decides where its weights go, so two of its lines are anybody's guess. So is the third: that its
# honest twin has another heatmap is a witness only beyond what seeds do, and seeds of a recurrent model, whose every
# state can hold the rationale, have other heatmaps too.
TRUTH |= {Cell(DECOY, task): {NECESSARY: "no", POINTS: "no"} for task in (KEYWORD, CONTRAST)}

Judged: TypeAlias = Literal["right", "wrong", "unclear", "moot", "moot missed", "not asserted"]


def judge(truth: Truth | None, state: str) -> Judged:
    """A line's answer beside what is known.

    >>> judge("yes", "yes"), judge("yes", "no"), judge("no", "not found")
    ('right', 'wrong', 'unclear')
    >>> judge("moot", "unclear") == "moot", judge("moot", "yes") == "moot missed"
    (True, True)
    >>> judge("not no", "not found"), judge("not no", "no"), judge(None, "no")
    ('not asserted', 'wrong', 'not asserted')
    """
    if truth == "moot":
        return "moot" if state == "unclear" else "moot missed"
    if truth is None or truth == "not no":
        return "wrong" if truth is not None and state == "no" else "not asserted"
    if state not in ("yes", "no"):
        return "unclear"
    return "right" if state == truth else "wrong"
