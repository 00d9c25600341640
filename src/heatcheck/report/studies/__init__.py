"""One view per study, found by its name: what page, terminal and figures say about this study alone."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from heatcheck.errors import BadInput
from heatcheck.report.study_view import StudyView
from heatcheck.report.study_wording import MODEL_NAMES
from heatcheck.results import register

__all__ = ["STUDY_VIEWS", "StudyView", "add_study_views", "view_of_study"]

STUDY_VIEWS: dict[str, StudyView] = {}


def add_study_views(views: Mapping[str, StudyView]) -> None:
    """Add the views of these studies, what they measure and their names of models; refuse a second view of a study."""
    for study, view in views.items():
        if study in STUDY_VIEWS:
            raise BadInput(f"the study {study!r} has a view already: choose another name.")
        register(*view.quantities)
        MODEL_NAMES.update(view.models)
        STUDY_VIEWS[study] = view


def view_of_study(name: str) -> StudyView:
    """The view of a study; the default one for a study that has none."""
    return STUDY_VIEWS.get(name, StudyView())


add_study_views({found.name: import_module(f"{__name__}.{found.name}").VIEW for found in iter_modules(__path__)})
