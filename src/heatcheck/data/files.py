"""A user's own file, frame or lists as a corpus: `text, label` and, if there, `text_pair, rationale, split, id`.

CSV, TSV and JSONL go through the standard library, so that a complaint names the exact row.
"""

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data.example import SPLITS, Corpus, Example, Split, check_corpus
from heatcheck.data.splitting import split_by_hash
from heatcheck.errors import BadInput

MAX_WORDS = 20_000  # attention over more is a different question, and one such row would fill the memory
_WHOLE = re.compile(r"-?\d{1,15}")
_SPLIT_ALIASES = {
    "validation": "dev",
    "valid": "dev",
    "val": "dev",
    "development": "dev",
    "training": "train",
}


class Row(NamedTuple):
    """One record and where it stands, in the words of its file: `reviews.csv, row 17`."""

    where: str
    values: Mapping[str, Any]


def read_file(path: Path | str, *, trainable: bool = True) -> Corpus:
    """A corpus from a CSV, TSV, JSONL (each also as .gz) or Parquet file.

    One to audit on need not be `trainable`: it may have one class only, or no train split.
    """
    path = Path(path)
    return corpus_of(path.name, list(read_rows(path)), str(path), trainable=trainable)


def read_frame(frame: Any, name: str = "frame", *, trainable: bool = True) -> Corpus:
    """A corpus from a pandas or polars frame."""
    _check_columns(list(getattr(frame, "columns", ())), name)
    records = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    rows = [Row(f"{name}, row {number}", record) for number, record in enumerate(records)]
    return corpus_of(name, rows, name, trainable=trainable)


def read_lists(texts: Sequence[str], labels: Sequence[Any], name: str = "lists", *, trainable: bool = True) -> Corpus:
    """A corpus from texts and labels of equal number."""
    if len(texts) != len(labels):
        raise BadInput(f"{len(texts)} texts but {len(labels)} labels.")
    pairs = enumerate(zip(texts, labels, strict=True))
    rows = [Row(f"{name}, item {n}", {"text": t, "label": y}) for n, (t, y) in pairs]
    return corpus_of(name, rows, name, trainable=trainable)


def read_rows(path: Path) -> Iterator[Row]:
    """The records of a file, each with its place; the header of a CSV is row 1, as a spreadsheet shows it."""
    if not path.is_file():
        raise BadInput(f"no file {path}: give a CSV, TSV, JSONL or Parquet file with the columns text and label.")
    suffix = (path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix).lower()
    if suffix in (".csv", ".tsv"):
        return _csv_rows(path, "\t" if suffix == ".tsv" else ",")
    if suffix in (".jsonl", ".ndjson"):
        return _jsonl_rows(path)
    if suffix == ".parquet":
        return _parquet_rows(path)
    raise BadInput(f"{path}: cannot read {suffix or 'a file without a suffix'}; use .csv, .tsv, .jsonl or .parquet.")


def corpus_of(
    name: str, rows: Sequence[Row], source: str, *, max_words: int = MAX_WORDS, trainable: bool = True
) -> Corpus:
    """Rows to a corpus; the first thing wrong with them is one sentence."""
    if not rows:
        raise BadInput(f"{source} is empty: it needs the columns text and label, and one row an example.")
    for column in ("text", "label"):
        if column not in rows[0].values:
            raise BadInput(f"{source} has no column {column!r}; it has {', '.join(map(str, rows[0].values))}.")
    names = [_label_name(row) for row in rows]
    sides = [_split_name(row) for row in rows]
    if len(set(sides) & {None}) and len(set(sides)) > 1:
        raise BadInput(f"{rows[sides.index(None)].where}: the split is empty, though other rows have one.")
    known = {n for n, side in zip(names, sides, strict=True) if side in (None, "train") or not trainable}
    labels = _sorted_labels(known)
    number = {label: place for place, label in enumerate(labels)}
    examples: list[Example] = []
    place_of: dict[str, str] = {}
    for row, label in zip(rows, names, strict=True):
        if label not in number:
            raise BadInput(
                f"{row.where}: label {label!r} does not occur in the train split, which has {', '.join(labels)}."
            )
        example = _example(row, number[label], max_words)
        if example.id in place_of:
            raise BadInput(f"{row.where}: id {example.id!r} was used before, at {place_of[example.id]}.")
        place_of[example.id] = row.where
        examples.append(example)
    if sides[0] is None:
        splits = split_by_hash(examples)
    else:
        splits = {s: Split(s, tuple(e for e, side in zip(examples, sides, strict=True) if side == s)) for s in SPLITS}
    corpus = Corpus(name, labels, splits, given_split=sides[0] is not None)
    return check_corpus(corpus) if trainable else corpus


