"""What looking costs a training: the same recipe with and without 20 checkpoints, in one run."""

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.epoch import long_texts
from heatcheck.data import Split
from heatcheck.models import Recipe
from heatcheck.training import build, checkpoint_steps, observed_steps, plan_observe, plan_recipe, steps_of, train_loop
from heatcheck.training.settings import TrainingSettings

MOST = 0.10  # of the time of the training


def measure(quick: bool = False) -> list[dict[str, object]]:
    texts, words, epochs, checkpoints, probe, repetitions = (
        (64, 12, 1, 4, 8, 1) if quick else (6920, 19, 6, 20, 200, 3)
    )  # as SST
    corpus = long_texts(texts, words)
    examples = corpus["train"].examples[:probe]
    corpus = replace(corpus, splits={**corpus.splits, "test": Split("test", examples)})
    shape = {"hidden": 8, "embedding": 8} if quick else {}
    plain = plan_recipe(corpus, epochs=epochs, patience=0, **shape)
    steps = checkpoint_steps(steps_of(TrainingSettings(**plain.training), texts), checkpoints)
    seen = replace(plain, observe=plan_observe(steps, examples=probe))
    seconds: dict[str, list[float]] = {"plain": [], "seen": []}
    equal = True
    for _ in range(repetitions):  # interleaved, so that a busy moment hits both
        weights = []
        for name, recipe in (("plain", plain), ("seen", seen)):
            taken, found = _trained(recipe, corpus, len(steps) if recipe.observe else 0)
            seconds[name].append(taken)
            weights.append(found)
        equal &= all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    plain_s, seen_s = (statistics.median(seconds[name]) for name in ("plain", "seen"))
    return [
        {
            "name": "recorder, BiLSTM + tanh",
            "size": f"{texts} texts, {len(steps)} looks at {probe}",
            "plain_s": plain_s,
            "library_s": seen_s,
            "ratio": plain_s / seen_s,
            "cost": seen_s / plain_s - 1,
            "most": MOST,
            "equal": equal,
            "threads": torch.get_num_threads(),
        }
    ]


def _trained(recipe: Recipe, corpus, checkpoints: int) -> tuple[float, dict[str, torch.Tensor]]:
    """Seconds, and the weights at the end."""
    subject = build(recipe, corpus)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        train_loop(subject, corpus, recipe, Path(folder))
        taken = time.perf_counter() - start
        assert len(observed_steps(folder)) == checkpoints
    return taken, subject.state_dict()


if __name__ == "__main__":
    for row in measure():
        print(row)
