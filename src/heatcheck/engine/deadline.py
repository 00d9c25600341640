"""A time by which work must be done. What takes long asks now and then; a thread cannot be stopped from outside."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heatcheck.errors import TookTooLong

_END: ContextVar[float | None] = ContextVar("end", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Work in here must be done in so many seconds.

    >>> with within(60.0):
    ...     check_time()  # which says nothing: there is time
    """
    before = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(before)


def check_time() -> None:
    """Raises TookTooLong past the end, where there is one."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TookTooLong("this took too long and was stopped: try a shorter text.")
