"""A model's attention weights and log-probabilities for each example, stored under the example's id.

Adversaries and guides learn from these records of their parent. A check on retrained models needs only these records:
a few numbers per token (or per sentence) instead of a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Subject, readable_keys
from heatcheck.models.contract.memory import in_memory
from heatcheck.training.evaluation import batches_by_length
from heatcheck.training.imposed import imposed


@runtime_checkable
class Teacher(Protocol):
    """Who knows another model's weights and answers for the examples of a batch."""

    def log_probabilities_for(self, batch: Batch) -> Float[Tensor, "example decision label"]: ...

    def weights_for(
        self, batch: Batch, keys: Bool[Tensor, "example key"] | None = None
    ) -> Float[Tensor, "example head query key"]: ...


@dataclass(frozen=True)
class Recorded:
    """Weights at the read-out over what may carry some in each example, and log-probabilities of its decisions."""

    ids: tuple[str, ...]
    log_probabilities: Float[np.ndarray, "example decision label"]
    each: tuple[np.ndarray, ...]  # an example's weights [head decision token]

    @cached_property
    def place(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    @cached_property
    def weights(self) -> Float[np.ndarray, "example token"]:
        """Behind the first decision, mean over heads; zeros after each example's last token."""
        longest = max(found.shape[-1] for found in self.each)
        rows = [found[:, 0].mean(0) for found in self.each]
        return np.stack([np.pad(row, (0, longest - len(row))) for row in rows])

    @cached_property
    def allowed(self) -> Bool[np.ndarray, "example token"]:
        """Which places of `weights` are tokens."""
        return np.arange(self.weights.shape[1]) < np.array([found.shape[-1] for found in self.each])[:, None]

    @property
    def probabilities(self) -> Float[np.ndarray, "example label"]:
        """Of the first decision."""
        return np.asarray(np.exp(self.log_probabilities[:, 0]))

    @property
    def predicted(self) -> Int[np.ndarray, " example"]:
        """The likeliest label of the first decision."""
        return np.asarray(self.log_probabilities[:, 0].argmax(-1))

    def log_probabilities_for(self, batch: Batch) -> Float[Tensor, "example decision label"]:
        """Of the examples of a batch, whoever encoded it."""
        found = self.log_probabilities[self._rows(batch)]
        return torch.from_numpy(found).float().to(batch.valid.device)

    def weights_for(
        self, batch: Batch, keys: Bool[Tensor, "example key"] | None = None
    ) -> Float[Tensor, "example head query key"]:
        """At these keys of a batch (its scored tokens, where none are given), zeros elsewhere."""
        rows = self._rows(batch)
        heads, queries = self.each[rows[0]].shape[:2]
        readable = (batch.scored if keys is None else keys).cpu().numpy()
        found = np.zeros((len(rows), heads, queries, readable.shape[1]), dtype=np.float32)
        for number, row in enumerate(rows):
            places = np.flatnonzero(readable[number])
            if len(places) != self.each[row].shape[-1]:
                raise BadInput(
                    f"the example {batch.ids[number]} has {len(places)} tokens here but {self.each[row].shape[-1]} in "
                    "the parent model. Both models need the same tokenizer."
                )
            found[number][..., places] = self.each[row]
        return torch.from_numpy(found).to(batch.valid.device)

    def _rows(self, batch: Batch) -> list[int]:
        missing = [name for name in batch.ids if name not in self.place]
        if missing:
            raise BadInput(f"the parent's weights for the example {missing[0]} were not recorded.")
        return [self.place[name] for name in batch.ids]


def read_rows(
    weights: Float[Tensor, "example head query key"], row: Int[Tensor, "example decision"]
) -> Float[Tensor, "example head decision key"]:
    """The row of the read-out behind each decision; the other rows of a transformer's last layer decide nothing."""
    place = row[:, None, :, None].expand(-1, weights.shape[1], -1, weights.shape[3])
    return weights.gather(2, place)


@torch.inference_mode()
def record(
    subject: Subject,
    examples: Sequence[Example],
    *,
    impose: Facts | None = None,
    parent: Recorded | None = None,
    batch_size: int = 128,
) -> Recorded:
    """Run the model on the examples, with imposed weights if asked, and record its weights and answers.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> found = record(load("known:reader@planted_keyword"), load_task("planted_keyword")["test"].examples[:3])
    >>> bool(found.weights.max() > 0.95), found.log_probabilities.shape
    (True, (3, 1, 2))
    """
    if not examples:
        raise BadInput("there are no examples to record. Give at least one.")
    if len({example.id for example in examples}) < len(examples):
        raise BadInput("two examples have the same id. Give each example its own id.")
    site = subject.sites[-1]
    rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def said(indices: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        batch = subject.encode([examples[i] for i in indices])
        run = subject.run(batch, edits=imposed(subject, batch, impose, parent), want=[site])
        used = read_rows(run.parts[site], run.row).float().cpu().numpy()
        logs = run.logits.double().log_softmax(-1).cpu().numpy()
        return logs, used, readable_keys(subject, batch).cpu().numpy()

    for indices, (logs, used, readable) in in_memory(batches_by_length(examples, batch_size, subject), said):
        for number, index in enumerate(indices):
            rows[index] = logs[number], used[number][..., readable[number]]
    ordered = [rows[place] for place in range(len(examples))]
    if len({logs.shape for logs, _ in ordered}) > 1:
        raise NotSupported(
            f"{subject.id} makes a different number of decisions in different texts, which cannot be recorded."
        )
    return Recorded(
        tuple(example.id for example in examples),
        np.stack([logs for logs, _ in ordered]),
        tuple(weights for _, weights in ordered),
    )
