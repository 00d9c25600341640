"""The one training loop; adversarial, deceptive, uniform or guided training are losses and imposed weights within it.

It trains transformers too. The learning rate depends only on the number of the step, so a resumed run needs no other
state.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heatcheck.data import Corpus, Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import Classifier, Recipe, Trainable
from heatcheck.models.contract.memory import is_out_of_memory
from heatcheck.training import checkpoint
from heatcheck.training.checkpoint import Progress
from heatcheck.training.evaluation import Scores, evaluate
from heatcheck.training.imposed import imposed
from heatcheck.training.losses import LOSSES
from heatcheck.training.observing import Observer
from heatcheck.training.recorded import Recorded
from heatcheck.training.settings import TrainingSettings

Watch = Callable[[int, int, float], None]  # epoch, examples seen in it, mean loss so far


def train_loop(
    subject: Trainable,
    corpus: Corpus,
    recipe: Recipe,
    folder: Path,
    *,
    parents: Mapping[str, Recorded] = MappingProxyType({}),
    watch: Watch = lambda *_: None,
) -> Progress:
    """Train the model in place, from the folder's checkpoint if there is one, and keep its best epoch.

    Every random choice of an epoch comes from a stream named by (seed, epoch), so that a training that was
    killed and resumed ends with the same weights, bit for bit, as one that was not.
    """
    with torch.random.fork_rng(devices=[subject.device] if subject.device.type == "cuda" else []):
        return _train(subject, corpus, recipe, folder, parents, watch)


def _train(
    subject: Trainable,
    corpus: Corpus,
    recipe: Recipe,
    folder: Path,
    parents: Mapping[str, Recorded],
    watch: Watch,
) -> Progress:
    settings = TrainingSettings(**recipe.training)
    objective = LOSSES[recipe.loss["name"]]
    want = objective.wants(subject)
    taught_by = parents.get(recipe.loss.get("parent", ""))
    given_by = parents.get((recipe.impose or {}).get("parent", ""))
    train, chosen_on = corpus["train"].examples, corpus[settings.select_split].examples
    optimizer = make_optimizer(subject, settings)
    progress = checkpoint.resume(folder, subject, optimizer)
    steps = math.ceil(math.ceil(len(train) / settings.batch_size) / settings.accumulate)  # an epoch
    observer = Observer(subject, corpus, recipe, folder, parent=given_by)
    observer.after(progress.epoch * steps)

    while progress.epoch < settings.epochs and not _has_settled(progress, settings):
        epoch = progress.epoch
        torch.manual_seed(int(stream(recipe.seed, "dropout", epoch).integers(2**63)))
        subject.train()
        total, seen = 0.0, 0
        batches = epoch_batches(train, settings, stream(recipe.seed, "batches", epoch))
        for number, together in enumerate(_grouped(batches, settings.accumulate)):
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * settings.rate(epoch * steps + number, settings.epochs * steps)
            optimizer.zero_grad(set_to_none=True)
            for examples in together:
                with _fits_into_memory(examples, settings), _half(subject, settings):
                    batch = subject.encode(examples)
                    run = subject.run(batch, edits=imposed(subject, batch, recipe.impose, given_by), want=want)
                    loss = objective.of(subject, run, batch, recipe.loss, taught_by)
                    part = _part_of_step(loss, together, settings)
                    part.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
                total, seen = total + float(loss.detach().sum()), seen + len(examples)
            if settings.clip:
                _clip(list(subject.parameters()), settings.clip)
            optimizer.step()
            observer.after(epoch * steps + number + 1)
            watch(epoch, seen, total / seen)

        subject.eval()
        scores = evaluate(subject, chosen_on, impose=recipe.impose, parent=given_by)
        progress.epoch += 1
        progress.history.append({"epoch": epoch, "train_loss": total / seen, settings.select_split: scores.facts()})
        score = _score(scores, total / seen, settings)
        eligible = epoch > 0 or not settings.skip_first or settings.epochs == 1
        if eligible and score > progress.best_score:
            progress.best_epoch, progress.best_score = epoch, score
            progress.best = {name: tensor.clone() for name, tensor in subject.state_dict().items()}
        checkpoint.keep(folder, subject, optimizer, progress)

    observer.at_the_end(progress.epoch * steps)
    if progress.best:
        subject.load_state_dict(progress.best)
    subject.eval()
    return progress


def epoch_batches(
    examples: Sequence[Example], settings: TrainingSettings, generator: np.random.Generator
) -> Iterator[list[Example]]:
    """Batches of like length in random order; lengths are moved a little so that neighbours change."""
    lengths = np.array([example.text.count(" ") + 1 for example in examples], dtype=float)
    noise = settings.length_noise * lengths
    order = np.argsort(lengths + generator.uniform(-noise, noise), kind="stable")
    slices = [order[start : start + settings.batch_size] for start in range(0, len(order), settings.batch_size)]
    for place in generator.permutation(len(slices)):
        yield [examples[i] for i in slices[place]]


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
def _fits_into_memory(examples: Sequence[Example], settings: TrainingSettings) -> Iterator[None]:
    """Smaller batches would be another training, so a batch that does not fit is a sentence."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        half, twice = max(1, settings.batch_size // 2), 2 * settings.accumulate
        raise BadInput(
            f"a batch of {len(examples)} examples does not fit in memory. For the same steps in smaller batches, use "
            f"--set batch_size={half} --set accumulate={twice}."
        ) from None


def _clip(parameters: Sequence[Tensor], longest: float) -> None:
    """`nn.utils.clip_grad_norm_`, but gradients that are short enough are not multiplied by 1, which takes as long."""
    norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    if not longest / (norm + 1e-6) >= 1:  # as torch computes it; nan too
        nn.utils.clip_grads_with_norm_(parameters, longest, norm)


def make_optimizer(subject: Trainable, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; what is decayed differently is in a group of its own."""
    groups = (
        _of_classifier(subject, settings) if isinstance(subject, Classifier) else _of_transformer(subject, settings)
    )
    make = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    # Fused: one pass over the embedding table instead of a dozen.
    return make(groups, lr=settings.learning_rate, amsgrad=settings.amsgrad, fused=True)


def _of_classifier(subject: Classifier, settings: TrainingSettings) -> list[dict[str, Any]]:
    """The attention's parameters apart, for presets that do not decay them."""
    attention = list(subject.attention.parameters())
    of_attention = {id(parameter) for parameter in attention}
    # What is frozen is not decayed either.
    rest = [p for p in subject.parameters() if id(p) not in of_attention and p.requires_grad]
    decay = settings.weight_decay
    groups: list[dict[str, Any]] = [{"params": rest, "weight_decay": decay}] if rest else []
    if attention:
        groups.append({"params": attention, "weight_decay": decay if settings.decay_attention else 0.0})
    return groups


def _of_transformer(subject: Trainable, settings: TrainingSettings) -> list[dict[str, Any]]:
    """Biases and the scales of norms are not decayed, as everywhere."""
    every = [parameter for parameter in subject.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in every if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in every if p.ndim < 2], "weight_decay": 0.0},
    ]


def _score(scores: Scores, train_loss: float, settings: TrainingSettings) -> float:
    """What the kept epoch is best at; more is better."""
    if settings.select == "train_loss":
        return -train_loss
    return -scores.loss if settings.select == "loss" else float(getattr(scores, settings.select))


def _has_settled(progress: Progress, settings: TrainingSettings) -> bool:
    if not settings.patience or progress.best_epoch is None:
        return False
    return progress.epoch - 1 - progress.best_epoch >= settings.patience