def _example(row: Row, label: int, max_words: int) -> Example:
    text = _text(row, "text", max_words)
    pair = _text(row, "text_pair", max_words) if not _absent(row.values.get("text_pair")) else None
    identifier = row.values.get("id")
    place = row.where.rpartition(", ")[2]  # "row 17", as a spreadsheet counts
    example = Example(place if _absent(identifier) else str(identifier), text, pair, label)
    rationale = row.values.get("rationale")
    if _absent(rationale):
        return example
    marked = _flags(rationale, row)
    if len(marked) != len(example.words):
        raise BadInput(
            f"{row.where}: the rationale has {len(marked)} marks, the text {len(example.words)} words "
            "(cut at each space)."
        )
    return Example(example.id, text, pair, label, {"rationale": marked})


def _text(row: Row, column: str, max_words: int) -> str:
    value = row.values.get(column)
    if _absent(value) or not str(value).strip():
        raise BadInput(f"{row.where}: the {column} is empty.")
    if not isinstance(value, str):
        raise BadInput(f"{row.where}: the {column} is a {type(value).__name__}, not a text.")
    if (words := len(value.split())) > max_words:
        raise BadInput(
            f"{row.where}: the {column} has {words:,} words, more than {max_words:,}: cut it or leave it out."
        )
    return _unicode(value, row, column)


def _unicode(value: str, row: Row, column: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{row.where}: the {column} holds half a character (a lone surrogate).") from None
    return value


def _check_columns(columns: Sequence[Any], source: str) -> None:
    for column in ("text", "label", "text_pair", "rationale", "split", "id"):
        if list(columns).count(column) > 1:
            raise BadInput(f"{source} has the column {column!r} twice.")


def _label_name(row: Row) -> str:
    value = row.values.get("label")
    value = value.strip() if isinstance(value, str) else value
    if isinstance(value, list | tuple | dict):
        raise BadInput(f"{row.where}: the label is a {type(value).__name__}, not a name or a number.")
    if _absent(value):
        raise BadInput(f"{row.where}: the label is empty.")
    if isinstance(value, float) and value.is_integer():  # frames turn whole numbers into floats beside a hole
        value = int(value)
    return _unicode(str(value), row, "label")


def _split_name(row: Row) -> str | None:
    value = row.values.get("split")
    if _absent(value):
        return None
    name = _SPLIT_ALIASES.get(str(value).strip().lower(), str(value).strip().lower())
    if name not in SPLITS:
        raise BadInput(f"{row.where}: split {value!r} is none of {', '.join(SPLITS)}.")
    return name


def _sorted_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Whole numbers by size, anything else by name."""
    return tuple(sorted(names, key=lambda n: (0, int(n), n) if _WHOLE.fullmatch(n) else (1, 0, n)))


def _flags(value: Any, row: Row) -> tuple[bool, ...]:
    try:
        marks = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
        marks = marks.split() if isinstance(marks, str) else marks
        numbers = [float(mark) for mark in marks]
    except (TypeError, ValueError, OverflowError):
        numbers = [-1]
    if not set(numbers) <= {0, 1}:
        raise BadInput(f"{row.where}: the rationale must be a 0 or 1 for each word of the text, as in '0 1 1'.")
    return tuple(bool(number) for number in numbers)


def _absent(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return not value
    try:
        return bool(value != value)  # nan, and the frames' own marks of a hole
    except (TypeError, ValueError):  # pandas.NA says neither; an array says both
        return type(value).__name__ == "NAType"


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


def _csv_rows(path: Path, delimiter: str) -> Iterator[Row]:
    limit = csv.field_size_limit(sys.maxsize)  # a long text gets our sentence, not the csv module's
    number = 1
    try:
        reader = csv.reader(io.StringIO(_decode(path), newline=""), delimiter=delimiter, strict=True)
        header = [column.strip() for column in next(reader, [])]
        _check_columns(header, str(path))
        for number, fields in enumerate(reader, start=2):
            if not fields:
                continue
            if len(fields) != len(header):
                raise BadInput(f"{path}, row {number}: {len(fields)} fields under {len(header)} columns.")
            yield Row(f"{path}, row {number}", dict(zip(header, fields, strict=True)))
    except csv.Error as error:
        raise BadInput(f"{path}, row {number + 1}: {error}.") from None
    finally:
        csv.field_size_limit(limit)


def _jsonl_rows(path: Path) -> Iterator[Row]:
    for number, line in enumerate(_decode(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}, line {number}: not JSON ({getattr(error, 'msg', error)}).") from None
        if not isinstance(values, dict):
            raise BadInput(f"{path}, line {number}: not a JSON object with text and label.")
        yield Row(f"{path}, line {number}", values)


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
