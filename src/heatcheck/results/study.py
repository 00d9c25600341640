"""The results of a study: every number beside the published one."""

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
"""How a published number compares with ours; empty if none was published. A chosen value is not compared."""


# The columns of a row in tables and JSON; the quantity as one text.
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
    """One number of a study: the mean over seeds with its t interval, beside the published number."""

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
    rerun: float | None  # by the authors with their released code, or by others
    statement: str  # about the paper's number; "" where none was published
    rerun_statement: str
    spread: float = np.nan  # standard deviation over seeds, all on the same texts; nan where it was not kept
    comparison: Comparison = ""  # the statement as a key, without reasons and sizes
    rerun_comparison: Comparison = ""

    @property
    def quantity(self) -> str:
        """Name and facts as one text, as in a table, such as ``trained:uniform``."""
        return key_text(self.name, self.by)

    @property
    def key(self) -> Key:
        return key(self.name, **self.by)

    def facts(self) -> dict[str, Any]:
        """The row as tables and JSON have it."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def further(self) -> float:
        """Half-width of the 95% interval of one further seed; nan where it is unknown."""
        return further_half_width(self.spread, self.seeds) if self.seeds > 1 else np.nan


class Published(NamedTuple):
    """A published number: from the paper, or from a rerun by the authors or others."""

    task: str
    encoder: str
    attention: str
    key: Key
    of_class: str
    bin: str
    paper: float | None
    rerun: float | None
    source: str = ""  # where we read it


class Model(NamedTuple):
    """What a page draws of one kind of model: values of each audited example and seed, and some heatmaps."""

    task: str
    encoder: str
    attention: str
    labels: tuple[str, ...]
    seeds: int
    examples: Mapping[str, np.ndarray]  # quantity -> one value per example and seed; nan where there is none
    heatmaps: Sequence[Facts]
    points: Sequence[Facts] = ()  # other models on the same texts: {"model", "jsd", "tvd", …} compared with this one


@dataclass(frozen=True)
class StudyResult:
    """The full result of a study, from which its page is drawn."""

    name: str
    title: str
    paper: str
    rows: tuple[Row, ...]
    models: tuple[Model, ...]
    tasks: Mapping[str, Facts]  # task -> sizes, exclusions, how its data differs from the published
    notes: tuple[str, ...]  # what a reader must know before any number
    failed: Mapping[str, str] = field(default_factory=dict)  # what was planned and did not run -> why
    settings: Facts = field(default_factory=dict)
    published: tuple[Published, ...] = ()  # every published number, also those without one of ours
