"""The state of an unfinished training run, in one file that is never half-written and never unpickled."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from heatcheck.engine import write_whole
from heatcheck.models import Trainable

FILE = "checkpoint.safetensors"


@dataclass
class Progress:
    """Where a training stands after its last whole epoch."""

    epoch: int = 0  # epochs done
    best_epoch: int | None = None
    best_score: float = float("-inf")
    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    seconds_to_keep: float = 0.0  # that the last checkpoint took; 0: none was written


def keep(folder: Path, module: Trainable, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Writes weights, best weights, optimiser and history as one file."""
    tensors = {f"now/{name}": tensor for name, tensor in module.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in progress.best.items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{number}/{name}": tensor for name, tensor in state.items()}
    facts = {name: value for name, value in asdict(progress).items() if name not in ("best", "seconds_to_keep")}
    # Clones: safetensors refuses tensors that share memory, and the best may be the current ones.
    whole = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    write_whole(folder / FILE, save(whole, {"progress": json.dumps(facts)}))


def resume(folder: Path, module: Trainable, optimizer: torch.optim.Optimizer) -> Progress:
    """Puts module and optimiser where the checkpoint left them; a fresh start where there is none."""
    path = folder / FILE
    try:
        with safe_open(path, framework="pt") as opened:
            facts = json.loads(opened.metadata()["progress"])
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        return Progress()
    except (SafetensorError, KeyError, ValueError):
        path.unlink()  # not ours, or older than the file's format: better to start again than to stop
        return Progress()
    module.load_state_dict(_under("now", tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _under("optimizer", tensors).items():
        number, _, quantity = name.partition("/")
        state.setdefault(int(number), {})[quantity] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return Progress(**facts, best=_under("best", tensors))


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(f"{prefix}/"): t for n, t in tensors.items() if n.startswith(f"{prefix}/")}
