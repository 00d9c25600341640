"""The numbers of an audit as data files: measurements, values per example, and the answer to each question."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from heatcheck.engine import nulled, write_whole
from heatcheck.errors import MissingPackage, UnknownName
from heatcheck.report.advice import advised
from heatcheck.report.sections import sections
from heatcheck.results import Audit, audit_facts

Columns: TypeAlias = dict[str, list[Any]]


def write_tables(audit: Audit, folder: Path | str, *, suffix: str) -> list[Path]:
    """Write measurements, per_example and card as csv, json or parquet; NaN becomes an empty cell or null."""
    encoders = {"csv": as_csv, "parquet": _as_parquet, "json": _as_json}
    if suffix not in encoders:
        raise UnknownName("table format", suffix, encoders)
    tables = {"measurements": _measurements(audit), "per_example": _per_example(audit), "card": _card(audit)}
    written = []
    for name, columns in tables.items():
        path = Path(folder) / f"{name}.{suffix}"
        write_whole(path, encoders[suffix](columns))
        written.append(path)
    return written


def write_numbers(audit: Audit, path: Path | str) -> Path:
    """Write an audit as one JSON file: all its results, the values of each text, and the report's words."""
    path = Path(path)
    said = {one.check: {"title": one.title, "held_fixed": one.held} for one in sections(audit, [])}
    facts = {**audit_facts(audit, arrays=True), "advice": advised(audit.card), "said": said}
    write_whole(path, plain_json(facts))
    return path


def plain_json(facts: Any) -> bytes:
    """Compact JSON with null for NaN and infinity."""
    return _utf8(json.dumps(nulled(facts), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def as_csv(columns: Columns) -> bytes:
    """CSV with a header; None becomes an empty cell."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    return _utf8(text.getvalue())


def _measurements(audit: Audit) -> Columns:
    columns: Columns = {key: [] for key in ("check", "name", "by", "value", "low", "high", "n", "baseline")}
    for check, result in audit.results.items():
        for found in result.measurements:
            row = found._asdict() | {"check": check, "by": json.dumps(found.by, ensure_ascii=False)}
            for key, cells in columns.items():
                cells.append(nulled(row[key]))
    return columns


def _per_example(audit: Audit) -> Columns:
    columns: Columns = {"check": [], "id": [], "quantity": [], "value": []}
    for check, result in audit.results.items():
        for name, values in result.per_example.items():
            columns["check"] += [check] * len(result.examples)
            columns["id"] += result.examples
            columns["quantity"] += [name] * len(result.examples)
            columns["value"] += [nulled(value) for value in values.tolist()]
    return columns


def _card(audit: Audit) -> Columns:
    words = ("name", "state", "question", "sentence", "reason", "holds", "cannot_see")
    numbers = ("value", "low", "high", "n")
    columns: Columns = {key: [] for key in (*words, "statistic", *numbers)}
    for line in audit.card.every_line:
        for key in words:
            columns[key].append(getattr(line, key))
        statistic = line.evidence[0] if line.evidence else None
        columns["statistic"].append(statistic.name if statistic else None)
        for key in numbers:
            columns[key].append(nulled(getattr(statistic, key)) if statistic else None)
    return columns


def _as_json(columns: Columns) -> bytes:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return _utf8(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _as_parquet(columns: Columns) -> bytes:
    try:
        import duckdb
    except ImportError as error:
        raise MissingPackage("duckdb") from error

    # Whole columns as arrays, which duckdb reads in place; inserting row by row would take minutes.
    arrays = {key: _array(key, cells) for key, cells in columns.items()}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        database.register("cells", arrays)
        path = Path(folder) / "table.parquet"
        kinds = ", ".join(f'"{key}"::{_KINDS.get(key, "VARCHAR")} AS "{key}"' for key in columns)
        database.sql(f"SELECT {kinds} FROM cells").write_parquet(str(path))
        return path.read_bytes()


# Given explicitly, because a column of empty cells has no type.
_KINDS = {"value": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "n": "BIGINT"}


def _array(key: str, cells: list[Any]) -> np.ndarray:
    if key in _KINDS:
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return np.array([cell if cell is None else _utf8(cell).decode() for cell in cells], dtype=object)


def _utf8(text: str) -> bytes:
    """UTF-8, with a question mark for half an emoji (a lone surrogate)."""
    return text.encode("utf-8", "replace")
