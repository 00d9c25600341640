"""A published data set as a folder, an archive or a file; archives are read without unpacking."""

import csv
import gzip
import os
import re
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

from heatcheck.errors import BadInput

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
_LOCKED = (RuntimeError, NotImplementedError)  # a zip with a password, or packed in a way we cannot undo
_Item = TypeVar("_Item")
_Entry = tuple[str, Callable[[], IO[bytes] | None]]  # a member's path, and how to open it


@dataclass(frozen=True)
class Member:
    """One file of a distribution, open for reading."""

    where: str  # as a complaint names it
    stream: Iterable[bytes]

    def text(self, encoding: str = "utf-8") -> str:
        """All of it; for files of one record."""
        return "".join(line for _, line in self.lines(encoding))

    def lines(self, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
        """Its lines with their numbers and ends, one in memory at a time."""
        for number, line in enumerate(_in_sentences(self.stream, self.where), start=1):
            try:
                text = line.decode(encoding)
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x}"
                raise BadInput(f"{self.where}, line {number}: not {encoding.upper()} ({byte}).") from None
            yield number, text.removeprefix("\ufeff") if number == 1 else text

    def records(self, delimiter: str = ",") -> Iterator[tuple[str, list[str]]]:
        """The records of a CSV file, each with its place, as a spreadsheet counts rows."""
        limit = csv.field_size_limit(sys.maxsize)  # a discharge summary may be longer than the module's limit
        number = 0
        try:
            reader = csv.reader((line for _, line in self.lines()), delimiter=delimiter, strict=True)
            for number, fields in enumerate(reader, start=1):
                if fields:
                    yield f"{self.where}, row {number}", fields
        except csv.Error as error:
            raise BadInput(f"{self.where}, row {number + 1}: {error}.") from None
        finally:
            csv.field_size_limit(limit)

    def table(self, *columns: str, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
        """The records of a CSV file with a header, by column in capitals; those named must be there."""
        records = self.records(delimiter)
        header = [name.strip().upper() for name in next(records, ("", []))[1]]
        for column in columns:
            if column not in header:
                raise BadInput(f"{self.where} has no column {column}. Its columns: {', '.join(header) or 'none'}.")
        for where, fields in records:
            if len(fields) != len(header):
                raise BadInput(f"{where}: {len(fields)} fields, but the header has {len(header)} columns.")
            yield where, dict(zip(header, fields, strict=True))


@dataclass(frozen=True)
class Distribution:
    """The user's copy of a published data set; `holds` says what it should contain, for the error message if not.

    Patterns are regular expressions for the end of a member's path, which begins with the folder's own name.
    """

    path: Path
    task: str
    holds: str

    def names(self, pattern: str) -> list[str]:
        """Paths of the members that fit."""
        return [name for name, _ in self._entries() if _fits(pattern, name)]

    def each(self, pattern: str) -> Iterator[tuple[re.Match[str], Member]]:
        """Every member that fits, by name in a folder, in its own order in an archive."""
        for name, opened in self._entries():
            if fits := _fits(pattern, name):
                with self._open(name, opened) as member:
                    yield fits, member

    @contextmanager
    def only(self, pattern: str, called: str) -> Iterator[Member]:
        """The only member that fits; raise BadInput if there are none or several."""
        found = self.names(pattern)
        if not found:
            raise self.lacks(called)
        if len(found) > 1:
            raise BadInput(f"{self.path} has both {found[0]} and {found[1]}. Give the folder of one of them.")
        for name, opened in self._entries():
            if name == found[0]:
                with self._open(name, opened) as member:
                    yield member
                return

    def lacks(self, called: str) -> BadInput:
        """The error that a part is missing."""
        return BadInput(f"{self.path} has no {called}. To import {self.task}, give {self.holds}.")

    def _entries(self) -> Iterator[_Entry]:
        path, name = self.path, self.path.name.lower()
        if path.is_dir():
            yield from _in_sentences(_in_folder(path), str(path))
        elif not path.is_file():
            raise BadInput(f"{path} does not exist. To import {self.task}, give {self.holds}.")
        elif name.endswith(".zip"):
            yield from _in_sentences(_in_zip(path), str(path))
        elif name.endswith(_TAR):
            yield from _in_sentences(_in_tar(path), str(path))
        else:
            yield path.name, partial(_open_file, path)

    @contextmanager
    def _open(self, name: str, opened: Callable[[], IO[bytes] | None]) -> Iterator[Member]:
        if self.path.is_dir():
            where = str(self.path / name.partition("/")[2])
        else:
            where = str(self.path) if self.path.name == name else f"{self.path}, {name}"
        try:
            stream = opened()
        except (*_BROKEN, *_LOCKED) as error:
            raise BadInput(f"{where} cannot be read: {_first_line(error)}") from None
        if stream is None:
            raise BadInput(f"{where} is not a regular file.")
        with stream, gzip.open(stream) if name.endswith(".gz") else stream as plain:
            yield Member(where, plain)


def _fits(pattern: str, name: str) -> re.Match[str] | None:
    # Archives made on a Mac hold a shadow of every file.
    if name.rpartition("/")[2].startswith("._"):
        return None
    return re.search(rf"(?:^|/){pattern}$", name)


def _in_folder(path: Path) -> Iterator[_Entry]:
    top = path.resolve()  # "." has no name
    for folder, below, files in os.walk(top, onerror=_refuse):
        below.sort()
        for file in sorted(files):
            inside = Path(folder, file)
            yield f"{top.name}/{inside.relative_to(top).as_posix()}", partial(_open_file, inside)


def _open_file(path: Path) -> IO[bytes]:
    return path.open("rb")


def _refuse(error: OSError) -> None:
    raise error  # os.walk would pass over a folder it may not read


def _in_zip(path: Path) -> Iterator[_Entry]:
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith("/"):
                yield name, partial(archive.open, name)


def _in_tar(path: Path) -> Iterator[_Entry]:
    with tarfile.open(path) as archive:
        for info in archive:
            if info.isfile():
                yield info.name, partial(archive.extractfile, info)


def _in_sentences(items: Iterable[_Item], where: str) -> Iterator[_Item]:
    """The items; a broken file or archive raises BadInput."""
    try:
        yield from items
    except _BROKEN as error:
        raise BadInput(f"{where} cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """The first line of an error message; tarfile lists everything it tried."""
    return str(error).partition(":\n")[0].partition("\n")[0] or type(error).__name__
