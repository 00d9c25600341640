"""Attention weights, and what each token's state says for each label, as arrays that checks on weights work with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.explainers.tokens import pool
from heatcheck.models import AttendsToParts, Responds, Response, Subject, response
from heatcheck.models.contract.memory import in_memory, shrinking
from heatcheck.training import batches_by_length


@dataclass(frozen=True)
class Readout:
    """Weights and relevances of a model whose logits are Σ_t α_t r_tk + b_k, in float64.

    With these the encoder is never run again: every other set of weights costs one weighted sum. The keys are tokens,
    or sentences if the model's read-out attends to those.
    """

    attention: Float[np.ndarray, "example decision token"]
    allowed: Bool[np.ndarray, "example token"]  # keys that may carry weight
    relevance: Float[np.ndarray, "example decision token label"]
    bias: Float[np.ndarray, "example decision label"]
    of_word: Int[np.ndarray, "example token"] | None  # which word a key belongs to, -1 for none; None: no key does

    @property
    def word(self) -> Int[np.ndarray, "example token"]:
        """The word of each key, -1 for none."""
        if self.of_word is None:
            raise NotSupported("this needs weights over words, but the model attends to sentences.")
        return self.of_word

    @property
    def logits(self) -> Float[np.ndarray, "example decision label"]:
        """The model's own logits."""
        return np.asarray(np.einsum("edt,edtl->edl", self.attention, self.relevance) + self.bias)


def responses(
    subject: Subject, examples: Sequence[Example], *, batch_size: int = 128
) -> Iterator[tuple[list[int], Batch, Response]]:
    """Batches of similar length, each with the places of its examples and the model's response."""

    def respond(indices: list[int]) -> tuple[Batch, Response]:
        batch = subject.encode([examples[i] for i in indices])
        return batch, shrinking(response(subject, batch))

    for indices, (batch, found) in in_memory(batches_by_length(examples, batch_size, subject), respond):
        yield indices, batch, found


def read_out(subject: Subject, examples: Sequence[Example]) -> Readout | None:
    """The arrays of a linear read-out; None if the logits are not linear in the weights.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> found = read_out(load("known:reader@planted_keyword"), load_task("planted_keyword")["test"].examples[:2])
    >>> found.attention.sum(-1).round(6).tolist()
    [[1.0], [1.0]]
    """
    if not isinstance(subject, Responds):
        return None
    parts: list[tuple[list[int], Readout]] = []
    over_words = not isinstance(subject, AttendsToParts)
    for indices, batch, found in responses(subject, examples):
        if found.relevance is None or found.bias is None:
            return None
        part = Readout(
            attention=_array(found.attention[:, :, 0]),
            allowed=_array(found.allowed),
            relevance=_array(found.relevance),
            bias=_array(found.bias),
            of_word=_array(batch.word) if over_words else None,
        )
        parts.append((indices, part))
    return _joined(parts, len(examples))


def _joined(parts: Sequence[tuple[list[int], Readout]], examples: int) -> Readout:
    """Batches as one, each example in its place, padded to the longest."""
    longest = max(part.allowed.shape[1] for _, part in parts)
    decisions, labels = parts[0][1].bias.shape[1:]
    whole = Readout(
        attention=np.zeros((examples, decisions, longest)),
        allowed=np.zeros((examples, longest), dtype=bool),
        relevance=np.zeros((examples, decisions, longest, labels)),
        bias=np.zeros((examples, decisions, labels)),
        of_word=None if parts[0][1].of_word is None else np.full((examples, longest), -1),
    )
    for rows, part in parts:
        n = part.allowed.shape[1]
        whole.attention[rows, :, :n] = part.attention
        whole.allowed[rows, :n] = part.allowed
        whole.relevance[rows, :, :n] = part.relevance
        whole.bias[rows] = part.bias
        if whole.of_word is not None:
            whole.of_word[rows, :n] = part.word
    # A softmax in float32 sums to 1 but for the last digits, which is more than some bounds allow for.
    whole.attention[...] /= whole.attention.sum(-1, keepdims=True)
    return whole


def of_words(
    values: Float[np.ndarray, "example token"], word: Int[np.ndarray, "example token"], examples: Sequence[Example]
) -> list[np.ndarray]:
    """Values of tokens summed by word, one array per example; nan for a word without a token."""
    return [pool(values[row], word[row], len(example.words)) for row, example in enumerate(examples)]


def require_short_cut(subject: Subject) -> None:
    """Refuse a model for which every other set of weights would cost a whole forward pass."""
    if not isinstance(subject, Responds):
        raise NotSupported(f"{subject.id} has no short cut from weights to logits (`response`), which is needed here.")


def _array(part: Tensor) -> np.ndarray:
    part = part.detach()
    return (part.double() if part.is_floating_point() else part).cpu().numpy()
