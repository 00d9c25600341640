"""The steps of an epoch: batches, gradients, updates. On a GPU a classifier's steps are recorded (captured.py)."""

import math
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import Recipe, Trainable
from heatcheck.models.contract.memory import is_out_of_memory
from heatcheck.training.imposed import imposed
from heatcheck.training.losses import LOSSES
from heatcheck.training.recorded import Recorded
from heatcheck.training.settings import TrainingSettings

NO_ROOM = "does not fit in memory"
Watch = Callable[[int, int, float], None]  # epoch, examples seen in it, mean loss so far


@dataclass
class Steps:
    """What the steps of a training run need, and how an epoch of them is taken."""

    subject: Trainable
    recipe: Recipe
    settings: TrainingSettings
    optimizer: torch.optim.Optimizer
    examples: Sequence[Example]
    taught_by: Recorded | None  # the model that the loss learns from
    given_by: Recorded | None  # the model whose weights are imposed

    @property
    def number(self) -> int:
        """Steps of an epoch."""
        return math.ceil(math.ceil(len(self.examples) / self.settings.batch_size) / self.settings.accumulate)

    def epoch(self, epoch: int, watch: Watch, after: Callable[[int], None]) -> float:
        """Take the steps of an epoch, tell `after` the number of each; returns the mean loss."""
        subject, settings, recipe, optimizer = self.subject, self.settings, self.recipe, self.optimizer
        objective = LOSSES[recipe.loss["name"]]
        want = objective.wants(subject)
        total, seen = 0.0, 0
        batches = epoch_batches(self.examples, settings, stream(recipe.seed, "batches", epoch))
        for number, together in enumerate(_grouped(batches, settings.accumulate), start=epoch * self.number):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * settings.rate(number, settings.epochs * self.number)
            optimizer.zero_grad(set_to_none=True)
            for examples in together:
                with fits_into_memory(examples, settings), _half(subject, settings):
                    batch = subject.encode(examples)
                    run = subject.run(batch, edits=imposed(subject, batch, recipe.impose, self.given_by), want=want)
                    loss = objective.of(subject, run, batch, recipe.loss, self.taught_by)
                    part = _part_of_step(loss, together, settings)
                    part.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
                total, seen = total + float(loss.detach().sum()), seen + len(examples)
            if settings.clip:
                _clip(list(subject.parameters()), settings.clip)
            optimizer.step()
            after(number + 1)
            watch(epoch, seen, total / seen)
        return total / seen


def epoch_batches(
    examples: Sequence[Example], settings: TrainingSettings, generator: np.random.Generator
) -> Iterator[list[Example]]:
    """Batches of like length in random order; lengths are moved a little so that neighbours change."""
    for rows in epoch_rows(lengths_of(examples), settings, generator):
        yield [examples[row] for row in rows]


def lengths_of(examples: Sequence[Example]) -> np.ndarray:
    """About how many words each text has."""
    return np.array([example.text.count(" ") + 1 for example in examples], dtype=float)


def epoch_rows(
    lengths: np.ndarray, settings: TrainingSettings, generator: np.random.Generator
) -> Iterator[Int[np.ndarray, " row"]]:
    """The same batches, as rows."""
    noise = settings.length_noise * lengths
    order = np.argsort(lengths + generator.uniform(-noise, noise), kind="stable")
    slices = [order[start : start + settings.batch_size] for start in range(0, len(order), settings.batch_size)]
    for place in generator.permutation(len(slices)):
        yield slices[place]


def _grouped(batches: Iterator[list[Example]], size: int) -> Iterator[list[list[Example]]]:
    """Batches that make one step together; the last may be fewer."""
    while together := list(islice(batches, size)):
        yield together


def _part_of_step(loss: Tensor, together: Sequence[Sequence[Example]], settings: TrainingSettings) -> Tensor:
    """What a batch adds to the mean, or the sum, over all examples of its step."""
    if settings.reduction == "sum":
        return loss.sum()
    return loss.mean() * (len(loss) / sum(map(len, together)))


def _half(subject: Trainable, settings: TrainingSettings) -> AbstractContextManager[Any]:
    """Where bfloat16 is asked for and there is a GPU, what may be computed in it is."""
    if settings.bf16 and subject.device.type == "cuda":
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


@contextmanager
def fits_into_memory(examples: Sized, settings: TrainingSettings) -> Iterator[None]:
    """Smaller batches would be another training, so a batch that does not fit is a sentence."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        half, twice = max(1, settings.batch_size // 2), 2 * settings.accumulate
        raise BadInput(
            f"a batch of {len(examples)} examples {NO_ROOM}. For the same steps in smaller batches, use "
            f"--set batch_size={half} --set accumulate={twice}."
        ) from None


def _clip(parameters: Sequence[Tensor], longest: float) -> None:
    """`nn.utils.clip_grad_norm_`, but gradients that are short enough are not multiplied by 1, which takes as long."""
    norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    if not longest / (norm + 1e-6) >= 1:  # as torch computes it; nan too
        nn.utils.clip_grads_with_norm_(parameters, longest, norm)
