"""What a reader sees of each check: one file per check, found by its name."""

from importlib import import_module
from pkgutil import iter_modules

from heatcheck.report.view import CHECK_VIEWS, CheckView, view_of

__all__ = ["CHECK_VIEWS", "CheckView", "view_of"]

for _found in iter_modules(__path__):
    CHECK_VIEWS.add(_found.name, import_module(f"{__name__}.{_found.name}").VIEW)
