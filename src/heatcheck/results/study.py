"""What a study found: every number beside the published one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from heatcheck.engine import Facts
from heatcheck.stats import further_half_width


class Row(NamedTuple):
    """One number of a study: the mean over seeds with its t interval, beside what was published."""

    task: str
    encoder: str
    attention: str
    quantity: str
    of_class: str  # the predicted class it is over; "" for all
    bin: str  # of the largest weight; "" for all
    value: float
    low: float
    high: float
    seeds: int
    paper: float | None
    rerun: float | None  # by the authors, with the code they released
    statement: str  # about the paper's number; "" where none was published
    rerun_statement: str
    spread: float = np.nan  # standard deviation over seeds, each over the same texts; nan where it was not kept

    @property
    def further(self) -> float:
        """How far from the mean one further seed lies at most, in 95% of the cases; nan where that is not known."""
        return further_half_width(self.spread, self.seeds) if self.seeds > 1 else np.nan


class Model(NamedTuple):
    """What is drawn of one kind of model: values of each audited example, of all its seeds, and some heatmaps."""

    task: str
    encoder: str
    attention: str
    labels: tuple[str, ...]
    seeds: int
    examples: Mapping[str, np.ndarray]  # quantity -> one value an example and seed; nan where there is none
    heatmaps: Sequence[Facts]
    points: Sequence[Facts] = ()  # other models of the same texts: {"model", "jsd", "tvd", …} to this one


@dataclass(frozen=True)
class StudyResult:
    """Everything a page about a study is drawn from."""

    name: str
    title: str
    paper: str
    rows: tuple[Row, ...]
    models: tuple[Model, ...]
    tasks: Mapping[str, Facts]  # task -> sizes, what was left out, how its data differs from the published
    notes: tuple[str, ...]  # what to know before reading any number
    failed: Mapping[str, str] = field(default_factory=dict)  # what was planned and could not be run -> why
    settings: Facts = field(default_factory=dict)
    published: tuple[Mapping[str, str], ...] = ()  # every published number, those that none of ours answers too
