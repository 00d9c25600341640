"""How your own file is read: which columns, what to do with bad rows, which labels to merge."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.errors import BadInput

READ = ("text", "label", "text_pair", "rationale", "split", "id")
LISTED = 20  # columns in a complaint
# As spreadsheets and data frames write a hole. "None" is not among them: it is often a class.
MISSING = ("nan", "na", "n/a", "#n/a", "<na>", "null")


class Reading(NamedTuple):
    """Options for reading your own file."""

    text_column: str | None = None
    label_column: str | None = None
    skip_bad_rows: bool = False
    merge_labels: bool = False

    @property
    def options(self) -> str:
        """The same as command-line options, ready to paste.

        >>> Reading("Review text", skip_bad_rows=True).options
        "--text-column 'Review text' --skip-bad-rows"
        """
        named = {"--text-column": self.text_column, "--label-column": self.label_column}
        asked = {"--skip-bad-rows": self.skip_bad_rows, "--merge-labels": self.merge_labels}
        words = [word for option, name in named.items() if name is not None for word in (option, name)]
        return shlex.join([*words, *(option for option, wanted in asked.items() if wanted)])


AS_IT_IS = Reading()


class Source(NamedTuple):
    """A user's file, and how it was read."""

    file: Path  # absolute
    reading: Reading


class NoColumn(BadInput):
    """A required column is missing; `guess` names the columns that look like text and label."""

    def __init__(self, what: str, guess: Reading | None) -> None:
        super().__init__(f"{what}{'' if guess is None else f' Try {guess.options}.'}")
        self.what, self.guess = what, guess


def check_columns(columns: Sequence[str], source: str, reading: Reading) -> None:
    """Raise BadInput if a column that heatcheck reads occurs twice."""
    for column in (*READ, reading.text_column, reading.label_column):
        if column is not None and columns.count(column) > 1:
            raise BadInput(f"{source} has two columns named {column!r}. Rename one of them.")


def find_columns(
    records: Sequence[Mapping[str, Any]],
    source: str,
    reading: Reading,
    needed: Sequence[str] = ("text", "label"),
) -> dict[str, str]:
    """Find the columns to read: the name in the file for each role; those `needed` must exist.

    >>> find_columns([{"Review": "good", "LABEL": 1, "n": 3}], "mine.csv", Reading(text_column="review"))
    {'text': 'Review', 'label': 'LABEL'}
    """
    columns = list(dict.fromkeys(str(name) for record in records for name in record))
    named = {"text": reading.text_column, "label": reading.label_column}
    found = {}
    for role in READ:
        wanted = named.get(role) or role
        column = _in_any_case(wanted, columns, source)
        if column is not None:
            found[role] = column
        elif role in needed or named.get(role):
            shown = ", ".join(columns[:LISTED]) + (", …" if len(columns) > LISTED else "")
            lacks = f"{source} has no column {wanted!r}. Its columns: {shown}."
            if named != dict.fromkeys(named):
                raise BadInput(lacks)
            guess = _guess(records, columns)
            if guess is None:
                raise BadInput(f"{lacks} Name the right ones with --text-column and --label-column.")
            raise NoColumn(lacks, guess if "label" in needed else guess._replace(label_column=None))
    return found


def _in_any_case(wanted: str, columns: Sequence[str], source: str) -> str | None:
    if wanted in columns:
        return wanted
    alike = [column for column in columns if column.strip().casefold() == wanted.strip().casefold()]
    if len(alike) > 1:
        raise BadInput(f"{source} has several columns named {wanted!r}: {', '.join(alike)}. Rename all but one.")
    return alike[0] if alike else None


def _guess(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Reading | None:
    """Guess the text column (most words) and the label column (fewest distinct values)."""
    values = {name: [str(r[name]) for r in records if not absent(r.get(name))] for name in columns}
    words = {name: sum(len(value.split()) for value in of) / len(of) for name, of in values.items() if of}
    text = max(words, key=lambda name: words[name], default=None)
    kinds = {name: len(set(of)) for name, of in values.items() if of and name != text}
    label = min(kinds, key=lambda name: kinds[name], default=None)
    if text is None or label is None or words[text] < 2 or not 2 <= kinds[label] <= len(records) / 2:
        return None
    return Reading(text, label)


def absent(value: Any) -> bool:
    """Whether a cell is empty, in any kind of table."""
    if value is None or isinstance(value, str):
        return not value
    try:
        return bool(value != value)  # nan, and the frames' own marks of a hole
    except (TypeError, ValueError):  # pandas.NA says neither; an array says both
        return type(value).__name__ == "NAType"


def merged_names(names: Sequence[str]) -> list[str]:
    """Merge labels that differ only in case and spaces, under their most frequent spelling.

    >>> merged_names(["good", "Good", "bad", "good"])
    ['good', 'good', 'bad', 'good']
    """
    counts = Counter(names)
    spelling: dict[str, str] = {}
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        spelling.setdefault(folded(name), name)
    return [spelling[folded(name)] for name in names]


def folded(label: str) -> str:
    """A label in lower case and without extra spaces, to compare spellings.

    >>> folded(" Very  GOOD")
    'very good'
    """
    return " ".join(label.casefold().split())


def looks_missing(label: str) -> bool:
    """Whether a label looks like a missing value.

    >>> looks_missing("NaN"), looks_missing("none")
    (True, False)
    """
    return folded(label) in MISSING


def look_alike(labels: Iterable[str]) -> list[list[str]]:
    """Groups of labels that differ only in case and spaces.

    >>> look_alike(["bad", "good", "Good"])
    [['good', 'Good']]
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(labels):
        alike.setdefault(folded(name), []).append(name)
    return [names for names in alike.values() if len(names) > 1]
