"""A study of the copy task: its tables and its summary."""

import math
from collections.abc import Iterable

from heatcheck.report.study_wording import two_digits, with_interval
from heatcheck.report.table import Table
from heatcheck.results import Row, StudyResult
from heatcheck.results.written import NOTHING

SEQUENCES = {
    "copy_permutation": "permutations of all symbols",
    "copy_distinct": "distinct symbols, not all",
    "copy_iid": "symbols with repetition",
}
KINDS = {"learned": "learned weights", "uniform": "uniform weights", "none": "no context"}
ALONE = {"good": "good", "bad": "bad", "neither": "neither"}
EIGHT = {"bad": "eight bad", "one good": "seven bad, one good", "random": "eight random"}


def tables_of_copy(found: StudyResult) -> dict[str, list[Table]]:
    """Tables of how many runs copy by when, and how much of that needs attention; nothing for other studies."""
    rows = {(row.task, row.quantity): row for row in found.rows}
    tasks = [task for task in SEQUENCES if (task, "elimination") in rows]
    told: dict[str, list[Table]] = {}
    if tasks:
        ends = sorted({int(row.by["steps"]) for row in found.rows if row.name == "failed"})
        told["time_to_learn"] = [
            Table(
                "Share of runs that do not copy yet (never above .95 right), with the exact 95% interval",
                ("sequences", *(f"after {end:,} steps" for end in ends), "paper", "steps until half copy", "runs"),
                [
                    (
                        SEQUENCES[task],
                        *(_cell(rows.get((task, f"failed:{end}"))) for end in ends),
                        _paper(rows.get((task, f"failed:{ends[0]}"))),
                        _steps(rows.get((task, "half_by"))),
                        str(rows[task, f"failed:{ends[-1]}"].seeds),
                    )
                    for task in tasks
                ],
            ),
            Table(
                "Share of tokens right, mean over runs with its 95% t interval, and the share by elimination alone",
                ("sequences", "runs with", *(f"after {end:,} steps" for end in ends), "by elimination", "runs"),
                [
                    (
                        SEQUENCES[task],
                        words,
                        *(_cell(rows.get((task, f"copied:{kind}:{end}"))) for end in ends),
                        two_digits(rows[task, "elimination"].value),
                        str(rows[task, f"copied:{kind}:{ends[-1]}"].seeds),
                    )
                    for task in tasks
                    for kind, words in KINDS.items()
                    if (task, f"copied:{kind}:{ends[-1]}") in rows
                ],
            ),
            Table(
                "Share of positions whose largest weight is on the symbol to copy, or always just before or after it",
                ("sequences", *(f"after {end:,} steps" for end in ends), "runs"),
                [
                    (
                        SEQUENCES[task],
                        *(_cell(rows.get((task, f"aligned:{end}"))) for end in ends),
                        str(rows[task, f"aligned:{ends[-1]}"].seeds),
                    )
                    for task in tasks
                ],
            ),
        ]
    alone = [(words, rows["lottery", f"alone:{kind}"]) for kind, words in ALONE.items() if _has(rows, f"alone:{kind}")]
    eight = [(words, rows["lottery", f"eight:{kind}"]) for kind, words in EIGHT.items() if _has(rows, f"eight:{kind}")]
    tables = []
    if alone:
        shares = [(words, with_interval(row), str(row.seeds)) for words, row in alone]
        tables.append(Table("Heads tried alone on one body", ("alone, a head is", "share", "heads"), shares))
    if eight:
        shares = [(words, with_interval(row), str(row.seeds)) for words, row in eight]
        tables.append(Table("Eight heads on the same body: share that copies", ("heads", "share", "draws"), shares))
    return told | ({"lottery_of_heads": tables} if tables else {})


def copy_in_short(rows: Iterable[Row]) -> str:
    """The share of runs that fail, by step, as a sentence; nothing for other studies."""
    failed: dict[str, list[Row]] = {}
    for row in rows:
        if row.name == "failed" and row.task in SEQUENCES:
            failed.setdefault(row.task, []).append(row)
    parts = [
        f"{SEQUENCES[task]}: " + ", then ".join(f"{_cell(row)} after {row.by['steps']:,} steps" for row in of_task)
        for task, of_task in failed.items()
    ]
    return f"Share of runs that do not copy yet: {'; '.join(parts)}." if parts else ""


def _has(rows: dict[tuple[str, str], Row], quantity: str) -> bool:
    return ("lottery", quantity) in rows


def _cell(row: Row | None) -> str:
    return NOTHING if row is None else with_interval(row)


def _paper(row: Row | None) -> str:
    return NOTHING if row is None or row.paper is None else two_digits(row.paper)


def _steps(row: Row | None) -> str:
    """
    >>> _steps(None)
    'not reached'
    """
    if row is None:
        return "not reached"
    high = f"{row.high:,.0f}" if math.isfinite(row.high) else "∞"
    return f"{row.value:,.0f} [{row.low:,.0f}, {high}]"
