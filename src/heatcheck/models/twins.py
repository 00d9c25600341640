"""Subjects whose other fits are closed forms: written down, so never trained."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from heatcheck.models.subject import Subject


@runtime_checkable
class KnowsItsTwins(Protocol):
    """A subject that can say what fitting its family again would give."""

    def attention_free(self) -> Subject:
        """The best its family does under uniform weights."""
        ...

    def again(self, seed: int) -> Subject:
        """The same kind of subject from another seed: what an honest second fit would be."""
        ...

    def other_heatmaps(self) -> Mapping[str, Subject]:
        """Subjects of its family with its decisions and another heatmap, by name; empty where none is known."""
        ...
