"""An audit: the checks on one subject, and the card they give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heatcheck.audit.verdict import Card
from heatcheck.checks import CheckResult
from heatcheck.engine import Facts


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


@dataclass(frozen=True)
class Audit:
    """Everything that was found, as plain data: a report is drawn from this alone."""

    subject: str
    task: str  # name@fingerprint
    split: str
    labels: tuple[str, ...]
    accuracy: float
    n: int  # examples audited
    available: int  # examples in the split
    seed: int
    card: Card
    results: Mapping[str, CheckResult]
    examples: Sequence[Looked]
    not_run: Mapping[str, str]  # check or explainer -> why
    about: Facts  # versions, settings, date
