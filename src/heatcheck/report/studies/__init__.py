"""One view per study, found by its name: what page, terminal and figures say about this study alone."""

import pkgutil
from importlib import import_module

from heatcheck.report.study_view import StudyView
from heatcheck.report.study_wording import MODEL_NAMES
from heatcheck.results import register

__all__ = ["STUDY_VIEWS", "view_of_study"]

STUDY_VIEWS: dict[str, StudyView] = {}


def view_of_study(name: str) -> StudyView:
    """The view of a study; the default one for a study that has none."""
    return STUDY_VIEWS.get(name, StudyView())


def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]


STUDY_VIEWS |= {name: import_module(f"{__name__}.{name}").VIEW for name in _modules()}
for _view in STUDY_VIEWS.values():
    register(*_view.quantities)
    MODEL_NAMES.update(_view.models)
