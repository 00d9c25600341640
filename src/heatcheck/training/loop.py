"""The one training loop. Adversarial, deceptive, uniform or guided training are losses and imposed weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import nn

from heatcheck.data import Corpus, Example
from heatcheck.engine import stream
from heatcheck.models import Classifier, Recipe
from heatcheck.training import checkpoint
from heatcheck.training.checkpoint import Progress
from heatcheck.training.evaluation import Scores, evaluate
from heatcheck.training.imposed import imposed
from heatcheck.training.losses import LOSSES
from heatcheck.training.recorded import Recorded
from heatcheck.training.settings import TrainingSettings

Watch = Callable[[int, int, float], None]  # epoch, examples seen in it, mean loss so far


def train_loop(
    subject: Classifier,
    corpus: Corpus,
    recipe: Recipe,
    folder: Path,
    *,
    parents: Mapping[str, Recorded] = MappingProxyType({}),
    watch: Watch = lambda *_: None,
) -> Progress:
    """Trains the subject in place, from the folder's checkpoint if there is one, and leaves it at its best epoch.

    Every random choice of an epoch comes from a stream named by (seed, epoch), so that a training that was
    killed and resumed ends with the same weights, bit for bit, as one that was not.
    """
    with torch.random.fork_rng(devices=[subject.device] if subject.device.type == "cuda" else []):
        return _train(subject, corpus, recipe, folder, parents, watch)


def _train(
    subject: Classifier,
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

    while progress.epoch < settings.epochs and not _has_settled(progress, settings):
        epoch = progress.epoch
        torch.manual_seed(int(stream(recipe.seed, "dropout", epoch).integers(2**63)))
        subject.train()
        total, seen = 0.0, 0
        for examples in epoch_batches(train, settings, stream(recipe.seed, "batches", epoch)):
            batch = subject.encode(examples)
            run = subject.run(batch, edits=imposed(subject, batch, recipe.impose, given_by), want=want)
            loss = objective.of(subject, run, batch, recipe.loss, taught_by)
            optimizer.zero_grad(set_to_none=True)
            (loss.sum() if settings.reduction == "sum" else loss.mean()).backward()  # type: ignore[no-untyped-call]
            if settings.clip:
                nn.utils.clip_grad_norm_(subject.parameters(), settings.clip)
            optimizer.step()
            total, seen = total + float(loss.detach().sum()), seen + len(examples)
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


def make_optimizer(subject: Classifier, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; the attention's parameters are in a group of their own, for presets that do not decay them."""
    attention = list(subject.attention.parameters())
    of_attention = {id(parameter) for parameter in attention}
    # What is frozen is not decayed either.
    rest = [p for p in subject.parameters() if id(p) not in of_attention and p.requires_grad]
    decay = settings.weight_decay
    groups: list[dict[str, Any]] = [{"params": rest, "weight_decay": decay}] if rest else []
    if attention:
        groups.append({"params": attention, "weight_decay": decay if settings.decay_attention else 0.0})
    make = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    # Fused: one pass over the embedding table instead of a dozen.
    return make(groups, lr=settings.learning_rate, amsgrad=settings.amsgrad, fused=True)


def _score(scores: Scores, train_loss: float, settings: TrainingSettings) -> float:
    """What the kept epoch is best at; more is better."""
    if settings.select == "train_loss":
        return -train_loss
    return -scores.loss if settings.select == "loss" else float(getattr(scores, settings.select))


def _has_settled(progress: Progress, settings: TrainingSettings) -> bool:
    if not settings.patience or progress.best_epoch is None:
        return False
    return progress.epoch - 1 - progress.best_epoch >= settings.patience
