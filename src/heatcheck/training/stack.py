"""Training runs side by side on one GPU: each in a thread of its own, on a stream of its own.

A process per run would not do: a GPU runs the kernels of one process at a time. On a CPU nothing is gained, because one
run keeps a core busy (docs/speed.md); there each run has a process (`workers`).
"""

import gc
import os
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck import engine
from heatcheck.engine import Facts, Job, Outcome
from heatcheck.training.fit import pick_device
from heatcheck.training.jobs import fit_job, read_corpus
from heatcheck.training.steps import NO_ROOM

Progress = Callable[[Outcome, int, int], None]
More = Callable[[], Sequence[Job]]
STREAMS = 32  # torch has no more of them: a thread without its own would record another's kernels
MEMORY = 4 << 30  # bytes of the GPU that a run may take: the most among 174 models of nine tasks was a little more
LONG = 100  # words of a text, on average, from which a treated model takes up to twice as much
FEWER = 4  # those that found no room run again, so many times fewer at once


def run_fits(
    jobs: Sequence[Job],
    store: Path,
    *,
    workers: int = 0,
    cluster: str | None = None,
    progress: Progress | None = None,
    more: More = tuple,
) -> Iterator[Outcome]:
    """Train what is not in the store: classifiers on a GPU side by side in this process, others as `workers` says.

    `workers`, `cluster`, `progress` and `more` are those of `engine.map`.
    """
    if jobs and cluster is None and all(is_stacked(job.argument) for job in jobs):
        return _side_by_side(jobs, store, progress, more)
    return engine.map(fit_job, jobs, store, workers=workers, cluster=cluster, progress=progress, more=more)


def _side_by_side(jobs: Sequence[Job], store: Path, progress: Progress | None, more: More) -> Iterator[Outcome]:
    """Train the runs; those that found no room beside others are tried again when these have ended."""
    together = at_once(jobs, store)
    ended = total = 0

    def count(_outcome: Outcome, _done: int, planned: int) -> None:
        nonlocal total
        total = max(total, planned)

    try:
        while jobs:
            crowded: dict[str, Job] = {}
            for outcome in engine.map(fit_stacked, jobs, store, threads=together, progress=count, more=more):
                if together > 1 and _found_no_room(outcome, crowded, store):
                    crowded[outcome.job.id] = outcome.job
                    continue
                ended += 1
                if progress:
                    progress(outcome, ended, total)
                yield outcome
            jobs, together, more = [*crowded.values()], max(1, together // FEWER), tuple
            _give_back()
    finally:
        _give_back()


def _found_no_room(outcome: Outcome, crowded: Mapping[str, Job], store: Path) -> bool:
    """Whether memory was too small for a run beside others, or for all that it still needs."""
    if outcome.state == "skipped":
        missing = [need for need in outcome.job.needs if not (store / need).is_dir()]
        return bool(missing) and crowded.keys() >= set(missing)
    return outcome.state == "failed" and NO_ROOM in outcome.reason


def _give_back() -> None:
    """What torch keeps for the next run is nearly the whole GPU, and those who come next may be other processes."""
    gc.collect()
    torch.cuda.empty_cache()


def is_stacked(argument: Facts) -> bool:
    """Whether a training run is one of a classifier on a GPU; others draw from generators that all threads share."""
    model = argument["recipe"]["model"]
    return "encoder" in model and pick_device(argument["device"]).type == "cuda"


def at_once(jobs: Sequence[Job], store: Path) -> int:
    """How many of these training runs fit on the GPU, about."""
    # Before the GPU is first used: streams that share a queue would wait for each other.
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(STREAMS))
    free, _ = torch.cuda.mem_get_info()
    corpora = [read_corpus(store / name) for name in {job.argument["corpus"] for job in jobs}]
    words = max(np.mean([len(example.words) for example in corpus["train"]]) for corpus in corpora)
    return max(1, min(STREAMS, free // (MEMORY if words < LONG else 2 * MEMORY)))


def fit_stacked(argument: Facts, folder: Path, store: Path) -> None:
    """Trains one recipe into its folder, on a stream that no other thread has."""
    with own_stream(pick_device(argument["device"])):
        fit_job(argument, folder, store)


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Lend this thread a stream that no other thread has."""
    free = _streams(device)
    stream = free.get()
    try:
        with torch.cuda.stream(stream):
            yield
            stream.synchronize()
    finally:
        free.put(stream)


@lru_cache
def _streams(device: torch.device) -> "queue.SimpleQueue[Any]":
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for _ in range(STREAMS):
        found.put(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]  # torch says nothing of its type
    return found
