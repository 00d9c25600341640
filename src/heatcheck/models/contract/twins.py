"""Models whose retrained versions are known in closed form, so they are never trained."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from heatcheck.models.contract.subject import Subject


@runtime_checkable
class KnowsItsTwins(Protocol):
    """A model that can say what retraining would give."""

    def attention_free(self) -> Subject:
        """The best model of its family under uniform weights."""
        ...

    def again(self, seed: int) -> Subject:
        """The same kind of model from another seed, as honest retraining would give it."""
        ...

    def other_heatmaps(self) -> Mapping[str, Subject]:
        """Models of its family with its decisions and another heatmap, by name; empty if none is known."""
        ...
