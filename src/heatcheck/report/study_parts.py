"""Titles and readings of the chapters of a study: those of checks, and of parts that are no check of an audit."""

from collections.abc import Iterable

from heatcheck.report.view import CheckView, view_of

STUDY_PARTS = {
    "scale": CheckView(
        "Attention scores and the scale λ that divides them",
        place=200,
        reading="Training raises the score of a word that already speaks for the label. The gradient of the loss with "
        "respect to a score is the weight times how much more the word says than the whole text. So words that go with "
        "a label should end above neutral words. With a small λ, the softmax commits before the words mean anything. "
        "With a large λ, no score moves far from its start. Accuracy shows neither effect.",
    ),
    "time_to_learn": CheckView("Time to learn to copy", place=210),
    "lottery_of_heads": CheckView("A lottery of heads", place=220),
}


def part_view(name: str) -> CheckView:
    """What a study shows of a check, or of a part of its own."""
    return STUDY_PARTS.get(name) or view_of(name)


def parts_in_order(names: Iterable[str]) -> list[str]:
    """Chapters in the order of a report, a study's own parts after the checks."""
    return sorted(names, key=lambda name: part_view(name).place)
