"""heatcheck: can this model's attention heatmap be read as an explanation?

>>> import heatcheck as hc
>>> corpus = hc.load_task("planted_contrast")
>>> corpus.labels
('negative', 'positive')
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatcheck.auditing import Audit, audit
    from heatcheck.data import Batch, Corpus, Example, load_task
    from heatcheck.errors import HeatcheckError
    from heatcheck.explainers import explain
    from heatcheck.models import Recipe, Run, Site, Subject, load, wrap
    from heatcheck.report import write_report
    from heatcheck.training import evaluate, train

# Lazy (PEP 562), because torch takes more than a second to import and `heatcheck --help` must not wait for it.
_ROOM_OF = {
    "Audit": "auditing",
    "Batch": "data",
    "Corpus": "data",
    "Example": "data",
    "HeatcheckError": "errors",
    "Recipe": "models",
    "Run": "models",
    "Site": "models",
    "Subject": "models",
    "audit": "auditing",
    "evaluate": "training",
    "explain": "explainers",
    "load": "models",
    "load_task": "data",
    "train": "training",
    "wrap": "models",
    "write_report": "report",
}

__version__ = "0.1.0"
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
