"""The records of a CSV, TSV, JSONL or Parquet file, each with its place in it.

CSV, TSV and JSONL go through the standard library, so that a complaint names the exact row.
"""

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data.reading import AS_IT_IS, Reading, check_columns
from heatcheck.errors import BadInput

DELIMITERS = (",", ";", "\t")


class Row(NamedTuple):
    """One record and where it stands, in the words of its file: `reviews.csv, row 17`."""

    where: str
    values: Mapping[str, Any]
    broken: str = ""  # why it has no values


class BadRow(BadInput):
    """A row that cannot be used: one of many, perhaps, that are told together."""

    def __init__(self, row: Row, what: str, kind: str | None = None) -> None:
        """
        Args:
            what: what is wrong with it, as a part of a sentence.
            kind: the same for all rows that this is wrong with, where `what` says more.
        """
        super().__init__(f"{row.where}: {what}.")
        self.row, self.what, self.kind = row, what, kind or what


def read_rows(path: Path) -> Iterator[Row]:
    """The records of a file, each with its place; the header of a CSV is row 1, as a spreadsheet shows it."""
    for row in read_records(path, AS_IT_IS):
        if row.broken:
            raise BadRow(row, row.broken)
        yield row


def read_records(path: Path, reading: Reading) -> Iterator[Row]:
    """The same, with those that are broken."""
    if not path.is_file():
        raise BadInput(f"no file {path}: give a CSV, TSV, JSONL or Parquet file with the columns text and label.")
    suffix = (path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix).lower()
    if suffix in (".csv", ".tsv"):
        return _csv_rows(path, "\t" if suffix == ".tsv" else ",", reading)
    if suffix in (".jsonl", ".ndjson"):
        return _jsonl_rows(path)
    if suffix == ".parquet":
        return _parquet_rows(path)
    raise BadInput(f"{path}: cannot read {suffix or 'a file without a suffix'}; use .csv, .tsv, .jsonl or .parquet.")


def _decode(path: Path) -> str:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}, line {line}: not UTF-8 (byte 0x{data[error.start]:02x}); save it as UTF-8.") from None


def _csv_rows(path: Path, usual: str, reading: Reading) -> Iterator[Row]:
    limit = csv.field_size_limit(sys.maxsize)  # a long text gets our sentence, not the csv module's
    number = 1
    try:
        text = _decode(path)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, usual), strict=True)
        header = [column.strip() for column in next(reader, [])]
        check_columns(header, str(path), reading)
        for number, fields in enumerate(reader, start=2):
            if not fields:
                continue
            where = f"{path}, row {number}"
            if len(fields) != len(header):
                yield Row(where, {}, f"{len(fields)} fields under {len(header)} columns")
            else:
                yield Row(where, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise BadInput(f"{path}, row {number + 1}: {error}.") from None
    finally:
        csv.field_size_limit(limit)


def _delimiter(text: str, usual: str) -> str:
    """What parts the columns of the header: what the file's suffix says, unless another parts more of them."""
    header = text[: text.find("\n") + 1] or text
    columns = {one: len(next(csv.reader([header], delimiter=one), [])) for one in DELIMITERS}
    return max((usual, *DELIMITERS), key=lambda one: columns[one])


def _jsonl_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_decode(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Row(where, {}, f"not JSON ({getattr(error, 'msg', error)})")
            continue
        if isinstance(values, dict):
            yield Row(where, values)
        else:
            yield Row(where, {}, "not a JSON object with text and label")


def _parquet_rows(path: Path) -> Iterator[Row]:
    import duckdb

    try:
        literal = re.sub(r"([*?\[])", r"[\1]", str(path))  # duckdb would take a star in a name for a pattern
        table = duckdb.connect().execute("select * from read_parquet(?)", [literal])
        columns = [column[0] for column in table.description]
        records = table.fetchall()
    except duckdb.Error as error:
        raise BadInput(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    for number, record in enumerate(records, start=1):
        yield Row(f"{path}, row {number}", dict(zip(columns, record, strict=True)))
