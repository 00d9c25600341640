"""An importer reads one published data set and counts its records."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from heatcheck.data.importing.distribution import Distribution

Row = dict[str, object]


@dataclass(frozen=True)
class Excluded:
    """Records that give no row of their own, and why."""

    reason: str
    count: int = 1


@dataclass(frozen=True)
class Importer:
    """Converts one published data set into the rows of one file of the data folder.

    `read` yields each record once: as a row, or as an `Excluded` that says why there is no row.
    """

    name: str
    tasks: tuple[str, ...]  # the tasks that its file serves
    file: str
    source: str  # where the distribution comes from
    holds: str  # what it consists of
    read: Callable[[Distribution], Iterator[Row | Excluded]]
    published: Mapping[str, int] = field(default_factory=dict)  # rows a split, where they are known


@dataclass(frozen=True)
class Imported:
    """Counts of records: `read` is the sum of `written` and `excluded`."""

    task: str
    file: Path
    read: int
    written: Mapping[str, int]  # by split
    excluded: Mapping[str, int]  # by reason
