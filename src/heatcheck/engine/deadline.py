"""Time limits for long work, which checks the clock now and then: a thread cannot be stopped from outside."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heatcheck.errors import TookTooLong

_END: ContextVar[float | None] = ContextVar("end", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the block to this many seconds.

    >>> with within(60.0):
    ...     check_time()  # there is time, so nothing happens
    """
    before = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(before)


def check_time() -> None:
    """Raise TookTooLong if the time limit, if any, has passed."""
    end = _END.get()
    if end is not None and time.monotonic() > end:
        raise TookTooLong("heatcheck stopped this because it took too long. Try a shorter text.")
