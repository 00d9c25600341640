"""Everything that an audit found, as plain data: a report is drawn from this alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heatcheck.engine import Facts
from heatcheck.results.card import Card
from heatcheck.results.check_result import CheckResult


class Looked(NamedTuple):
    """One audited example as a report shows it: its words, what was predicted, and the scores of each explainer."""

    id: str
    words: tuple[str, ...]
    text_pair: str | None
    gold: str | None
    predicted: str
    probability: float  # of the predicted label
    scores: Mapping[str, tuple[float | None, ...]]  # explainer -> one a word; None where a word has none
    rationale: tuple[bool, ...] | None


@dataclass(frozen=True, repr=False)
class Audit:
    """Everything that was found, as plain data: a report is drawn from this alone."""

    subject: str
    task: str  # name@fingerprint
    split: str
    labels: tuple[str, ...]
    accuracy: float
    n: int  # examples audited
    available: int  # examples in the split, without those that are left out
    seed: int
    card: Card
    results: Mapping[str, CheckResult]
    examples: Sequence[Looked]
    not_run: Mapping[str, str]  # check or explainer -> why; parts of a check that was run are in its result
    about: Facts  # versions, settings, date
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> rows of the split that it was trained on
    not_fitted: Mapping[str, str] = field(default_factory=dict)  # name of another fit -> why it could not be made

    @property
    def missing(self) -> dict[str, str]:
        """Everything that was not run, by a name to show, and why: fits, checks, then parts of checks."""
        parts = {
            f"{check}: {part}": why for check, result in self.results.items() for part, why in result.not_run.items()
        }
        return {**{f"fit: {name}": why for name, why in self.not_fitted.items()}, **self.not_run, **parts}

    def __repr__(self) -> str:
        """The card in short, and where the rest is: every number would be thousands of lines."""
        return (
            f"Audit of {self.subject}: {self.n:,} of {self.available:,} examples of {self.task} ({self.split}), "
            f"accuracy {self.accuracy:.3f}\n{self.card!r}\n"
            f"results: {', '.join(self.results) or 'none'}\n"
            "More: .card[LINE].sentence, .results[CHECK].measurements, heatcheck.write_report(audit, 'report.html')"
        )
