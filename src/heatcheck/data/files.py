"""Your own file, data frame or lists as a corpus: `text`, `label`, optionally `text_pair, rationale, split, id`."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.data.example import SPLITS, Corpus, Example, Split, check_corpus
from heatcheck.data.reading import (
    AS_IT_IS,
    NoColumn,
    Reading,
    Source,
    absent,
    check_columns,
    find_columns,
    look_alike,
    looks_missing,
    merged_names,
)
from heatcheck.data.rows import BadRow, Row, read_records
from heatcheck.data.splitting import split_by_hash
from heatcheck.errors import BadInput

SHOWN = 3  # bad rows in a complaint; all are counted
MAX_WORDS = 20_000  # attention over more is a different question, and one such row would fill the memory
UNEVEN = "too many or too few fields"
_WHOLE = re.compile(r"-?\d{1,15}")
_SPLIT_ALIASES = {
    "validation": "dev",
    "valid": "dev",
    "val": "dev",
    "development": "dev",
    "training": "train",
}


def read_file(path: Path | str, *, trainable: bool = True, reading: Reading = AS_IT_IS) -> Corpus:
    """Read a corpus from a CSV, TSV, JSONL (each also as .gz) or Parquet file.

    One to audit on need not be `trainable`: it may have one class only, or no train split.
    """
    path = Path(path)
    rows = list(read_records(path, reading))
    corpus = corpus_of(path.name, rows, str(path), trainable=trainable, reading=reading)
    return replace(corpus, source=Source(path.resolve(), reading))


def read_frame(frame: Any, name: str = "frame", *, trainable: bool = True, reading: Reading = AS_IT_IS) -> Corpus:
    """Read a corpus from a pandas or polars data frame."""
    check_columns(list(getattr(frame, "columns", ())), name, reading)
    records = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    rows = [Row(f"{name}, row {number}", record) for number, record in enumerate(records)]
    return corpus_of(name, rows, name, trainable=trainable, reading=reading)


def read_lists(
    texts: Sequence[str],
    labels: Sequence[Any],
    name: str = "lists",
    *,
    trainable: bool = True,
    reading: Reading = AS_IT_IS,
) -> Corpus:
    """Make a corpus from a list of texts and a list of labels of the same length."""
    if len(texts) != len(labels):
        raise BadInput(f"there are {len(texts)} texts but {len(labels)} labels. Give one label per text.")
    pairs = enumerate(zip(texts, labels, strict=True))
    rows = [Row(f"{name}, item {n}", {"text": t, "label": y}) for n, (t, y) in pairs]
    return corpus_of(name, rows, name, trainable=trainable, reading=reading)


def corpus_of(
    name: str,
    rows: Sequence[Row],
    source: str,
    *,
    max_words: int = MAX_WORDS,
    trainable: bool = True,
    reading: Reading = AS_IT_IS,
) -> Corpus:
    """Make a corpus from rows; bad rows raise one error or, if the reading says so, are left out and counted."""
    if not rows:
        raise BadInput(f"{source} is empty. It needs the columns text and label, and one row per example.")
    whole = [row for row in rows if not row.broken]
    try:
        columns = find_columns([row.values for row in whole], source, reading) if whole else {}
    except NoColumn as error:
        raise _with_all_options(error, name, rows, source, trainable=trainable) from None
    read = [_read_row(row, columns, max_words, reading) for row in rows]
    some_have_a_split = any(not isinstance(one, BadRow) and one.split is not None for one in read)
    read = [_with_split(one, needed=some_have_a_split) for one in read]
    read = _with_known_labels(_merged(read) if reading.merge_labels else read, trainable=trainable)
    read = _with_own_ids(read)
    bad = [one for one in read if isinstance(one, BadRow)]
    good = [one for one in read if not isinstance(one, BadRow)]
    if bad and not (reading.skip_bad_rows and good):
        labelled = [] if reading.skip_bad_rows else [one.label for one in good]
        options = _options_that_mend(labelled)
        raise BadInput(_complaint(bad, len(rows), can_be_left_out=bool(good), options=options))
    labels = _sorted_labels({one.label for one in good if _decides(one, trainable)})
    number = {label: place for place, label in enumerate(labels)}
    examples = [replace(one.example, label=number[one.label]) for one in good]
    given_split = good[0].split is not None
    splits: Mapping[str, Split]
    if given_split:
        splits = {
            s: Split(s, tuple(e for e, one in zip(examples, good, strict=True) if one.split == s)) for s in SPLITS
        }
    else:
        splits = split_by_hash(examples)
    dropped = dict(Counter(one.kind for one in bad))
    corpus = Corpus(name, labels, splits, given_split=given_split, dropped=dropped)
    return check_corpus(corpus) if trainable else corpus


def read_texts(path: Path | str, *, reading: Reading = AS_IT_IS) -> tuple[list[Example], dict[str, int]]:
    """Read the texts of a file, with or without labels, and count the rows left out by reason."""
    rows = list(read_records(Path(path), reading))
    if not rows:
        raise BadInput(f"{path} is empty. It needs the column text, and one row per example.")
    columns = find_columns([row.values for row in rows if not row.broken], str(path), reading, needed=("text",))
    read = [_read_text(row, columns) for row in rows]
    ids = Counter(one.id for one in read if not isinstance(one, BadRow))
    if repeated := [name for name, count in ids.items() if count > 1]:
        raise BadInput(f"{path} uses the id {repeated[0]!r} {ids[repeated[0]]} times. Give every row its own id.")
    bad = [one for one in read if isinstance(one, BadRow)]
    good = [one for one in read if not isinstance(one, BadRow)]
    if bad and not (reading.skip_bad_rows and good):
        raise BadInput(_complaint(bad, len(rows), can_be_left_out=bool(good)))
    return good, dict(Counter(one.kind for one in bad))


def _read_text(row: Row, columns: Mapping[str, str]) -> "Example | BadRow":
    if row.broken:
        return BadRow(row, row.broken, UNEVEN)
    given = {role: row.values[column] for role, column in columns.items() if column in row.values}
    try:
        return _example(Row(row.where, {**given, "rationale": None}), MAX_WORDS)
    except BadRow as bad:
        return bad


class _Read(NamedTuple):
    """A row that can be used, as far as is known yet; the example has no label yet."""

    row: Row
    label: str
    split: str | None
    example: Example


def _read_row(row: Row, columns: Mapping[str, str], max_words: int, reading: Reading) -> "_Read | BadRow":
    if row.broken:
        return BadRow(row, row.broken, "not JSON" if row.broken.startswith("not JSON (") else UNEVEN)
    given = {str(name): value for name, value in row.values.items()}
    row = Row(row.where, {role: given[column] for role, column in columns.items() if column in given})
    try:
        label, split = _label_name(row), _split_name(row)
        if reading.skip_bad_rows and looks_missing(label):
            raise BadRow(row, f"the label {label!r} is a missing value", "the label is a missing value")
        return _Read(row, label, split, _example(row, max_words))
    except BadRow as bad:
        return bad


def _with_split(one: "_Read | BadRow", *, needed: bool) -> "_Read | BadRow":
    if isinstance(one, BadRow) or one.split is not None or not needed:
        return one
    return BadRow(one.row, "the split is empty, but other rows have one")


def _merged(read: "Sequence[_Read | BadRow]") -> "list[_Read | BadRow]":
    names = iter(merged_names([one.label for one in read if not isinstance(one, BadRow)]))
    return [one if isinstance(one, BadRow) else one._replace(label=next(names)) for one in read]


def _decides(one: "_Read", trainable: bool) -> bool:
    """Whether its label is one of the task's, whatever other rows say."""
    return one.split in (None, "train") or not trainable


