"""A local page to play with: type a text, move its weights, and see what the model says.

`serve` starts it; `make_app` is the API behind it, for tests and for those who have a server of their own.
"""

from typing import TYPE_CHECKING, Any

from heatcheck.serve.running import PORT, serve

if TYPE_CHECKING:
    from heatcheck.serve.app import make_app

__all__ = ["PORT", "make_app", "serve"]


def __getattr__(name: str) -> Any:
    if name == "make_app":  # FastAPI is imported when it is needed
        from heatcheck.serve.app import make_app

        return make_app
    raise AttributeError(f"module 'heatcheck.serve' has no attribute {name!r}")
