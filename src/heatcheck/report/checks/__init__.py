"""What a reader sees of each check: one file per check, found by its name."""

from importlib import import_module
from pkgutil import iter_modules

from heatcheck.report.view import CHECK_VIEWS, CheckView, add_views, view_of

__all__ = ["CHECK_VIEWS", "CheckView", "add_views", "view_of"]

add_views({found.name: import_module(f"{__name__}.{found.name}").VIEW for found in iter_modules(__path__)})
