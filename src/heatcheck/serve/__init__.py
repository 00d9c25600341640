"""A local page to try a model's heatmaps by hand: type a text, move its weights, see the prediction change.

`serve` starts it; `make_app` returns the FastAPI app, for tests and for use in another server.
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
