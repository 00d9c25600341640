"""All results of an audit, as plain data: a report is drawn from this alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heatcheck.engine import Facts
from heatcheck.results.card import Card
from heatcheck.results.check_result import ATTENTION, HEATMAP, CheckResult

ON_TEXT = "words of the text have"  # how much of a language model's weight
INTERRUPTED = "interrupted"  # in what an audit says about itself
TREATED_BY = "treatments"  # what could make the heatmap easier to read, where the model can be trained again


class AuditedExample(NamedTuple):
    """One audited example as a report shows it: what it consists of, what was answered, and each explainer's scores.

    What scores are of is called what the audit's `units` say. A kind of model that chooses no label has no `gold`,
    `predicted` and `probability`.
    """

    id: str
    words: tuple[str, ...]
    text_pair: str | None
    gold: str | None
    predicted: str | None
    probability: float | None  # of the predicted label
    scores: Mapping[str, tuple[float | None, ...]]  # explainer -> one a word; None where a word has none
    rationale: tuple[bool, ...] | None
    tau: float | None = None  # Kendall τ of the heatmap's sizes with those of the audit's `rival`


@dataclass(frozen=True, repr=False)
class Audit:
    """Everything that was found, as plain data: a report is drawn from this alone."""

    subject: str
    task: str  # name@fingerprint
    split: str
    labels: tuple[str, ...] | None  # None for a kind of model that chooses none
    accuracy: float | None
    n: int  # examples audited
    available: int  # examples in the split, without those that are left out
    seed: int
    card: Card
    results: Mapping[str, CheckResult]
    examples: Sequence[AuditedExample]
    not_run: Mapping[str, str]  # check or explainer -> why; parts of a check that was run are in its result
    about: Facts  # versions, settings, date
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> rows of the split that are not audited
    not_fitted: Mapping[str, str] = field(default_factory=dict)  # name of another fit -> why it could not be made
    kind: str = "classifier"  # of thing that was audited
    units: str = "words"  # what scores are of
    training_rows: str | None = None  # what is to be said of rows left out, or cut, or met in training
    commonest: tuple[str, float] | None = None  # label of the examples and its share, where all are labelled
    rival: str | None = None  # the explainer that the heatmap is compared with, text by text
    shown_first: str | None = None  # the example that a report opens with, by id

    @property
    def interrupted(self) -> str:
        """What an interruption left out, in a sentence, and how to go on; empty where all checks have ended."""
        return str(self.about.get(INTERRUPTED, ""))

    @property
    def heatmap(self) -> str:
        """The audited heatmap in words; empty for the last layer's, which is audited where none is named."""
        return str(self.about.get(HEATMAP, {}).get("shown", ""))

    @property
    def explainer(self) -> str:
        """The explainer whose scores the audited heatmap shows."""
        return str(self.about.get(HEATMAP, {}).get("explainer", ATTENTION))

    @property
    def missing(self) -> dict[str, str]:
        """Everything that was not run, by a name to show, and why: fits, checks, then parts of checks."""
        parts = {
            f"{check}: {part}": why for check, result in self.results.items() for part, why in result.not_run.items()
        }
        return {**{f"fit: {name}": why for name, why in self.not_fitted.items()}, **self.not_run, **parts}

    def __repr__(self) -> str:
        """The card in short, and where the rest is: every number would be thousands of lines."""
        right = "" if self.accuracy is None else f", accuracy {self.accuracy:.3f}"
        interrupted = f"{self.interrupted}\n" if self.interrupted else ""
        of = f" ({self.heatmap})" if self.heatmap else ""
        return (
            f"Audit of {self.subject}{of}: {self.n:,} of {self.available:,} examples of {self.task} ({self.split})"
            f"{right}\n{interrupted}{self.card!r}\n"
            f"results: {', '.join(self.results) or 'none'}\n"
            "More: .card[LINE].sentence, .results[CHECK].measurements, heatcheck.write_report(audit, 'report.html')"
        )
