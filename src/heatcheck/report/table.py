"""Tables of text, and helpers that build them from measurements."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heatcheck.results import Measurement
from heatcheck.results.written import MINUS, NOTHING, number

_NUMBERS = re.compile(rf"[\d.,\[\] {MINUS}{NOTHING}]+(\(n = [\d,]+\))?")


class Table(NamedTuple):
    """A table whose cells are text."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    dense: bool = False  # many columns in little room

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns contain only numbers, so that these can be aligned.

        >>> Table("", ("class", "mean τ", "floor"), [("good", "0.310", "0.1 (uniform)"), ("bad", "–", "–")]).numeric
        (False, True, False)
        """
        return tuple(all(map(_NUMBERS.fullmatch, column)) for column in zip(*self.rows, strict=True))


def pivot(caption: str, first: str, cells: Sequence[tuple[str, str, str]]) -> Table:
    """A table from triples of row, column and cell."""
    rows, columns = (list(dict.fromkeys(names)) for names in ([row for row, _, _ in cells], [c for _, c, _ in cells]))
    found = {(row, column): cell for row, column, cell in cells}
    return Table(
        caption,
        (first, *columns),
        [(row, *(found.get((row, column), NOTHING) for column in columns)) for row in rows],
    )


def known_columns(columns: Mapping[str, Mapping[tuple[str, ...], str]]) -> dict[str, dict[tuple[str, ...], str]]:
    """The columns that are not empty, with a dash in empty cells."""
    return {
        column: {row: cell or NOTHING for row, cell in cells.items()}
        for column, cells in columns.items()
        if any(cells.values())
    }


def with_n(m: Measurement) -> str:
    """
    >>> with_n(Measurement("tau", 0.31, 0.3, 0.32, 1200, "random", {}))
    '0.310 (n = 1,200)'
    """
    return f"{number(m.value)} (n = {m.n:,})"
