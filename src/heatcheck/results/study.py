"""What a study found: every number beside the published one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from heatcheck.engine import Facts
from heatcheck.results.key import Key, key, key_text
from heatcheck.stats import further_half_width

Comparison: TypeAlias = Literal[
    "", "inside", "outside", "not comparable", "one seed", "in exact interval", "not in exact interval", "chosen"
]
"""Where a published number lies; empty where none was published. One that was chosen is compared with nothing."""


# What tables and programs are given of a row; the quantity as one text.
COLUMNS = (
    "task",
    "encoder",
    "attention",
    "quantity",
    "of_class",
    "bin",
    "value",
    "low",
    "high",
    "seeds",
    "paper",
    "rerun",
    "statement",
    "rerun_statement",
    "spread",
)


class Row(NamedTuple):
    """One number of a study: the mean over seeds with its t interval, beside what was published."""

    task: str
    encoder: str
    attention: str
    name: str  # of the quantity
    by: Facts  # what tells its kinds apart: {"weights": "uniform"}
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
    comparison: Comparison = ""  # what the statement says, before it gives reasons and sizes
    rerun_comparison: Comparison = ""

    @property
    def quantity(self) -> str:
        """Name and facts as one text, as a table has them, such as ``trained:uniform``."""
        return key_text(self.name, self.by)

    @property
    def key(self) -> Key:
        return key(self.name, **self.by)

    def facts(self) -> dict[str, Any]:
        """As tables and programs have it."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def further(self) -> float:
        """How far from the mean one further seed lies at most, in 95% of the cases; nan where that is not known."""
        return further_half_width(self.spread, self.seeds) if self.seeds > 1 else np.nan


class Published(NamedTuple):
    """A number that somebody published: of the paper, or of a run by the authors or by others."""

    task: str
    encoder: str
    attention: str
    key: Key
    of_class: str
    bin: str
    paper: float | None
    rerun: float | None
    source: str = ""  # where it was read


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
    published: tuple[Published, ...] = ()  # every published number, those that none of ours answers too
