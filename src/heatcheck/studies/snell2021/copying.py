"""The copy task: new random sequences at every step, and many models that learn it while their progress is recorded.

Every run draws from streams of its own, named by its task and seed: what it sees, and so what it becomes, does not
depend on which other runs are trained beside it.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.engine import stream, whole_file
from heatcheck.studies.side_by_side import tensor_cores
from heatcheck.studies.snell2021.stacked import Member, Seen, Shape, Stack, StackTrainer, with_end

EXAMPLES = 128  # a step
EVERY = 10  # steps from one evaluation to the next
EVALUATED = 50  # fresh sequences at each
STATE, SAVED_EVERY = "state.pt", 600.0  # what a run that is interrupted goes on from, and the seconds between two
WATCHED = ("accuracy", "same", "earlier", "later")


class CopyTask(NamedTuple):
    """What is copied: sequences of one length over some symbols."""

    symbols: int
    length: int
    repeated: bool  # drawn one by one; else no symbol comes twice


COPY_TASKS = {
    "copy_permutation": CopyTask(40, 40, repeated=False),
    "copy_distinct": CopyTask(60, 40, repeated=False),
    "copy_iid": CopyTask(40, 40, repeated=True),
}


class Run(NamedTuple):
    """One model, and the sequences it is trained on."""

    task: CopyTask
    member: Member
    data: int  # the seed of its sequences


def draw(task: CopyTask, many: int, generator: np.random.Generator) -> Int[np.ndarray, "example token"]:
    """So many sequences.

    >>> draw(CopyTask(5, 3, repeated=False), 2, np.random.default_rng(0)).tolist()
    [[3, 2, 1], [3, 1, 2]]
    """
    if task.repeated:
        return generator.integers(task.symbols, size=(many, task.length))
    # The places of random numbers in order are a random permutation; the first few of one are distinct symbols.
    return np.argsort(generator.random((many, task.symbols)), axis=1)[:, : task.length]


def by_elimination(task: CopyTask) -> float:
    """How often a model is right that sees only what it has answered so far and guesses among what is left.

    The end, which stands at the same place always, counts as it does in the accuracy.

    >>> round(by_elimination(COPY_TASKS["copy_permutation"]), 3), round(by_elimination(COPY_TASKS["copy_iid"]), 3)
    (0.129, 0.049)
    """
    left = [task.symbols - (0 if task.repeated else before) for before in range(task.length)]
    return (sum(1 / symbols for symbols in left) + 1) / (task.length + 1)


class Curves(NamedTuple):
    """What was seen of each run at each evaluation: shares of all positions of the fresh sequences."""

    steps: Int[np.ndarray, " item"]
    accuracy: Float[np.ndarray, "model item"]
    same: Float[np.ndarray, "model item"]  # where the largest weight is on the position that is copied
    earlier: Float[np.ndarray, "model item"]  # on the one before it
    later: Float[np.ndarray, "model item"]  # on the one after it, whose state has read it too


def watch_training(
    runs: Sequence[Run],
    shape: Shape,
    steps: int,
    *,
    device: torch.device,
    folder: Path | None = None,
    record: bool | None = None,
) -> Curves:
    """Train all runs side by side, and look at each of them before the first step and after every tenth.

    Args:
        folder: where a training of many minutes leaves its state, and finds it if it was interrupted.
        record: a step as a CUDA graph; None: where there is a GPU.
    """
    trainer = StackTrainer([run.member for run in runs], shape, device=device, record=record)
    seen: list[Tensor] = []
    start = _resume(trainer, seen, folder, device)
    saved = time.monotonic()
    for block in range(start, -(-steps // EVERY)):
        if block == 0:
            seen.append(_look(trainer.stack, runs, 0, device))
        for sequences in _block(runs, block, min(EVERY, steps - block * EVERY)):
            trainer.step(_sent(sequences, device))
        done = min((block + 1) * EVERY, steps)
        seen.append(_look(trainer.stack, runs, done, device))
        if folder is not None and time.monotonic() - saved > SAVED_EVERY:
            _save(trainer, seen, block + 1, folder)
            saved = time.monotonic()
    if folder is not None:
        (folder / STATE).unlink(missing_ok=True)
    at = sorted({*range(0, steps, EVERY), steps})
    curves = torch.stack(seen, dim=-1).double().cpu().numpy()  # [watched model item]
    return Curves(np.array(at), *curves)


def _block(runs: Sequence[Run], block: int, steps: int) -> list[Int[Tensor, "model example token"]]:
    """The sequences of the steps between two evaluations."""
    drawn = np.stack(
        [
            draw(run.task, EXAMPLES * steps, stream(run.data, "copy", *map(int, run.task), "train", block))
            for run in runs
        ]
    )
    together = torch.from_numpy(drawn)
    return [together[:, at * EXAMPLES : (at + 1) * EXAMPLES].contiguous() for at in range(steps)]


@torch.no_grad()
def _look(stack: Stack, runs: Sequence[Run], step: int, device: torch.device) -> Float[Tensor, "row model"]:
    """Fresh sequences, answered with the right symbols before each; nothing is waited for."""
    drawn = [draw(run.task, EVALUATED, stream(run.data, "copy", *map(int, run.task), "test", step)) for run in runs]
    sequences = _sent(torch.from_numpy(np.stack(drawn)), device)
    with tensor_cores(device):
        return watched(stack(sequences), with_end(sequences, stack.ends))


def _sent(sequences: Int[Tensor, "model example token"], device: torch.device) -> Int[Tensor, "model example token"]:
    """On their way to the device; the next ones can be drawn before they are there."""
    return sequences.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else sequences


def watched(seen: Seen, gold: Int[Tensor, "model decision example"]) -> Float[Tensor, "row model"]:
    """Token accuracy, and how often the largest weight of some head is at, before or after what is copied.

    Of several heads the one counts that is there most often, which is the one that copies if any does.
    """
    right = (seen.logits.argmax(dim=-1) == gold).double().mean(dim=(1, 2))
    looks_at = seen.weights.argmax(dim=-1)  # [model head decision example]
    place = torch.arange(gold.shape[1], device=gold.device)[:, None]
    beside = [(looks_at == place + away).double().mean(dim=(2, 3)).amax(dim=1) for away in (0, -1, 1)]
    return torch.stack([right, *beside])


def _save(trainer: StackTrainer, seen: Sequence[Tensor], block: int, folder: Path) -> None:
    with whole_file(folder / STATE) as aside:
        torch.save({"trainer": trainer.state(), "seen": list(seen), "block": block}, aside)


def _resume(trainer: StackTrainer, seen: list[Tensor], folder: Path | None, device: torch.device) -> int:
    """Which block comes next."""
    if folder is None or not (folder / STATE).is_file():
        return 0
    kept: dict[str, Any] = torch.load(folder / STATE, map_location=device, weights_only=True)
    trainer.load(kept["trainer"])
    seen.extend(kept["seen"])
    block: int = kept["block"]
    return block
