"""Corpora: tasks by name, a user's own files, the words and vectors a model starts from."""

import os
from pathlib import Path
from typing import Any

from heatcheck.data.batch import Batch
from heatcheck.data.example import SPLITS, Corpus, Example, Split
from heatcheck.data.files import read_file, read_frame, read_lists
from heatcheck.data.movie_reviews import imdb, rotten_tomatoes
from heatcheck.data.planted import (
    planted_contrast,
    planted_keyword,
    planted_lookup,
    planted_majority,
    planted_twins,
)
from heatcheck.data.reviews import reviews
from heatcheck.data.sst import sst
from heatcheck.data.task import Task
from heatcheck.data.tokens import TOKENIZERS, tokenize
from heatcheck.data.vectors import Vectors, read_vectors
from heatcheck.data.vocabulary import Vocabulary, build_vocabulary, texts_of
from heatcheck.errors import BadInput, UnknownName

__all__ = [
    "SPLITS",
    "TASKS",
    "TOKENIZERS",
    "Batch",
    "Corpus",
    "Example",
    "Split",
    "Task",
    "Vectors",
    "Vocabulary",
    "build_vocabulary",
    "data_folder",
    "load_task",
    "read_file",
    "read_frame",
    "read_lists",
    "read_vectors",
    "texts_of",
    "tokenize",
]

TASKS: dict[str, Task] = {
    "imdb": imdb,
    "planted_contrast": planted_contrast,
    "planted_keyword": planted_keyword,
    "planted_lookup": planted_lookup,
    "planted_majority": planted_majority,
    "planted_twins": planted_twins,
    "reviews": reviews,
    "rotten_tomatoes": rotten_tomatoes,
    "sst": sst,
}


def data_folder(given: Path | str | None = None) -> Path:
    """Where real corpora are looked for: what was given, else HEATCHECK_DATA, else `data`."""
    return Path(given or os.environ.get("HEATCHECK_DATA") or "data")


def load_task(source: Any, *, data_dir: Path | str | None = None, trainable: bool = True) -> Corpus:
    """A corpus from a task's name, a file, a pandas or polars frame, or `(texts, labels)`.

    With `trainable=False` a user's data may have one class only or no train split: enough to audit on.

    >>> len(load_task("planted_keyword")["test"])
    1000
    """
    if isinstance(source, Corpus):
        return source
    if isinstance(source, tuple) and len(source) == 2:
        texts, labels = source
        return read_lists(list(texts), list(labels), trainable=trainable)
    if hasattr(source, "to_dicts") or (hasattr(source, "to_dict") and hasattr(source, "columns")):
        return read_frame(source, trainable=trainable)
    if not isinstance(source, str | Path):
        kind = type(source).__name__
        raise BadInput(f"data is a task's name, a file, a data frame or (texts, labels), not a {kind}.")
    if str(source) in TASKS:
        return TASKS[str(source)].read(data_folder(data_dir))
    # A name with a suffix or a folder in it is meant as a file, even if it is not there.
    if Path(source).suffix or Path(source).parent != Path():
        return read_file(source, trainable=trainable)
    raise UnknownName("task", str(source), TASKS)
