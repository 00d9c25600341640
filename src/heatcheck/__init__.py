"""heatcheck: can a model's attention heatmap be read as an explanation?

Train or load a model, audit it, and write the report:

    audit = hc.audit("models/mine", "sst")
    hc.write_report(audit, "report.html")

Tasks and known-answer models need no download:

>>> import heatcheck as hc
>>> corpus = hc.load_task("planted_contrast")
>>> corpus.labels
('negative', 'positive')
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from heatcheck.version import __version__ as __version__

if TYPE_CHECKING:
    from heatcheck.auditing import audit, audit_heatmaps
    from heatcheck.data import Batch, Corpus, Example, load_task
    from heatcheck.errors import HeatcheckError
    from heatcheck.explainers import explain
    from heatcheck.models import Recipe, Run, Site, Subject, load, wrap
    from heatcheck.report import write_report
    from heatcheck.results import Audit
    from heatcheck.training import evaluate, train

# Lazy (PEP 562), because torch takes more than a second to import and `heatcheck --help` must not wait for it.
_ROOM_OF = {
    "Audit": "results",
    "Batch": "data",
    "Corpus": "data",
    "Example": "data",
    "HeatcheckError": "errors",
    "Recipe": "models",
    "Run": "models",
    "Site": "models",
    "Subject": "models",
    "audit": "auditing",
    "audit_heatmaps": "auditing",
    "evaluate": "training",
    "explain": "explainers",
    "load": "models",
    "load_task": "data",
    "train": "training",
    "wrap": "models",
    "write_report": "report",
}

__all__ = [
    "Audit",
    "Batch",
    "Corpus",
    "Example",
    "HeatcheckError",
    "Recipe",
    "Run",
    "Site",
    "Subject",
    "audit",
    "audit_heatmaps",
    "evaluate",
    "explain",
    "load",
    "load_task",
    "train",
    "wrap",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'heatcheck' has no attribute {name!r}")
    return getattr(import_module(f"heatcheck.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


# The types that a notebook shows as HTML, by name so that nothing is imported, and the function that makes the HTML.
_IN_A_NOTEBOOK = {
    ("heatcheck.results.audit", "Audit"): "audit_html",
    ("heatcheck.results.card", "Card"): "card_html",
    ("heatcheck.results.check_result", "CheckResult"): "check_html",
    ("heatcheck.results.heatmap_audits", "HeatmapAudits"): "heatmap_audits_html",
    ("heatcheck.explainers.explanation", "Explanation"): "heatmaps_html",
    ("heatcheck.results.study", "StudyResult"): "study_html",
}


def _show_in_notebooks() -> None:
    """Tell a running notebook, if there is one, how to show results; the results themselves may not import reports."""
    if "IPython" not in sys.modules or (shell := sys.modules["IPython"].get_ipython()) is None:
        return
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), function in _IN_A_NOTEBOOK.items():
        formatter.for_type_by_name(module, name, _html_by(function))


def _html_by(function: str) -> Callable[[Any], str]:
    def html(result: Any) -> str:
        return str(getattr(import_module("heatcheck.report.notebook"), function)(result))

    return html


_show_in_notebooks()
