"""Tight loops over rows: compiled by numba where it is installed, plain Python (slow, and the same) elsewhere."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any


@lru_cache
def compiled(loop: Callable[..., None]) -> Callable[..., Any]:
    """The loop compiled when it is first needed, or as it is where numba is not installed."""
    return compile_loop(loop) or loop


def compile_loop(loop: Callable[..., None]) -> Callable[..., Any] | None:
    """The loop compiled, or None where numba is not installed.

    Such a loop is marked `@no_type_check`: numba cannot see through the wrappers of jaxtyping's import hook.
    """
    try:
        import numba
    except ImportError:
        return None
    kernel: Callable[..., Any]
    try:
        kernel = numba.njit(cache=True)(loop)
    except RuntimeError:  # numba finds no folder it may write its cache to
        kernel = numba.njit(cache=False)(loop)
    return kernel
