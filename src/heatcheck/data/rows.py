"""The records of a CSV, TSV, JSONL or Parquet file, each with its row or line number for error messages.

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
    """One row of a file and its place, such as `reviews.csv, row 17`."""

    where: str
    values: Mapping[str, Any]
    broken: str = ""  # why it has no values


class BadRow(BadInput):
    """A row that cannot be used; several are reported together."""

    def __init__(self, row: Row, what: str, kind: str | None = None) -> None:
        """
        Args:
            what: the problem, as part of a sentence.
            kind: the kind of problem, the same for all such rows; by default `what`.
        """
        super().__init__(f"{row.where}: {what}.")
        self.row, self.what, self.kind = row, what, kind or what


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, each with its place; the header of a CSV file is row 1, as in a spreadsheet."""
    for row in read_records(path, AS_IT_IS):
        if row.broken:
            raise BadRow(row, row.broken)
        yield row


def read_records(path: Path, reading: Reading) -> Iterator[Row]:
    """The rows of a file, broken ones included."""
    if not path.is_file():
        raise BadInput(
            f"{path} does not exist. Give a CSV, TSV, JSONL or Parquet file with the columns text and label."
        )
    suffix = (path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix).lower()
    if suffix in (".csv", ".tsv"):
        return _csv_rows(path, "\t" if suffix == ".tsv" else ",", reading)
    if suffix in (".jsonl", ".ndjson"):
        return _jsonl_rows(path)
    if suffix == ".parquet":
        return _parquet_rows(path)
    raise BadInput(
        f"{path} has {f'the unknown suffix {suffix}' if suffix else 'no suffix'}. Use .csv, .tsv, .jsonl or .parquet."
    )


def _decode(path: Path) -> str:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(
            f"{path}, line {line}: not UTF-8 (byte 0x{data[error.start]:02x}). Save the file as UTF-8."
        ) from None


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
                yield Row(where, {}, f"{len(fields)} fields, but the header has {len(header)} columns")
            else:
                yield Row(where, dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise BadInput(f"{path}, row {number + 1}: {error}.") from None
    finally:
        csv.field_size_limit(limit)


def _delimiter(text: str, usual: str) -> str:
    """The delimiter of a file: the one its suffix suggests, unless another gives the header more columns."""
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
            yield Row(where, {}, "not a JSON object with the keys text and label")


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
