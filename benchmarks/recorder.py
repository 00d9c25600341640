"""What looking costs a training: the same recipe with and without 20 checkpoints in one run, by turns.

`HEATCHECK_DATA=… python -m benchmarks.recorder` runs it alone and says all that it measured. Processor time is what
counts: on a shared machine the clock on the wall runs for others too.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.epoch import long_texts
from benchmarks.inputs import one_thread
from heatcheck.data import Corpus, Split, load_task
from heatcheck.errors import HeatcheckError
from heatcheck.models import Recipe
from heatcheck.training import (
    LEFT_OUT,
    OF_TOKENS,
    Observer,
    build,
    checkpoint_steps,
    observed_steps,
    plan_observe,
    plan_recipe,
    steps_of,
    train_loop,
)
from heatcheck.training.observing import FOLDER
from heatcheck.training.settings import TrainingSettings

MOST = 0.10  # of the time of the training


class Size(NamedTuple):
    epochs: int
    checkpoints: int
    probe: int
    repetitions: int
    of_memory: tuple[int, ...]  # checkpoints in each training whose memory is measured
    probe_of_memory: int  # more texts there: what might pile up is to be seen beside torch itself
    shape: dict[str, int]


# 9 epochs: about a minute of an LSTM on SST.
WHOLE = Size(9, 20, 200, 3, (5, 20, 80), 1200, {})
QUICK = Size(1, 4, 8, 1, (3,), 8, {"hidden": 8, "embedding": 8})


class Memory(NamedTuple):
    """Of a process that trains an epoch and nothing else, in megabytes, torch itself included."""

    peak: float
    at_the_end: float
    on_disk: float  # what was observed, all of it: about what would be held were it not let go


class Trained(NamedTuple):
    processor: float
    wall: float
    weights: dict[str, torch.Tensor]  # of the epoch that is kept
    history: list[dict[str, Any]]  # losses and scores of every epoch: the last one need not be kept
    on_disk: int  # bytes of what was observed


def measure(quick: bool = False) -> list[dict[str, object]]:
    size = QUICK if quick else WHOLE
    corpus = corpus_of(quick)
    plain = plan_recipe(corpus, epochs=size.epochs, patience=0, **size.shape)
    steps = checkpoint_steps(steps_of(TrainingSettings(**plain.training), len(corpus["train"])), size.checkpoints)
    recipes = {"plain": plain, "seen": replace(plain, observe=plan_observe(steps, examples=size.probe))}
    found: dict[str, list[Trained]] = {"plain": [], "seen": []}
    with one_thread():
        train(
            replace(recipes["seen"], training={**plain.training, "epochs": 1}), short(corpus)
        )  # before a clock starts
        for repetition in range(
            size.repetitions
        ):  # by turns, so that a busy moment hits both, and neither is always first
            for name in ("plain", "seen") if repetition % 2 == 0 else ("seen", "plain"):
                found[name].append(train(recipes[name], corpus))
        look, with_left_out = looks(corpus, plain, size)
    memory = {count: memory_of(count, quick=quick) for count in size.of_memory}
    plain_s, seen_s = (statistics.median(one.processor for one in found[name]) for name in ("plain", "seen"))
    first, *others = [one for name in found for one in found[name]]
    return [
        {
            "name": "recorder, BiLSTM + tanh",
            "size": f"{len(corpus['train'])} texts, {len(steps)} looks",
            "plain_s": plain_s,
            "library_s": seen_s,
            "ratio": plain_s / seen_s,
            "target": round(1 / (1 + MOST), 2),
            "cost": seen_s / plain_s - 1,
            "cost_of_each": [b.processor / a.processor - 1 for a, b in zip(found["plain"], found["seen"], strict=True)],
            "most": MOST,
            "processor_s": {name: [one.processor for one in of] for name, of in found.items()},
            "wall_s": {name: [one.wall for one in of] for name, of in found.items()},
            "task": corpus.name,
            "epochs": size.epochs,
            "steps": steps[-1],
            "looks": len(steps),
            "looked_at": size.probe,
            "look_s": look,
            "look_with_leave_one_out_s": with_left_out,
            "memory_mb": {count: of._asdict() for count, of in memory.items()},
            "looked_at_for_memory": size.probe_of_memory,
            "equal": all(same(first, other) for other in others),
            "threads": 1,
        }
    ]


def corpus_of(quick: bool) -> Corpus:
    """SST where it is; elsewhere, and for a smoke test, texts made up as long as its."""
    if not quick:
        try:
            return load_task("sst")
        except HeatcheckError:
            pass  # $HEATCHECK_DATA is not here
    made = long_texts(64 if quick else 6920, 12 if quick else 19)
    return replace(made, splits={**made.splits, "test": Split("test", made["train"].examples[:600])})


def short(corpus: Corpus) -> Corpus:
    few = Split("train", corpus["train"].examples[:64])
    return replace(corpus, splits={**corpus.splits, "train": few})


def train(recipe: Recipe, corpus: Corpus) -> Trained:
    """One training from nothing, as `heatcheck train` does it; reading the texts is not in the time."""
    subject = build(recipe, corpus)
    with tempfile.TemporaryDirectory() as folder:
        start, wall = time.process_time(), time.perf_counter()
        done = train_loop(subject, corpus, recipe, Path(folder))
        taken = time.process_time() - start, time.perf_counter() - wall
        files = list((Path(folder) / FOLDER).glob("*.npz"))
        assert len(files) == len(observed_steps(folder))
        assert bool(files) == bool(recipe.observe)
        on_disk = sum(path.stat().st_size for path in files)
    return Trained(*taken, subject.state_dict(), done.history, on_disk)


def same(one: Trained, other: Trained) -> bool:
    """To the bit."""
    weights = all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
    return weights and json.dumps(one.history) == json.dumps(other.history)


def looks(corpus: Corpus, plain: Recipe, size: Size) -> tuple[float, float]:
    """Processor seconds of one look, as it is and with words left out."""
    found = []
    for quantities in (OF_TOKENS, (*OF_TOKENS, LEFT_OUT)):
        recipe = replace(plain, observe=plan_observe([0], examples=size.probe, quantities=quantities))
        observer = Observer(build(recipe, corpus), corpus, recipe, Path())
        observer.look(0)
        taken = []
        for _ in range(size.repetitions):
            start = time.process_time()
            observer.look(0)
            taken.append(time.process_time() - start)
        found.append(statistics.median(taken))
    return found[0], found[1]


def memory_of(checkpoints: int, *, quick: bool) -> Memory:
    """In a process of its own that gives back what is freed: else what is held is lost in what is kept ready."""
    command = [sys.executable, "-m", "benchmarks.recorder", str(checkpoints), "quick" if quick else "whole"]
    root = Path(__file__).parent.parent
    prompt = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    done = subprocess.run(command, cwd=root, env=prompt, capture_output=True, text=True, check=True)
    return Memory(*map(float, done.stdout.split()))


def train_for_memory(checkpoints: int, *, quick: bool) -> Memory:
    size, corpus = QUICK if quick else WHOLE, corpus_of(quick)
    plain = plan_recipe(corpus, epochs=1, patience=0, **size.shape)
    last = steps_of(TrainingSettings(**plain.training), len(corpus["train"]))
    steps = sorted({round(step) for step in np.linspace(0, last, checkpoints)})
    with one_thread():
        done = train(replace(plain, observe=plan_observe(steps, examples=size.probe_of_memory)), corpus)
    # Not getrusage: its peak is also that of the process that started this one.
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak, now = (int(facts[name].split()[0]) * 1024 / 1e6 for name in ("VmHWM", "VmRSS"))
    return Memory(peak, now, done.on_disk / 1e6)


def say(row: dict[str, Any]) -> None:
    """All of it, in lines."""
    print(
        f"{row['task']}: {row['size']} at {row['looked_at']} texts each, {row['epochs']} epochs, {row['steps']} steps"
    )
    for name in ("processor_s", "wall_s"):
        for side, seconds in row[name].items():
            print(
                f"{name} {side:6}", *(f"{one:8.2f}" for one in seconds), f"  median {statistics.median(seconds):8.2f}"
            )
    each = " ".join(f"{one:.1%}" for one in row["cost_of_each"])
    wanted = f"at most {row['most']:.0%} wanted"
    print(f"cost in processor time: {row['cost']:.1%} of the training (each pair {each}); {wanted}")
    print(f"weights and losses of every epoch equal to the bit in all trainings: {'yes' if row['equal'] else 'NO'}")
    alone = row["looks"] * row["look_s"] / row["plain_s"]  # less moved by what else the machine does
    print(f"a look: {row['look_s']:.3f} s, all of them {alone:.1%} of the training", end="; ")
    print(f"with leave-one-out {row['look_with_leave_one_out_s']:.3f} s")
    for count, of in row["memory_mb"].items():
        what = f"memory, {count:2} checkpoints of {row['looked_at_for_memory']} texts, one epoch"
        then = f"at the end {of['at_the_end']:.1f} MB, on disk {of['on_disk']:.1f} MB"
        print(f"{what}: peak {of['peak']:.1f} MB, {then}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(*train_for_memory(int(sys.argv[1]), quick=sys.argv[2] == "quick"))
    else:
        for row in measure(quick="--quick" in sys.argv):
            say(row)
            sys.exit(0 if row["equal"] and row["cost"] <= row["most"] else 1)
