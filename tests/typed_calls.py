"""Types checked without waiting for it: what jaxtyping's import hook makes of heatcheck's functions in tests."""

import functools
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype

# Checking takes nearly half of the time of all tests, most of it in functions that are called thousands of times with
# the same kinds of arguments. So in each process a function's first calls are all checked, then some of them.
FIRST = 20
ONE_IN = 100
EVERY_CALL = [False]  # True while a test is about the checking itself

# A TypeError, as jaxtyping's own complaints are: code that answers bad input with a sentence catches those.
_typed = beartype(conf=BeartypeConf(violation_type=TypeError))
_jaxtyped = jaxtyping.jaxtyped


def checked(made: Any = None, *, typechecker: Callable[..., Any]) -> Any:
    """A function whose types are checked at its calls, or a dataclass whose fields are.

    jaxtyping compares the axes of all arguments and of what comes back, and looks at each argument twice for it; for a
    function without an array there is nothing to compare: the typechecker alone checks the same types.
    """
    if made is None:
        return functools.partial(checked, typechecker=typechecker)
    if isinstance(made, type):
        if is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = checked(made.__init__, typechecker=typechecker)
        return made
    if any(map(_names_axes, made.__annotations__.values())):
        return _sparing(made, _jaxtyped(made, typechecker=typechecker))
    return _sparing(made, _typed(made))


def _sparing(plain: Any, strict: Any) -> Any:
    if strict is plain or not callable(strict):
        return strict
    calls = 0

    @functools.wraps(plain)
    def call(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        looked_at = calls <= FIRST or calls % ONE_IN == 0 or EVERY_CALL[0]
        return (strict if looked_at else plain)(*given, **named)

    return call


def _names_axes(hint: object) -> bool:
    """Whether a type has anything to say about the axes of an array; one in quotes might."""
    if isinstance(hint, str) or (isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)):
        return True
    return any(map(_names_axes, hint if isinstance(hint, list) else get_args(hint)))
