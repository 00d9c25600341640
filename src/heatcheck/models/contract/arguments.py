"""The first tensor among a module's arguments, positional or named: find it or replace it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from torch import Tensor

Call: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]  # arguments by place, and by name


def first_tensor(given: tuple[Any, ...], named: Mapping[str, Any]) -> Tensor | None:
    """In the order of the call; None where no argument is a tensor."""
    return next((value for value in (*given, *named.values()) if isinstance(value, Tensor)), None)


def with_first_tensor(given: tuple[Any, ...], named: Mapping[str, Any], new: Tensor) -> Call:
    """The same arguments with another tensor in the place of the first.

    >>> import torch
    >>> with_first_tensor((), {"mask": None, "states": torch.zeros(1)}, torch.ones(1))
    ((), {'mask': None, 'states': tensor([1.])})
    """
    old = first_tensor(given, named)
    place = next((number for number, value in enumerate(given) if value is old), None)
    if place is not None:
        return (*given[:place], new, *given[place + 1 :]), dict(named)
    name = next(name for name, value in named.items() if value is old)
    return given, {**named, name: new}
