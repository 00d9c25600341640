"""Compiles tight loops over rows with numba if it is installed; else plain Python, slower with the same results."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any


@lru_cache
def compiled(loop: Callable[..., Any], *, reassociate: bool = False) -> Callable[..., Any]:
    """The loop compiled when it is first needed, or as it is where numba is not installed."""
    return compile_loop(loop, reassociate=reassociate) or loop


def compile_loop(loop: Callable[..., Any], *, reassociate: bool = False) -> Callable[..., Any] | None:
    """The loop compiled, or None where numba is not installed.

    Such a loop is marked `@no_type_check`: numba cannot see through the wrappers of jaxtyping's import hook.

    Args:
        reassociate: sums may be taken in another order, several terms at once; the last digits then depend on the
            processor.
    """
    flags = {"reassoc", "contract", "nsz"} if reassociate else False
    try:
        import numba
    except ImportError:
        return None
    kernel: Callable[..., Any]
    try:
        kernel = numba.njit(cache=True, fastmath=flags)(loop)
    except RuntimeError:  # numba finds no folder it may write its cache to
        kernel = numba.njit(cache=False, fastmath=flags)(loop)
    return kernel
