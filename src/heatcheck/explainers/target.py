"""Find what to explain: a label, a label rather than another, or one decision of a model that makes several."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple, Protocol, runtime_checkable

import torch

from heatcheck.data import Example
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Subject, require_one_decision


@runtime_checkable
class AnswersOneQuestion(Subject, Protocol):
    """A model that can be asked one question alone: one label or another, or yes or no to one of its labels."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def contrast(self, label: int, against: int) -> Subject: ...

    def only(self, label: int) -> Subject: ...


class Target(NamedTuple):
    """What to explain: a label (None: the predicted one) of a model, asked about examples with these options."""

    subject: Subject
    label: int | None = None
    options: tuple[int, ...] | None = None
    name: str | None = None  # as a reader sees it; None: the label's own

    def of(self, example: Example) -> Example:
        """The example, with the labels that it may have."""
        return example if self.options is None else example.but(options=self.options)

    def require(self, explainers: Sequence[str]) -> None:
        """Refuse methods that explain the logit of one label, if the question is between two."""
        alone = next((name for name in explainers if name in OF_ONE_LOGIT), None)
        if self.options is not None and alone is not None:
            raise NotSupported(
                f"{alone} explains one label at a time for {self.subject.id}: name one label with target, or leave out "
                f"{alone}."
            )


OF_ONE_LOGIT = ("gradient_rollout", "relevance", "log_odds")


def find_target(subject: Subject, target: object, example: Example) -> Target:
    """What the user means by a label's name or number, or by two of them: `good-bad`, or a pair.

    A model that says yes or no to each label makes one decision per label, and the target names the decision.

    >>> from heatcheck.models import load
    >>> subject, example = load("known:reader@planted_keyword"), Example("a", "dull")
    >>> find_target(subject, "positive", example).label, find_target(subject, None, example).label
    (1, None)
    >>> found = find_target(subject, "negative-positive", example)
    >>> found.label, found.options, found.name
    (0, (0, 1), 'negative rather than positive')
    """
    if getattr(subject, "several", False) and target is not None and isinstance(subject, AnswersOneQuestion):
        number = find_label(subject, target, example)
        assert number is not None
        return Target(subject.only(number), 1, name=subject.labels[number])
    require_one_decision(subject, "a heatmap")
    two = _two_labels(subject, target, example)
    if two is None:
        return Target(subject, find_label(subject, target, example))
    label, against = two
    labels = _labels(subject, example)
    if label == against:
        raise BadInput(f"the target compares the label {labels[label]!r} with itself: name two labels.")
    name = f"{labels[label]} rather than {labels[against]}"
    if isinstance(subject, AnswersOneQuestion):
        return Target(subject.contrast(label, against), 1, name=name)
    return Target(subject, label, options=tuple(sorted(two)), name=name)


def _two_labels(subject: Subject, target: object, example: Example) -> tuple[int, int] | None:
    """Both labels of a contrast; None if the target is not one."""
    if isinstance(target, tuple | list):
        if len(target) != 2:
            raise BadInput(f"target must be a label, or two labels to compare, not {target!r}.")
        found = [find_label(subject, one, example) for one in target]
        if None in found:
            raise BadInput(f"target must name both labels to compare, not {target!r}.")
        return found[0], found[1]  # type: ignore[return-value]  # none is None
    if not isinstance(target, str) or target in _labels(subject, example):
        return None
    for place, character in enumerate(target):
        if character != "-":
            continue
        try:
            label, against = (find_label(subject, one, example) for one in (target[:place], target[place + 1 :]))
        except BadInput:
            continue
        assert label is not None
        assert against is not None
        return label, against
    return None


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
