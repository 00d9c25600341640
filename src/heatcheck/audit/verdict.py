"""The card: four things a heatmap must be to be read as an explanation, each with its evidence. No overall score."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from heatcheck.checks import CheckResult, Measurement

State: TypeAlias = Literal["yes", "no", "unclear", "not run"]


class Line(NamedTuple):
    """One line of the card."""

    name: str
    question: str  # in plain words
    state: State
    reason: str  # why unclear: "more data would decide" or "moot here: …"; what would run it, if not run
    evidence: tuple[Measurement, ...]  # the statistic first, then what it is read against
    holds: str  # what was held fixed
    sentence: str  # what it means for the heatmaps, in plain words
    cannot_see: str  # what this line is blind to


@dataclass(frozen=True)
class Card:
    """The four lines, and the factor by which logits were scaled before any threshold on probabilities."""

    lines: tuple[Line, ...]
    logit_scale: float

    def __getitem__(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)


Judge: TypeAlias = Callable[[Mapping[str, CheckResult]], Line]
