"""A task by name: what it is, where it comes from, and how to read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from heatcheck.data.example import Corpus
from heatcheck.data.preparation import Preparation


@dataclass(frozen=True)
class Task:
    """A row of `heatcheck tasks`. `missing` says what to do if the data is not available.

    `read` gives the source's own splits; `preparation` is what is done to them when the task's name asks for none.
    """

    name: str
    about: str
    labels: tuple[str, ...]
    sizes: Mapping[str, int]  # empty where they depend on the user's own copy
    licence: str
    read: Callable[[Path], Corpus]
    missing: Callable[[Path], str | None] = lambda folder: None  # noqa: ARG005
    preparation: Preparation | None = None