def _with_known_labels(read: "Sequence[_Read | BadRow]", *, trainable: bool) -> "list[_Read | BadRow]":
    known = _sorted_labels({one.label for one in read if not isinstance(one, BadRow) and _decides(one, trainable)})
    found: list[_Read | BadRow] = []
    for one in read:
        if isinstance(one, BadRow) or one.label in known:
            found.append(one)
            continue
        unknown = f"the label {one.label!r} is not in the train split, whose labels are {', '.join(known)}"
        found.append(BadRow(one.row, unknown, "a label that the train split does not have"))
    return found


def _with_own_ids(read: "Sequence[_Read | BadRow]") -> "list[_Read | BadRow]":
    place_of: dict[str, str] = {}
    found: list[_Read | BadRow] = []
    for one in read:
        if not isinstance(one, BadRow) and (name := one.example.id) in place_of:
            found.append(BadRow(one.row, f"the id {name!r} was already used in {place_of[name]}", "an id used before"))
            continue
        if not isinstance(one, BadRow):
            place_of[one.example.id] = one.row.where
        found.append(one)
    return found


def _complaint(bad: Sequence[BadRow], rows: int, *, can_be_left_out: bool, options: str = "--skip-bad-rows") -> str:
    """All that is wrong, in short: the first few rows, and how many there are."""
    first = str(bad[0]).rstrip(".")
    if len(bad) == 1 and rows > 1:
        return f"{first}. Fix the row, or skip it with {options}."
    others = [f"{one.row.where.rpartition(', ')[2]}: {one.what}" for one in bad[1:SHOWN]]
    more = [f"and {len(bad) - SHOWN} more"] if len(bad) > SHOWN else []
    listed = "; ".join([first, *others, *more])
    if not can_be_left_out:
        return f"none of the {rows} rows can be used. {listed}." if rows > 1 else f"{listed}."
    return f"{len(bad)} of {rows} rows cannot be used. {listed}. Fix them, or skip them with {options}."


