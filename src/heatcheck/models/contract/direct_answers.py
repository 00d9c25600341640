"""A model with a short cut to its answers, where nothing else of a forward pass is wanted."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.models.contract.subject import Edits, Subject


@runtime_checkable
class AnswersDirectly(Subject, Protocol):
    """A model that need not compute all of a pass for its logits."""

    def together(self, examples: Sequence[Example]) -> Iterator[list[int]]:
        """Places of examples in batches that `answer` reads best."""
        ...

    def answer(self, batch: Batch) -> Float[Tensor, "example decision label"]: ...


@runtime_checkable
class AnswersEdited(Subject, Protocol):
    """A model that need not compute all of a pass with edits either."""

    def answer_edited(self, batch: Batch, edits: Edits) -> Float[Tensor, "example decision label"]: ...


def answer_edited(subject: Subject, batch: Batch, edits: Edits) -> Float[Tensor, "example decision label"]:
    """Logits alone, of a pass with edits at attentions and blocks, by the shortest way."""
    if isinstance(subject, AnswersEdited):
        return subject.answer_edited(batch, edits)
    return subject.run(batch, edits=edits).logits
