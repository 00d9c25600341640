"""What a caller gives: one sentence where it is of another kind than it must be."""

import os
from collections.abc import Collection, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from heatcheck.errors import BadInput

_KINDS: dict[str, Any] = {
    "a mapping": Mapping,
    "a path": str | Path,
    "a text": str,
    "a whole number": Integral,
}


def expect(kind: str, **given: Any) -> None:
    """Refuses arguments that are not of this kind, by name.

    >>> expect("a whole number", seed="a")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: seed must be a whole number, not 'a'.
    """
    for name, value in given.items():
        right = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
        if not right or (kind == "a path" and not _could_be_there(value)):
            raise BadInput(f"{name} must be {kind}, not {_short(value)}.")


def _could_be_there(path: str | Path) -> bool:
    """Half a character (a lone surrogate) and a NUL stand in the name of no file."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def expect_if_given(kind: str, **given: Any) -> None:
    """The same of arguments that may be None."""
    expect(kind, **{name: value for name, value in given.items() if value is not None})


def expect_names(**given: Any) -> None:
    """Refuses arguments that are neither a name nor a list of names.

    >>> expect_names(by=["attention", 3])
    Traceback (most recent call last):
    heatcheck.errors.BadInput: by must be names, such as ['a', 'b'], not ['attention', 3].
    """
    for name, value in given.items():
        listed = isinstance(value, Collection) and not isinstance(value, bytes | Mapping)
        if not listed or not all(isinstance(each, str) for each in value):
            raise BadInput(f"{name} must be names, such as ['a', 'b'], not {_short(value)}.")


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 80 and "\n" not in said else f"a {type(value).__name__}"
