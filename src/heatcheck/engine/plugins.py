"""Lookup tables that other installed packages can extend: they name their additions as entry points."""

import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from heatcheck.errors import BadInput, HeatcheckError, in_short

T = TypeVar("T")


class Plugged(dict[str, T]):
    """A dict by name: what heatcheck has, then what installed packages add, which is looked for at the first reading.

    Not earlier, because an addition imports heatcheck, perhaps the very module that is making this dict. heatcheck's
    own entries stay as they are: a second one of the same name is refused in a sentence on standard error, as is one
    that cannot be imported or used.

    Args:
        group: the group of entry points, such as `heatcheck.checks`.
        kind: what an addition must be an instance of. Several tables may share a group: each takes its own kind.
        built_in: what heatcheck has.
        classes: an addition is a subclass of `kind` instead.
        added: called with the name of each entry and the entry itself; what it refuses is not added.

    >>> Plugged("heatcheck.nothing", int, {"one": 1})
    {'one': 1}
    """

    def __init__(
        self,
        group: str,
        kind: type,
        built_in: Mapping[str, T],
        *,
        classes: bool = False,
        added: Callable[[str, T], None] = lambda *_: None,
    ) -> None:
        super().__init__(built_in)
        self._group, self._kind, self._classes, self._added = group, kind, classes, added
        self._packages: dict[str, str] = {}
        self._loading = threading.RLock()
        self._begun = self._done = False
        _TABLES.append(self)

    def add(self, name: str, own: T) -> None:
        """Add an entry of heatcheck's own, before anything is read."""
        if dict.__contains__(self, name):
            raise BadInput(f"{self._group} has the name {name!r} already: choose another one.")
        self._added(name, own)
        dict.__setitem__(self, name, own)

    def load(self) -> None:
        """Add what installed packages offer, once."""
        if self._done:
            return
        with self._loading:  # others wait; a plug-in that reads this table while it is imported sees heatcheck's own
            if self._begun:
                return
            self._begun = True
            try:
                for point in _of_group(self._group):
                    self._add(point)
            finally:
                self._done = True

    def package_of(self, name: str) -> str:
        """The package that added this name; empty for heatcheck's own."""
        self.load()
        return self._packages.get(name, "")

    def _add(self, point: EntryPoint) -> None:
        try:
            found = point.load()
        except (Exception, SystemExit) as error:
            _tell(self._group, point, f"it cannot be imported ({in_short(error)})")
            return
        if not self._fits(found):
            if not any(table._group == self._group and table._fits(found) for table in _TABLES):
                _tell(self._group, point, f"it is {_described(found)}, not {self._wanted()}")
        elif dict.__contains__(self, point.name):
            owner = self._packages.get(point.name)
            _tell(self._group, point, f"{f'the package {owner}' if owner else 'heatcheck'} has that name already")
        elif getattr(found, "name", point.name) != point.name:
            _tell(self._group, point, f"its own name is {found.name!r}, so the entry point must have that name")
        else:
            try:
                self._added(point.name, found)
            except HeatcheckError as error:
                _tell(self._group, point, str(error).rstrip("."))
                return
            dict.__setitem__(self, point.name, found)
            self._packages[point.name] = _package(point)

    def _fits(self, found: object) -> bool:
        if self._classes:
            return isinstance(found, type) and issubclass(found, self._kind)
        return isinstance(found, self._kind)

    def _wanted(self) -> str:
        kinds = [table._kind.__name__ for table in _TABLES if table._group == self._group]
        return f"{'a subclass of' if self._classes else 'of type'} {' or '.join(dict.fromkeys(kinds))}"


def package_of(known: Mapping[str, object], name: str) -> str:
    """The installed package that added this name to a table; empty for heatcheck's own.

    >>> package_of({"one": 1}, "one")
    ''
    """
    return known.package_of(name) if isinstance(known, Plugged) else ""


_TABLES: list[Plugged[Any]] = []
_told: set[str] = set()


def _after_loading(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    def read(self: Any, *given: Any) -> Any:  # not of its own type: whoever checks that reads it
        self.load()
        return plain(self, *given)

    read.__name__ = name
    return read


for _name in (
    "__contains__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__", "__or__", "__repr__", "__reversed__",
    "__ror__", "copy", "get", "items", "keys", "values",
):  # fmt: skip
    setattr(Plugged, _name, _after_loading(_name))


@cache
def _installed() -> Any:
    """Read once: it takes some hundredths of a second to look into every installed package."""
    return entry_points()  # of two types until Python 3.12, both of which can `select`


def _of_group(group: str) -> Iterator[EntryPoint]:
    """In an order that does not depend on where packages are installed."""
    yield from sorted(_installed().select(group=group), key=lambda point: (point.name, _package(point), point.value))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "unknown"


def _described(found: object) -> str:
    return f"the class {found.__name__}" if isinstance(found, type) else f"of type {type(found).__name__}"


def _tell(group: str, point: EntryPoint, why: str) -> None:
    """Once for each process that a user started: its workers find the same."""
    sentence = f"heatcheck skips {point.name!r} ({group}) from the package {_package(point)}: {why}.\n"
    if sentence not in _told and multiprocessing.parent_process() is None:
        _told.add(sentence)
        sys.stderr.write(sentence)
