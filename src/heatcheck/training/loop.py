"""The one training loop; adversarial, deceptive, uniform or guided training are losses and imposed weights within it.

It trains transformers too. The learning rate depends only on the number of the step, so a resumed run needs no other
state.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from heatcheck.data import Corpus
from heatcheck.engine import stream
from heatcheck.models import Classifier, FlatClassifier, Recipe, Trainable
from heatcheck.training import checkpoint
from heatcheck.training.captured import CapturedSteps
from heatcheck.training.checkpoint import Progress
from heatcheck.training.encoded import answers_to
from heatcheck.training.evaluation import Scores, evaluate, score
from heatcheck.training.made_once import encoded
from heatcheck.training.observing import Observer
from heatcheck.training.recorded import Recorded
from heatcheck.training.settings import TrainingSettings
from heatcheck.training.steps import Steps, Watch

# On a GPU a checkpoint is written when that takes at most this share of the time since the last one: an epoch may take
# less time than writing its weights. On a CPU every epoch ends with one.
CHECKPOINTS = 0.1


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
    if not isinstance(subject, Classifier):
        with torch.random.fork_rng(devices=[subject.device] if subject.device.type == "cuda" else []):
            return _train(subject, corpus, recipe, folder, parents, watch)
    # A generator of its own: other models may be trained beside it, in other threads.
    subject.generator = torch.Generator(subject.device)
    try:
        return _train(subject, corpus, recipe, folder, parents, watch)
    finally:
        subject.generator = None


def _train(
    subject: Trainable,
    corpus: Corpus,
    recipe: Recipe,
    folder: Path,
    parents: Mapping[str, Recorded],
    watch: Watch,
) -> Progress:
    settings = TrainingSettings(**recipe.training)
    taught_by = parents.get(recipe.loss.get("parent", ""))
    given_by = parents.get((recipe.impose or {}).get("parent", ""))
    optimizer = make_optimizer(subject, settings)
    progress = checkpoint.resume(folder, subject, optimizer)
    plain = Steps(subject, recipe, settings, optimizer, corpus["train"].examples, taught_by, given_by)
    steps: Steps | CapturedSteps = plain
    if isinstance(subject, FlatClassifier) and _can_be_recorded(subject, recipe, settings):
        steps = CapturedSteps(plain, encoded(subject, corpus, "train"), record=True)
    observer = Observer(subject, corpus, recipe, folder, parent=given_by)
    observer.after(progress.epoch * steps.number)
    kept = time.perf_counter()

    while progress.epoch < settings.epochs and not _has_settled(progress, settings):
        epoch = progress.epoch
        seed = int(stream(recipe.seed, "dropout", epoch).integers(2**63))
        own = subject.generator if isinstance(subject, Classifier) else None
        torch.manual_seed(seed) if own is None else own.manual_seed(seed)
        subject.train()
        loss = steps.epoch(epoch, watch, observer.after)

        subject.eval()
        scores = scores_on(subject, corpus, settings.select_split, recipe, given_by)
        progress.epoch += 1
        progress.history.append({"epoch": epoch, "train_loss": loss, settings.select_split: scores.facts()})
        worth = _score(scores, loss, settings)
        eligible = epoch > 0 or not settings.skip_first or settings.epochs == 1
        if eligible and worth > progress.best_score:
            progress.best_epoch, progress.best_score = epoch, worth
            progress.best = {name: tensor.clone() for name, tensor in subject.state_dict().items()}
        kept = _keep_now_and_then(folder, subject, optimizer, progress, kept)

    observer.at_the_end(progress.epoch * steps.number)
    if progress.best:
        subject.load_state_dict(progress.best)
    subject.eval()
    return progress


def _can_be_recorded(subject: FlatClassifier, recipe: Recipe, settings: TrainingSettings) -> bool:
    """Whether every step of this run is the same kernels: on a GPU, at one learning rate, with nobody watching."""
    varies = settings.accumulate > 1 or settings.warm_up or settings.linear_decay or settings.bf16
    return subject.device.type == "cuda" and not varies and recipe.observe is None


def scores_on(subject: Trainable, corpus: Corpus, split: str, recipe: Recipe, given_by: Recorded | None) -> Scores:
    """Scores on a split; on a GPU from texts that are there already."""
    if isinstance(subject, FlatClassifier) and subject.device.type == "cuda":
        return score(*answers_to(subject, encoded(subject, corpus, split), recipe.impose, given_by))
    return evaluate(subject, corpus[split].examples, impose=recipe.impose, parent=given_by)


def _keep_now_and_then(
    folder: Path, subject: Trainable, optimizer: torch.optim.Optimizer, progress: Progress, kept: float
) -> float:
    """Write a checkpoint unless the last one is too recent for what it costs; when the last one was written."""
    start = time.perf_counter()
    if subject.device.type == "cuda" and start - kept < progress.seconds_to_keep / CHECKPOINTS:
        return kept
    checkpoint.keep(folder, subject, optimizer, progress)
    progress.seconds_to_keep = time.perf_counter() - start
    return time.perf_counter()


def make_optimizer(subject: Trainable, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; what is decayed differently is in a group of its own."""
    groups = (
        _of_classifier(subject, settings) if isinstance(subject, Classifier) else _of_transformer(subject, settings)
    )
    make = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.AdamW
    # Fused: one pass over the embedding table instead of a dozen. On a GPU its steps may be recorded.
    recorded = subject.device.type == "cuda"
    return make(groups, lr=settings.learning_rate, amsgrad=settings.amsgrad, fused=True, capturable=recorded)


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
