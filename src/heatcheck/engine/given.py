"""Type checks of arguments, with a clear error message."""

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
_CALLED = {"a text": "a string", "a mapping": "a dict"}


def expect(kind: str, **given: Any) -> None:
    """Raise BadInput if an argument is not of this kind.

    >>> expect("a whole number", seed="a")
    Traceback (most recent call last):
    heatcheck.errors.BadInput: seed must be a whole number, not 'a'.
    """
    for name, value in given.items():
        right = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
        if not right or (kind == "a path" and not _could_be_there(value)):
            raise BadInput(f"{name} must be {_CALLED.get(kind, kind)}, not {_short(value)}.")


def _could_be_there(path: str | Path) -> bool:
    """Whether a path could exist: no file name has a lone surrogate or a NUL."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def expect_if_given(kind: str, **given: Any) -> None:
    """Like `expect`, but None is allowed."""
    expect(kind, **{name: value for name, value in given.items() if value is not None})


def expect_names(**given: Any) -> None:
    """Raise BadInput if an argument is neither a name nor a list of names.

    >>> expect_names(by=["attention", 3])
    Traceback (most recent call last):
    heatcheck.errors.BadInput: by must be a list of names, such as ['a', 'b'], not ['attention', 3].
    """
    for name, value in given.items():
        listed = isinstance(value, Collection) and not isinstance(value, bytes | Mapping)
        if not listed or not all(isinstance(each, str) for each in value):
            raise BadInput(f"{name} must be a list of names, such as ['a', 'b'], not {_short(value)}.")


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 80 and "\n" not in said else f"a {type(value).__name__}"
