"""Treated models beside untreated ones: each line of the card before and after, and whether the treatment helped."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Word = Literal[
    "helps",
    "seems better",
    "no change seen",
    "worse",
    "not judged here",
    "cannot be asked",
    "too few seeds",
]
MEANS: Mapping[str, str] = {
    "helps": "better than the untreated models, and better than the same models with their weights made as sharp",
    "seems better": "better than the untreated models, but not significantly better than these with their weights "
    "made as sharp",
    "no change seen": "the difference from the untreated models may be chance",
    "worse": "worse than the untreated models",
    "not judged here": "the treatment trains this very number",
    "cannot be asked": "there is nothing to point at or to gain, before or after",
    "too few seeds": "so few pairs of models cannot tell a change from chance",
}


class Difference(NamedTuple):
    """A paired difference with its 95% interval over seeds and examples, and its p-value within the whole table."""

    value: float
    low: float
    high: float
    p: float  # adjusted by Benjamini–Hochberg for all cells of the table that are judged


class TreatedCell(NamedTuple):
    """One line of the card (or the accuracy) under one treatment."""

    line: str  # accuracy, points, hard or context
    word: Word
    before: float
    after: float
    twin: float | None  # of the untreated models with their weights made as sharp
    change: Difference | None  # after − before
    beyond: Difference | None  # after − twin
    seeds: int
    examples: int
    why: str = ""  # it is not judged, or cannot be asked


class TreatedRow(NamedTuple):
    """One treatment with all its cells."""

    name: str
    about: str
    cells: tuple[TreatedCell, ...]
    evenness: tuple[float, float] | None = None  # of the weights, before and after; 1: all are equal
    twin_evenness: float | None = None
    note: str = ""

    def cell(self, line: str) -> TreatedCell:
        """The cell of a line."""
        return next(cell for cell in self.cells if cell.line == line)


class Treatments(NamedTuple):
    """What treatments did to the models of one task."""

    task: str
    model: str
    rows: tuple[TreatedRow, ...]
    seeds: int
    examples: int
    advice: str
    not_applied: Mapping[str, str]  # treatment -> why it does not apply here
    left_out: Mapping[str, str] = MappingProxyType({})  # what was not tried, and the option that tries it
    failed: Mapping[str, str] = MappingProxyType({})  # training runs and audits by name, and why
    settings: Mapping[str, Any] = MappingProxyType({})


def treatments_facts(found: Treatments) -> dict[str, Any]:
    """All of it as JSON has it; `treatments_from` reads it back."""
    rows = [
        {
            **row._asdict(),
            "cells": [
                {
                    **cell._asdict(),
                    "change": None if cell.change is None else cell.change._asdict(),
                    "beyond": None if cell.beyond is None else cell.beyond._asdict(),
                }
                for cell in row.cells
            ],
        }
        for row in found.rows
    ]
    kept = ("not_applied", "left_out", "failed", "settings")
    return {**found._asdict(), "rows": rows, **{name: dict(getattr(found, name)) for name in kept}}


def treatments_from(facts: Mapping[str, Any]) -> Treatments:
    """What `treatments_facts` wrote."""

    def known(one: Mapping[str, Any]) -> dict[str, Any]:
        return {name: math.nan if value is None else value for name, value in one.items()}

    def difference(one: Mapping[str, Any] | None) -> Difference | None:
        return None if one is None else Difference(**known(one))

    rows = []
    for row in facts["rows"]:
        cells = tuple(
            TreatedCell(
                **{
                    **cell,
                    **known({name: cell[name] for name in ("before", "after")}),
                    "change": difference(cell["change"]),
                    "beyond": difference(cell["beyond"]),
                }
            )
            for cell in row["cells"]
        )
        evenness = None if row["evenness"] is None else tuple(row["evenness"])
        rows.append(TreatedRow(**{**row, "cells": cells, "evenness": evenness}))
    return Treatments(**{**facts, "rows": tuple(rows)})
