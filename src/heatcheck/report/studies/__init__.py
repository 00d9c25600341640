"""How each study is shown on its page, in the terminal and in figures: one file per study, found by its name."""

from importlib import import_module
from pkgutil import iter_modules

from heatcheck.engine import Plugged
from heatcheck.report.study_view import StudyView
from heatcheck.report.study_wording import MODEL_NAMES
from heatcheck.results import register

__all__ = ["STUDY_VIEWS", "StudyView", "view_of_study"]


def _added(_: str, view: StudyView) -> None:
    """What it measures, and its names of models, are known wherever a study is shown."""
    register(*view.quantities)
    MODEL_NAMES.update(view.models)


# Installed packages add to it.
STUDY_VIEWS: Plugged[StudyView] = Plugged("heatcheck.views", StudyView, {}, added=_added)
for _found in iter_modules(__path__):
    STUDY_VIEWS.add(_found.name, import_module(f"{__name__}.{_found.name}").VIEW)


def view_of_study(name: str) -> StudyView:
    """The view of a study; the default one for a study that has none."""
    return STUDY_VIEWS.get(name, StudyView())
