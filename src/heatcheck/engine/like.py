"""Reads the value of a setting from text: `1,2` for a field that holds several numbers, `true` for one that is on."""

from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from heatcheck.errors import BadInput

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def value_like(settings: Any, field: str, key: str, value: Any) -> Any:
    """The value as the kind that a field of these settings has; `key` names it in an error.

    Several values are separated by commas. A field that may be None takes `none`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Settings:
    ...     sizes: tuple[int, ...] = (1,)
    ...     epochs: int | None = None
    >>> value_like(Settings(), "sizes", "sizes", "2, 3"), value_like(Settings(), "epochs", "epochs", "4")
    ((2, 3), 4)
    """
    kind = get_type_hints(type(settings))[field]
    optional = get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)
    if optional:
        if value is None or str(value).lower() == "none":
            return None
        (kind,) = (one for one in get_args(kind) if one is not type(None))
    several = get_origin(kind) is tuple
    try:
        if several:
            (of_each, *_) = get_args(kind)
            parts = value.split(",") if isinstance(value, str) else list(value)
            return tuple(of_each(part.strip() if isinstance(part, str) else part) for part in parts)
        if kind is bool:  # bool("false") is True
            return {"true": True, "false": False}[str(value).lower()]
        return kind(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        old = getattr(settings, field)
        example = "" if old is None else f", such as {old!r}"
        raise BadInput(f"{key} must be {_in_words(kind)}{example}, not {value!r}.") from None


def _in_words(kind: Any) -> str:
    if get_origin(kind) is not tuple:
        return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")
    (of_each, *_) = get_args(kind)
    return "a comma-separated list" + {int: " of whole numbers", float: " of numbers"}.get(of_each, "")
