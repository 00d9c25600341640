"""What checks on weights work with: the weights, and what each token says, as plain arrays over all examples."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.models import Responds, Response, Subject, response
from heatcheck.training import batches_by_length


@dataclass(frozen=True)
class Readout:
    """Weights and relevances of a subject whose logits are Σ_t α_t r_tk + b_k, in float64.

    With this the encoder is never run again: every other set of weights costs one weighted sum.
    """

    attention: Float[np.ndarray, "example decision token"]
    allowed: Bool[np.ndarray, "example token"]  # tokens that may carry weight
    relevance: Float[np.ndarray, "example decision token label"]
    bias: Float[np.ndarray, "example decision label"]
    word: Int[np.ndarray, "example token"]  # which word a token belongs to, -1 for none

    @property
    def logits(self) -> Float[np.ndarray, "example decision label"]:
        """The subject's own."""
        return np.asarray(np.einsum("edt,edtl->edl", self.attention, self.relevance) + self.bias)


def responses(
    subject: Subject, examples: Sequence[Example], *, batch_size: int = 128
) -> Iterator[tuple[list[int], Batch, Response]]:
    """Batches of like length, each with the places of its examples and the subject's response."""
    for indices in batches_by_length(examples, batch_size):
        batch = subject.encode([examples[i] for i in indices])
        yield indices, batch, response(subject, batch)


def read_out(subject: Subject, examples: Sequence[Example]) -> Readout | None:
    """The whole of a linear read-out; None where the logits are not linear in the weights.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> found = read_out(load("known:reader@planted_keyword"), load_task("planted_keyword")["test"].examples[:2])
    >>> found.attention.sum(-1).round(6).tolist()
    [[1.0], [1.0]]
    """
    if not isinstance(subject, Responds):
        return None
    rows: dict[int, tuple[np.ndarray, ...]] = {}
    for indices, batch, found in responses(subject, examples):
        if found.relevance is None or found.bias is None:
            return None
        parts = (found.attention[:, :, 0], found.allowed, found.relevance, found.bias, batch.word)
        arrays = [_array(part) for part in parts]
        rows.update({place: tuple(array[row] for array in arrays) for row, place in enumerate(indices)})
    longest = max(len(row[1]) for row in rows.values())
    attention, allowed, relevance, bias, word = (
        [rows[place][part] for place in range(len(examples))] for part in range(5)
    )
    return Readout(
        attention=np.stack([np.pad(a, ((0, 0), (0, longest - a.shape[1]))) for a in attention]),
        allowed=np.stack([np.pad(a, (0, longest - len(a))) for a in allowed]),
        relevance=np.stack([np.pad(a, ((0, 0), (0, longest - a.shape[1]), (0, 0))) for a in relevance]),
        bias=np.stack(bias),
        word=np.stack([np.pad(a, (0, longest - len(a)), constant_values=-1) for a in word]),
    )


def require_short_cut(subject: Subject) -> None:
    """Refuses a subject whose every other set of weights would cost a whole forward pass."""
    if not isinstance(subject, Responds):
        raise NotSupported(f"{subject.id} has no short cut from weights to logits (`response`).")


def _array(part: Tensor) -> np.ndarray:
    part = part.detach()
    return (part.double() if part.is_floating_point() else part).cpu().numpy()
