"""What is recorded while sequence-to-sequence models train, with teacher forcing at every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.errors import UnknownName
from heatcheck.models import Seq2Seq
from heatcheck.models.contract.memory import in_memory
from heatcheck.models.seq2seq.model import NOT_DECIDED
from heatcheck.training.evaluation import batches_by_length
from heatcheck.training.imposed import Parent, imposed

OF_STEPS = ("attention", "relevance")  # a number for each step and source token; answers are always kept
SEQUENCES = 50  # texts where only a number of checkpoints is given: each has as many numbers as steps times tokens
TOGETHER = 32  # texts: a relevance takes, at each step, a distribution over all words for each source token


@dataclass(frozen=True)
class ObservedSeq2Seq:
    """The recorded answers on the probe examples after one step of training.

    `attention` is [head step source] of each text, `relevance` [step source]: log P(right word | the context is this
    token's state). Source tokens and steps include the marks at their ends.
    """

    step: int
    ids: tuple[str, ...]
    lengths: Int[np.ndarray, " example"]  # source tokens
    written: Int[np.ndarray, " example"]  # steps of the decoder
    right: Float[np.ndarray, " word"]  # 1 where the likeliest word is the right one; one text after the other
    log_probabilities: Float[np.ndarray, " word"]  # of the right words
    heads: int
    of_steps: Mapping[str, Float[np.ndarray, " item"]]  # of all texts, one after the other

    @property
    def accuracy(self) -> float:
        """Share of right words, each told all before it."""
        return float(self.right.mean())

    @cached_property
    def valid(self) -> Bool[np.ndarray, "example decision token"]:
        """Which places of a padded quantity are steps and tokens."""
        steps = np.arange(self.written.max()) < self.written[:, None]
        tokens = np.arange(self.lengths.max()) < self.lengths[:, None]
        return np.asarray(steps[:, :, None] & tokens[:, None])

    def padded(self, quantity: str) -> Float[np.ndarray, "example ... decision token"]:
        """A quantity with one row per text and zeros after its ends; attention also has an axis of heads."""
        if quantity not in self.of_steps:
            raise UnknownName("observed quantity", quantity, self.of_steps)
        places = self.valid
        if quantity == "attention":
            places = np.repeat(places[:, None], self.heads, axis=1)
        found = np.zeros(places.shape)
        found[places] = self.of_steps[quantity]
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """As they are kept."""
        return {
            "step": np.array(self.step),
            "ids": np.array(self.ids),
            "lengths": self.lengths,
            "written": self.written,
            "right": self.right.astype(bool),
            "log_probabilities": self.log_probabilities.astype(np.float32),
            "heads": np.array(self.heads),
            **{f"of_steps/{name}": values.astype(np.float32) for name, values in self.of_steps.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "ObservedSeq2Seq":
        """What `arrays` gave."""
        prefix = "of_steps/"
        return cls(
            step=int(arrays["step"]),
            ids=tuple(map(str, arrays["ids"])),
            lengths=arrays["lengths"],
            written=arrays["written"],
            right=arrays["right"].astype(np.float64),
            log_probabilities=arrays["log_probabilities"].astype(np.float64),
            heads=int(arrays["heads"]),
            of_steps={
                name.removeprefix(prefix): of.astype(np.float64) for name, of in arrays.items() if prefix in name
            },
        )


def observe_seq2seq(
    subject: Seq2Seq,
    probe: Sequence[Example],
    step: int,
    quantities: Sequence[str],
    *,
    impose: Facts | None = None,
    parent: Parent | None = None,
) -> ObservedSeq2Seq:
    """What the model, in evaluation mode, says of the probe as it stands."""
    site = subject.sites[-1]

    @torch.inference_mode()
    def of_batch(indices: list[int]) -> list[dict[str, np.ndarray]]:
        batch = subject.encode([probe[i] for i in indices])
        assert batch.gold is not None  # every text of a probe has one to be written
        edits = imposed(subject, batch, impose, parent)
        run = subject.run(batch, edits=edits, want=[site])
        found = {"attention": run.parts[site]}
        if "relevance" in quantities:
            found["relevance"] = subject.step_relevance(batch, edits=edits)
        logs = run.logits.double().log_softmax(-1).take_along_dim(batch.gold.clamp(min=0)[..., None], -1)[..., 0]
        right = run.logits.argmax(-1) == batch.gold
        steps, tokens = (batch.gold != NOT_DECIDED).sum(1).tolist(), batch.valid.sum(1).tolist()
        arrays = {name: found[name].float().cpu().numpy() for name in quantities}
        said, hit = logs.cpu().numpy(), right.cpu().numpy()
        return [
            {
                "written": np.array(steps[row]),
                "length": np.array(tokens[row]),
                "right": hit[row, : steps[row]].astype(float),
                "logs": said[row, : steps[row]],
                # Copies: a slice would keep the padding of the whole batch alive.
                **{name: of[row][..., : steps[row], : tokens[row]].flatten() for name, of in arrays.items()},
            }
            for row in range(len(indices))
        ]

    rows: dict[int, dict[str, np.ndarray]] = {}
    for indices, found in in_memory(batches_by_length(probe, TOGETHER), of_batch):
        rows.update(zip(indices, found, strict=True))
    ordered = [rows[place] for place in range(len(probe))]
    return ObservedSeq2Seq(
        step=step,
        ids=tuple(example.id for example in probe),
        lengths=np.array([row["length"] for row in ordered]),
        written=np.array([row["written"] for row in ordered]),
        right=np.concatenate([row["right"] for row in ordered]),
        log_probabilities=np.concatenate([row["logs"] for row in ordered]),
        heads=subject.settings.heads,
        of_steps={name: np.concatenate([row[name] for row in ordered]) for name in quantities},
    )
