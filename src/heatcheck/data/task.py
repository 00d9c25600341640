"""A task by name: what it is, where it comes from, and how to read it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from heatcheck.data.example import Corpus


@dataclass(frozen=True)
class Task:
    """A row of `heatcheck tasks`. `missing` says in one sentence what to do where the data is not here."""

    name: str
    about: str
    labels: tuple[str, ...]
    sizes: Mapping[str, int]
    licence: str
    read: Callable[[Path], Corpus]
    missing: Callable[[Path], str | None] = lambda folder: None  # noqa: ARG005
