"""A split's texts as a model encodes them, kept on its device: encoded once, read in every epoch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.data.vocabulary import PAD
from heatcheck.engine import Facts
from heatcheck.models import Classifier, readable_keys
from heatcheck.training.imposed import imposed
from heatcheck.training.recorded import Recorded

TOKENS_AT_ONCE = 1 << 17  # of texts that are answered together, padding included
Rows = Int[np.ndarray, " text"]


class Encoded(NamedTuple):
    """All texts of a split in one batch, padded to the longest, and the number of tokens of each input of each."""

    whole: Batch
    tokens: Mapping[str, Rows]

    @classmethod
    def of(cls, subject: Classifier, examples: Sequence[Example]) -> "Encoded":
        """Encode the examples; what other threads see of them is there when this returns."""
        whole = subject.encode(examples)
        return cls(whole, {name: (part != PAD).sum(1).cpu().numpy() for name, part in whole.inputs.items()})

    def longest(self, rows: Rows) -> dict[str, int]:
        """The number of tokens that these rows need."""
        return {name: int(of[rows].max()) for name, of in self.tokens.items()}

    def groups(self) -> Iterator[Rows]:
        """Rows of like length, few enough to be answered together."""
        order = np.argsort(self.tokens["tokens"], kind="stable")
        ordered = self.tokens["tokens"][order]
        start = 0
        while start < len(order):
            padded = ordered[start:] * np.arange(1, len(order) - start + 1)  # so many tokens if a group ends there
            count = max(1, int(np.searchsorted(padded, TOKENS_AT_ONCE, side="right")))
            yield order[start : start + count]
            start += count

    def batch(self, rows: Rows) -> Batch:
        """These rows by themselves."""
        on_device = torch.from_numpy(rows).to(self.whole.valid.device)
        return self.whole.take(on_device, tuple(self.whole.ids[row] for row in rows), **self.longest(rows))


class Told(NamedTuple):
    """What a parent model says of all texts of a split; `at` names the rows and the tokens of a batch."""

    log_probabilities: Float[Tensor, "text decision label"]
    weights: Float[Tensor, "text head query key"]
    rows: Tensor
    length: int

    @classmethod
    def of(cls, subject: Classifier, said: Recorded, texts: Encoded) -> "Told":
        """On the model's device, in the order of the texts."""
        keys = readable_keys(subject, texts.whole)
        every = torch.arange(len(texts.whole), device=keys.device)
        return cls(said.log_probabilities_for(texts.whole), said.weights_for(texts.whole, keys), every, keys.shape[1])

    def at(self, rows: Tensor, length: int) -> "Told":
        """The same for these rows."""
        return self._replace(rows=rows, length=length)

    def log_probabilities_for(self, _: Batch) -> Float[Tensor, "example decision label"]:
        return self.log_probabilities[self.rows]

    def weights_for(self, _: Batch, __: Tensor | None = None) -> Float[Tensor, "example head query key"]:
        return self.weights[self.rows][..., : self.length]


@torch.inference_mode()
def answers_to(
    subject: Classifier, texts: Encoded, impose: Facts | None, parent: Recorded | None
) -> tuple[Float[np.ndarray, "example decision label"], Int[np.ndarray, "example decision"]]:
    """Log-probabilities that the model gives, and the right labels, in the order of the texts."""
    groups = list(texts.groups())
    found = []
    for rows in groups:
        batch = texts.batch(rows)
        found.append(subject.run(batch, edits=imposed(subject, batch, impose, parent)).logits)
    logs = torch.cat(found).double().log_softmax(-1).cpu().numpy()
    assert texts.whole.gold is not None, "texts that a model is trained on have labels"
    return logs[np.argsort(np.concatenate(groups))], texts.whole.gold.cpu().numpy()
