"""A model's answers to changed texts, kept: a text that several checks need is read once in an audit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float

from heatcheck.data import Example
from heatcheck.explainers.scores import Read
from heatcheck.models import Subject
from heatcheck.training import predict

Key: TypeAlias = tuple[object, ...]

KEPT = 2**28  # characters of texts that are remembered, beside ENTRY for each: some hundred megabytes
ENTRY = 500


@dataclass
class _Memory:
    """Answers by text, and about how many bytes they take."""

    answers: dict[Key, Float[np.ndarray, " label"]] = field(default_factory=dict)
    held: int = 0


class Answers:
    """Log-probabilities of a model's first decision, by text; each distinct text is read once.

    If memory for texts runs out, the oldest are forgotten, and read again if they are needed again.

    >>> from heatcheck.models import load
    >>> answers = Answers(load("known:reader@planted_keyword"))
    >>> answers([Example("a", "a dull film"), Example("a", "a dull film")]).shape, len(answers)
    ((2, 2), 1)
    """

    def __init__(
        self, subject: Subject, read: Read | None = None, *, kept: int = KEPT, known: "Answers | None" = None
    ) -> None:
        """
        Args:
            read: reads texts that are new here, all different; by default the model itself, in this process.
            known: answers of the same model, which are remembered together with these.
        """
        self.read: Read = read or partial(read_texts, subject)
        self._kept = kept
        self._memory: _Memory = _Memory() if known is None else known._memory

    def __call__(self, texts: Sequence[Example]) -> Float[np.ndarray, "text label"]:
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._memory.answers}
        found = dict(zip(new, self.read(list(new.values())), strict=True)) if new or not texts else {}
        answers = np.stack([found[key] if key in found else self._memory.answers[key] for key in keys])
        for key, answer in found.items():
            self._keep(key, answer)
        return answers

    def __len__(self) -> int:
        """The number of texts that are remembered."""
        return len(self._memory.answers)

    def _keep(self, key: Key, answer: Float[np.ndarray, " label"]) -> None:
        memory = self._memory
        memory.answers[key] = answer.copy()  # a row would keep the whole array alive
        memory.held += _size(key)
        while memory.held > self._kept:
            oldest = next(iter(memory.answers))
            del memory.answers[oldest]
            memory.held -= _size(oldest)


def read_texts(subject: Subject, texts: Sequence[Example]) -> Float[np.ndarray, "text label"]:
    """Log-probabilities of the first decision, in this process."""
    # TensorFloat32, cuDNN's default, would make differences of probabilities out of nothing.
    own = torch.backends.cudnn
    with own.flags(enabled=own.enabled, deterministic=own.deterministic, allow_tf32=False):
        found: Float[np.ndarray, "text label"] = predict(subject, texts)[:, 0]
    return found


def _key(text: Example) -> Key:
    """All that a model may read of an example; a removal takes its marks away."""
    return text.text, text.masked, text.id, text.text_pair, text.options, text.spans, not text.marks


def _size(key: Key) -> int:
    return ENTRY + len(str(key[0]))
