"""Types checked without waiting for it: what jaxtyping's import hook makes of heatcheck's functions in tests."""

import functools
import inspect
import os
import threading
from collections.abc import Callable
from dataclasses import is_dataclass
from types import CodeType
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype

# Checking takes nearly half of the time of all tests, most of it in functions that are called thousands of times with
# the same kinds of arguments. So in each process a function's first calls are all checked, then some of them.
FIRST = 20
ONE_IN = 100
# True while a test is about the checking itself, and throughout `make test-types`.
EVERY_CALL = [os.environ.get("HEATCHECK_TYPES") == "every"]

# heatcheck's functions by where they are, and those among them that were called in this process.
DEFINED: set[str] = set()
CALLED: set[str] = set()

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
    if not made.__annotations__:
        return made
    if any(map(_names_axes, made.__annotations__.values())):
        return _sparing(made, functools.partial(_jaxtyped, typechecker=typechecker))
    return _sparing(made, _typed)


def _sparing(plain: Any, checking: Callable[[Any], Any]) -> Any:
    unchecked, checks, strict = 0, 0, None
    where = f"{plain.__code__.co_filename}:{plain.__code__.co_firstlineno}"
    DEFINED.add(where)

    @functools.wraps(plain)
    def call(*given: Any, **named: Any) -> Any:
        nonlocal unchecked, checks, strict
        if unchecked and not EVERY_CALL[0]:
            unchecked -= 1
            return plain(*given, **named)
        checks += 1
        if checks >= FIRST:  # the next one is the hundredth call, and then every hundredth
            unchecked = ONE_IN - 1 if checks > FIRST else ONE_IN - 1 - FIRST
        if strict is None:  # made at the first call: a process calls half of all functions
            CALLED.add(where)
            strict = _strict(plain, checking)
        return strict(*given, **named)

    return call


def _strict(plain: Any, checking: Callable[[Any], Any]) -> Any:
    """The function with checks: made once for all that are the same lines of code inside of another function.

    Such a function is a new one at each call of the other, and to make its checks takes far longer than they do.
    """
    inner = "<locals>" in plain.__qualname__ and not plain.__defaults__ and not plain.__kwdefaults__
    if not inner or plain.__code__.co_flags & _PAUSES:
        return checking(plain)
    known = _inner.get(plain.__code__)
    if known is None:
        known = _inner[plain.__code__] = _Inner(plain, checking)
    return known.of(plain) if repr(plain.__annotations__) == known.hints else checking(plain)


class _Inner:
    """Checks of lines of code, for each function that is made of them."""

    def __init__(self, first: Any, checking: Callable[[Any], Any]) -> None:
        self.hints = repr(first.__annotations__)  # types of arrays are new ones each time, and unequal
        self._asked = threading.local()

        @functools.wraps(first)
        def run(*given: Any, **named: Any) -> Any:
            function, self._asked.function = self._asked.function, None
            return function(*given, **named)

        self._strict = checking(run)
        del run.__wrapped__  # nothing that a function has hold of is kept alive here

    def of(self, plain: Any) -> Any:
        def strict(*given: Any, **named: Any) -> Any:
            self._asked.function = plain  # read again as soon as what is given was checked, before anything else runs
            return self._strict(*given, **named)

        return strict


_inner: dict[CodeType, _Inner] = {}
_PAUSES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _names_axes(hint: object) -> bool:
    """Whether a type has anything to say about the axes of an array; one in quotes might."""
    if isinstance(hint, str) or (isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)):
        return True
    return any(map(_names_axes, hint if isinstance(hint, list) else get_args(hint)))
