"""Find the label to explain, by the name or number that the user gave."""

from numbers import Integral

import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput
from heatcheck.models import Subject


def find_label(subject: Subject, target: object, example: Example) -> int | None:
    """The number of the target label; None: the predicted one. A name takes precedence over a number.

    A language model that is asked for an answer explains that answer, if no target is named.

    >>> from heatcheck.models import load
    >>> subject, example = load("known:reader@planted_keyword"), Example("a", "dull")
    >>> find_label(subject, "positive", example), find_label(subject, 0, example)
    (1, 0)
    """
    if target is None:
        aim: int | None = getattr(subject, "aim", None)
        return aim
    if isinstance(target, bool) or not isinstance(target, str | Integral):
        raise BadInput(f"target must be a label's name or its number, not {target!r}.")
    labels = _labels(subject, example)
    if target in labels:
        return labels.index(str(target))
    number = int(str(target)) if str(target).isdecimal() else -1
    if number not in range(len(labels)):
        named = ", ".join(f"{label} ({place})" for place, label in enumerate(labels))
        raise BadInput(f"{subject.id} has no label {target!r}: name one of {named}.")
    return number


def _labels(subject: Subject, example: Example) -> list[str]:
    """Label names, or numbers if the model has no names."""
    if hasattr(subject, "labels"):
        return list(subject.labels)
    with torch.no_grad():
        return [str(number) for number in range(subject.run(subject.encode([example])).logits.shape[-1])]
