"""The interface of places where jobs run (other processes, Ray), and the simplest place: this process."""

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from heatcheck.engine.identity import Facts
from heatcheck.engine.whole_files import FolderExists, whole_folder
from heatcheck.errors import HeatcheckError

JobFunction: TypeAlias = Callable[[Mapping[str, Any], Path, Path], None]
"""Writes what the argument asks for into a folder of a store: `function(argument, folder, store)`."""


class Report(NamedTuple):
    """How a job ended: one line for the reader, and the whole traceback for whoever mends it."""

    state: Literal["done", "reused", "failed"]
    reason: str = ""
    log: str = ""


@runtime_checkable
class Place(Protocol):
    """Makes folders, each named by its target, perhaps several at once."""

    def has_room(self) -> bool:
        """Whether one more job may start now."""

    def start(self, argument: Facts, target: Path) -> None:
        """Begin to make one folder."""

    def reports(self, patience: float = 1.0) -> list[tuple[Path, Report]]:
        """What ended since the last call; where nothing has, wait so many seconds for it."""

    def stop(self) -> None:
        """End whatever is at work and leave no process behind."""


class Here:
    """This process: a job has ended when `start` returns."""

    def __init__(self, function: JobFunction) -> None:
        self._function = function
        self._ended: list[tuple[Path, Report]] = []

    def has_room(self) -> bool:
        return not self._ended

    def start(self, argument: Facts, target: Path) -> None:
        self._ended.append((target, attempt(self._function, argument, target)))

    def reports(self, patience: float = 1.0) -> list[tuple[Path, Report]]:  # noqa: ARG002 - nothing to wait for
        ended, self._ended = self._ended, []
        return ended

    def stop(self) -> None:
        self._ended.clear()


def attempt(function: Callable[[Any, Path, Path], None], argument: Any, target: Path) -> Report:
    """Make one folder in this process."""
    try:
        with whole_folder(target) as folder:
            function(argument, folder, target.parent)
    except FolderExists as error:
        # Somebody else made it while we waited: just as good. Another folder is the function's own affair.
        return Report("reused") if error.folder == target else _failure(error)
    except Exception as error:
        return _failure(error)
    return Report("done")


def attempt_pickled(payload: bytes, target: Path) -> Report:
    """Make one folder in this process, with a function and an argument that another one has pickled."""
    return attempt(_call_pickled, payload, target)


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _call_pickled(payload: bytes, folder: Path, store: Path) -> None:
    # Unpickling imports the function's module: seconds, or an exception of its own.
    function, argument = pickle.loads(payload)
    function(argument, folder, store)


def _failure(error: Exception) -> Report:
    kind = "" if isinstance(error, HeatcheckError) else type(error).__name__
    reason = ": ".join(filter(None, [kind, " ".join(str(error).split())]))
    return Report("failed", reason, "".join(traceback.format_exception(error)))