def _options_that_mend(labels: Sequence[str]) -> str:
    """To be pasted where some rows are bad, given the labels of the others; and what else the options do."""
    missing, alike = [label for label in labels if looks_missing(label)], look_alike(sorted(labels))
    why = []
    if missing:
        rows = "1 more row" if len(missing) == 1 else f"{len(missing)} more rows"
        why.append(f"this also skips {rows} whose label is a missing value such as {missing[0]!r}")
    if alike:
        why.append(f"the labels {', '.join(alike[0])} look alike")
    options = Reading(skip_bad_rows=True, merge_labels=bool(alike)).options
    return f"{options} ({'; '.join(why)})" if why else options


def _with_all_options(error: NoColumn, name: str, rows: Sequence[Row], source: str, *, trainable: bool) -> BadInput:
    """The complaint with every option that the file needs, so that it is made once."""
    if error.guess is None:
        return error
    trial = error.guess._replace(skip_bad_rows=True)
    try:
        corpus = corpus_of(name, rows, source, trainable=trainable, reading=trial)
    except BadInput:
        return error
    dropped, alike = sum(corpus.dropped.values()), look_alike(corpus.labels)
    why = []
    if dropped:
        why.append(f"{dropped} of {len(rows)} rows cannot be used")
    if alike:
        why.append(f"the labels {', '.join(alike[0])} look alike")
    options = trial._replace(skip_bad_rows=bool(dropped), merge_labels=bool(alike)).options
    because = f" ({'; '.join(why)})" if why else ""
    return BadInput(f"{error.what} Try {options}{because}.")


def _example(row: Row, max_words: int) -> Example:
    text = _text(row, "text", max_words)
    pair = _text(row, "text_pair", max_words) if not absent(row.values.get("text_pair")) else None
    identifier = row.values.get("id")
    place = row.where.rpartition(", ")[2]  # "row 17", as a spreadsheet counts
    example = Example(place if absent(identifier) else str(identifier), text, pair)
    rationale = row.values.get("rationale")
    if absent(rationale):
        return example
    marked = _flags(rationale, row)
    if len(marked) != len(example.words):
        marks = f"the rationale has {len(marked)} marks, but the text has {len(example.words)} words (split at spaces)"
        raise BadRow(row, marks, "a rationale that does not fit its text")
    return replace(example, marks={"rationale": marked})


def _text(row: Row, column: str, max_words: int) -> str:
    value = row.values.get(column)
    if absent(value) or not str(value).strip():
        raise BadRow(row, f"the {column} is empty")
    if not isinstance(value, str):
        raise BadRow(row, f"the {column} is a {type(value).__name__}, not a string")
    if (words := len(value.split())) > max_words:
        long = f"the {column} has {words:,} words; the limit is {max_words:,}"
        raise BadRow(row, long, f"a {column} of more than {max_words:,} words")
    return _unicode(value, row, column)


def _unicode(value: str, row: Row, column: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRow(row, f"the {column} contains an invalid character (a lone surrogate)") from None
    return value


def _label_name(row: Row) -> str:
    value = row.values.get("label")
    value = value.strip() if isinstance(value, str) else value
    if isinstance(value, list | tuple | dict):
        raise BadRow(row, f"the label is a {type(value).__name__}, not a name or a number")
    if absent(value):
        raise BadRow(row, "the label is empty")
    if isinstance(value, float) and value.is_integer():  # frames turn whole numbers into floats beside a hole
        value = int(value)
    return _unicode(str(value), row, "label")


def _split_name(row: Row) -> str | None:
    value = row.values.get("split")
    if absent(value):
        return None
    name = _SPLIT_ALIASES.get(str(value).strip().lower(), str(value).strip().lower())
    if name not in SPLITS:
        raise BadRow(row, f"the split {value!r} is not one of {', '.join(SPLITS)}", "an unknown split")
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
        raise BadRow(row, "the rationale must have a 0 or 1 for every word of the text, as in '0 1 1'")
    return tuple(bool(number) for number in numbers)
