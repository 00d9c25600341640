"""The same network asked in another way: one question instead of all labels, or all texts by rows."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.data import Example
from heatcheck.models.hf.kernel import LONG

if TYPE_CHECKING:
    from heatcheck.models.hf.transformer import Transformer


def contrast(subject: "Transformer", label: int, against: int) -> "Transformer":
    """See Transformer.contrast."""
    return _deciding(subject, (subject.labels[against], subject.labels[label]), partial(_less, label, against))


def only(subject: "Transformer", label: int) -> "Transformer":
    """See Transformer.only."""
    return _deciding(subject, (f"not {subject.labels[label]}", subject.labels[label]), partial(_one, label))


def in_one_way(subject: "Transformer", examples: Sequence[Example]) -> "Transformer":
    """See Transformer.in_one_way."""
    if subject._by_rows or max(subject.lengths(examples), default=0) <= LONG:
        return subject
    found = copy(subject)
    found._by_rows = True
    return found


def _deciding(subject: "Transformer", labels: tuple[str, str], decide: Callable[[Tensor], Tensor]) -> "Transformer":
    found = copy(subject)
    found.labels, found.several, found._decide = labels, False, decide
    return found


def _less(label: int, against: int, outputs: Float[Tensor, "example output"]) -> Float[Tensor, " example"]:
    """A label's logit less another's; a lone output z is the logits (0, z)."""
    logits = nn.functional.pad(outputs, (1, 0)) if outputs.shape[-1] == 1 else outputs
    return logits[:, label] - logits[:, against]


def _one(label: int, outputs: Float[Tensor, "example output"]) -> Float[Tensor, " example"]:
    return outputs[:, label]
