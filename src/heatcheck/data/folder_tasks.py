"""Tasks whose examples are the rows of one `.jsonl.gz` in the data folder."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from heatcheck.data.example import SPLITS, Corpus, Example, Split
from heatcheck.data.preparation import Preparation
from heatcheck.data.rows import Row, read_rows
from heatcheck.data.splitting import set_aside, split_by_hash
from heatcheck.data.task import Task
from heatcheck.errors import BadInput

# The fields of a row, and what a task makes of them: an example, or the reason why it leaves the row out.
Fields = Mapping[str, Any]
Made = Example | str


def labelled(fields: Fields) -> Made:
    """What most tasks make of a row."""
    return Example(fields["id"], fields["text"], label=fields["label"])


def folder_task(
    name: str,
    about: str,
    labels: tuple[str, ...],
    sizes: Mapping[str, int],
    licence: str,
    make: Callable[[Fields], Made] = labelled,
    *,
    file: str | None = None,
    codes: Container[Any] | None = None,
    tokens: str = "words",
    group: str | None = None,
    importable: bool = True,
    preparation: Preparation | None = None,
) -> Task:
    """A task whose examples are in `file` (by default named like the task).

    Args:
        make: turns a row into an example, or returns the reason why it is left out.
        codes: the values allowed in the field `label`; by default the positions in `labels`.
        group: for a file whose split is `all`: rows with the same value of this field go to the same split.
        importable: whether `heatcheck data import` can create the file.
        preparation: the default preparation of the task.
    """
    stem = file or name
    allowed = range(len(labels)) if codes is None else codes

    def read(folder: Path) -> Corpus:
        rows = rows_of(task, stem, folder)
        for row in rows:
            if row.values.get("label") not in allowed:
                label = row.values.get("label")
                raise BadInput(f"{row.where}: {label!r} is not a label of {name}. Its labels: {', '.join(labels)}.")
        return gather(name, labels, rows, make, tokens=tokens, group=group)

    task = Task(name, about, labels, sizes, licence, read, missing(stem, name if importable else None), preparation)
    return task


def missing(stem: str, imported: str | None) -> Callable[[Path], str | None]:
    """A function that says what to do if the file is missing; `imported` is its name for the importer."""

    def said(folder: Path) -> str | None:
        if (folder / f"{stem}.jsonl.gz").is_file():
            return None
        to_do = f"copy {stem}.jsonl.gz to {folder}, or name its folder with --data-dir or HEATCHECK_DATA"
        return f"{to_do}, or create it with `heatcheck data import {imported} PATH`" if imported else to_do

    return said


def rows_of(task: Task, stem: str, folder: Path) -> list[Row]:
    """The rows of a task's file."""
    if to_do := task.missing(folder):
        raise BadInput(f"the file of the task {task.name} is missing: {to_do}.")
    return list(read_rows(folder / f"{stem}.jsonl.gz"))


def gather(
    name: str,
    labels: tuple[str, ...],
    rows: Iterable[Row],
    make: Callable[[Fields], Made],
    *,
    tokens: str = "words",
    group: str | None = None,
) -> Corpus:
    """Make a corpus from rows, with the splits of the source.

    Rows whose split is `all` are split 80/10/10 by a hash of their text, or of the field `group`.
    """
    splits: dict[str, list[Example]] = {}
    dropped: Counter[str] = Counter()
    place_of: dict[str, str] = {}
    groups: dict[str, str] = {}  # by id
    for row in rows:
        try:
            split, made = row.values["split"], make(row.values)
            if isinstance(made, str):
                dropped[made] += 1
                continue
            if not (isinstance(made.id, str) and isinstance(made.text, str)):
                raise TypeError("its id and its text must be strings")
            if group is not None:
                groups[made.id] = str(row.values[group])
        except KeyError as error:
            raise BadInput(f"{row.where}: the field {error} is missing. Import or download the file again.") from None
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise BadInput(f"{row.where} cannot be read as a row of {name}: {str(error).splitlines()[0]}") from None
        if split not in (*SPLITS, "all"):
            raise BadInput(f"{row.where}: the split {split!r} is not one of {', '.join(SPLITS)}.")
        if made.id in place_of:
            raise BadInput(f"{row.where}: the id {made.id!r} was already used in {place_of[made.id]}.")
        place_of[made.id] = row.where
        splits.setdefault(split, []).append(made)
    whole = splits.pop("all", [])
    if whole and splits:
        raise BadInput(
            f"the file of the task {name} has the split `all` in some rows only. Import or download it again."
        )
    if whole and group is None:
        splits = {n: list(split) for n, split in split_by_hash(whole).items()}
    elif whole:
        rest, test = set_aside(whole, 0.1, group=lambda example: groups[example.id])
        train, dev = set_aside(rest, 1 / 9, group=lambda example: groups[example.id])
        splits = {"train": train, "dev": dev, "test": test}
    found: dict[str, Split] = {n: Split(n, tuple(splits[n])) for n in SPLITS if n in splits}
    return Corpus(name, labels, found, tokens=tokens, dropped=dict(dropped))
