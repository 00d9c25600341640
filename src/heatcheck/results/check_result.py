"""The result of a check, as plain data: it can be drawn again without running the check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float

from heatcheck.engine import Facts
from heatcheck.results.measurement import Measurement

HEATMAP = "heatmap"  # in what a check found: whose scores the audited heatmap shows, if they are no attention weights
ATTENTION = "attention"  # the explainer that gives weights

Holds: TypeAlias = Literal["states", "re-encoded", "retrained"]


@dataclass(frozen=True)
class CheckResult:
    """A check's findings: tidy measurements, and the value of every example behind them."""

    check: str
    subject: str
    holds: Holds
    measurements: tuple[Measurement, ...]
    examples: tuple[str, ...]
    per_example: Mapping[str, Float[np.ndarray, " example"]]
    excluded: Mapping[str, str]  # id -> reason: count in = len(examples) + len(excluded)
    settings: Facts  # what was asked for, and nothing that was found
    seed: int
    not_run: Mapping[str, str] = field(default_factory=dict)  # part of the check, or another fit -> why it is missing
    facts: Facts = field(default_factory=dict)  # what was found beside the numbers: a method, a family, a text to show
    question: str = ""  # what the check asks, in plain words
    paper: str = ""  # that asked it first
    baseline: str = ""  # what its numbers are read against

    @property
    def heatmap(self) -> str:
        """The explainer whose scores the audited heatmap shows."""
        return str(self.facts.get(HEATMAP, ATTENTION))

    def find(self, name: str, **by: object) -> Measurement:
        """The one measurement of this name whose `by` holds these values."""
        found = [m for m in self.measurements if m.name == name and all(m.by.get(k) == v for k, v in by.items())]
        if len(found) != 1:
            raise KeyError(f"{len(found)} measurements {name!r} with {by} in {self.check}")
        return found[0]
