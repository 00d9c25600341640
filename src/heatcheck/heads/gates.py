"""Gates on heads that are learned: each head is open or closed, and an open one costs something (Voita et al. 2019).

A gate is drawn from the hard concrete distribution: a stretched sigmoid, cut at 0 and 1, so that it is exactly 0 or 1
with a probability of its own. The loss adds `penalty` times the expected number of open heads of a layer.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Example
from heatcheck.engine import check_time, stream
from heatcheck.errors import BadInput
from heatcheck.heads.proxy import losses
from heatcheck.heads.reading import contexts, heads_of_layers
from heatcheck.models import Edits, HasLayers

TEMPERATURE = 0.33
LOW, HIGH = -0.1, 1.1  # what the sigmoid is stretched to
EDGE = 1e-6  # of the uniform numbers
SHIFT = TEMPERATURE * log(-LOW / HIGH)  # -0.791
OPEN = 3.8  # log a of a gate that is open with a probability of .99
LogA = Float[Tensor, "layer head"]


def draw_gates(log_a: LogA, uniform: Float[Tensor, "layer head"]) -> Float[Tensor, "layer head"]:
    """Gates from uniform numbers between 0 and 1."""
    u = uniform.clamp(EDGE, 1 - EDGE)
    smooth = torch.sigmoid((u.log() - (1 - u).log() + log_a) / TEMPERATURE)
    return (smooth * (HIGH - LOW) + LOW).clamp(0.0, 1.0)


def probability_open(log_a: LogA) -> Float[Tensor, "layer head"]:
    """The probability that a gate is not 0."""
    return torch.sigmoid(log_a - SHIFT)


def probability_whole(log_a: LogA) -> Float[Tensor, "layer head"]:
    """The probability that a gate is 1."""
    return torch.sigmoid(log_a + SHIFT)


def settled_gates(log_a: LogA) -> Float[Tensor, "layer head"]:
    """Gates as they are used after learning, without noise or temperature, as in the authors' code."""
    return (torch.sigmoid(log_a) * (HIGH - LOW) + LOW).clamp(0.0, 1.0)


def gate_edits(subject: HasLayers, gates: Float[Tensor, "layer head"]) -> Edits:
    """Edits that multiply each head's output by its gate; gates may require gradients."""

    def gated(of_layer: Float[Tensor, " head"]) -> Any:
        return lambda own: own * of_layer[: own.shape[1]].to(own)[None, :, None, None]

    return {site: gated(gates[layer]) for layer, site in enumerate(contexts(subject))}


@dataclass(frozen=True)
class GateSettings:
    """How gates are learned."""

    penalty: float = 0.1  # nats per open head of a layer, mean over layers
    steps: int = 300
    batch_size: int = 32
    learning_rate: float = 0.05
    weights: bool = False  # True: the model's weights learn too
    weights_rate: float = 5e-6  # a tenth of a usual rate of fine-tuning

    def __post_init__(self) -> None:
        if self.penalty < 0 or not np.isfinite(self.penalty):
            raise BadInput(f"penalty must be at least 0, not {self.penalty:g}.")
        for name in ("steps", "batch_size"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1, not {getattr(self, name)}.")


@dataclass(frozen=True)
class Gated:
    """A model with learned gates; the model itself is a copy if its weights learned too."""

    subject: HasLayers
    log_a: Float[np.ndarray, "layer head"]  # nan where a layer has no such head

    @property
    def gates(self) -> Float[np.ndarray, "layer head"]:
        """The settled gates; a head is kept if its gate is not 0."""
        return np.where(np.isnan(self.log_a), np.nan, settled_gates(torch.from_numpy(self.log_a)).numpy())

    @property
    def kept(self) -> int:
        """How many heads are left."""
        return int((np.nan_to_num(self.gates) > 0).sum())

    def accuracy(self, examples: Sequence[Example], batch_size: int = 64) -> Float[np.ndarray, " example"]:
        """Whether each example is answered right, under the settled gates."""
        gates = torch.from_numpy(np.nan_to_num(self.gates))
        found: dict[int, float] = {}
        order = sorted(range(len(examples)), key=lambda place: len(examples[place].text))
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            batch = self.subject.encode([examples[place] for place in places])
            if batch.gold is None:
                raise BadInput("accuracy needs gold labels, and an example has none. Add labels to the data.")
            with torch.no_grad():
                logits = self.subject.run(batch, edits=gate_edits(self.subject, gates)).logits
            right = (logits.argmax(-1) == batch.gold).double().mean(1)
            found.update(zip(places, right.tolist(), strict=True))
        return np.array([found[place] for place in range(len(examples))])


def learn_gates(subject: HasLayers, examples: Sequence[Example], settings: GateSettings, *, seed: int = 0) -> Gated:
    """Learn one gate per head on labelled examples, starting from a trained model with all gates open.

    One draw of the gates serves a whole batch. With `weights=False` the model stays as it is, without dropout; with
    `weights=True` a copy of it learns too, with its dropout.
    """
    if not examples or any(example.label is None for example in examples):
        raise BadInput("gates are learned from labels, and an example has none. Give labelled examples.")
    counts = heads_of_layers(subject, subject.encode(examples[:1]))
    there = torch.arange(max(counts))[None] < torch.tensor(counts)[:, None]
    if settings.weights:
        subject = copy.deepcopy(subject)
    device = subject.encode(examples[:1]).valid.device
    log_a = torch.full(there.shape, OPEN, device=device).requires_grad_()
    groups: list[dict[str, Any]] = [{"params": [log_a], "lr": settings.learning_rate}]
    module: Any = subject
    if settings.weights:
        module.train()
        groups.append({"params": list(module.parameters()), "lr": settings.weights_rate})
    optimizer = torch.optim.Adam(groups)
    mask = there.to(device)
    gpu = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(gpu):  # dropout
        torch.manual_seed(int(stream(seed, "gates", "dropout").integers(2**31)))
        for step in range(settings.steps):
            check_time()
            random = stream(seed, "gates", step)
            chosen = random.choice(len(examples), size=min(settings.batch_size, len(examples)), replace=False)
            uniform = torch.from_numpy(random.random(there.shape)).to(device=device, dtype=torch.float32)
            batch = subject.encode([examples[place] for place in chosen])
            assert batch.gold is not None
            with torch.enable_grad():
                run = subject.run(batch, edits=gate_edits(subject, draw_gates(log_a, uniform)))
                open_heads = (probability_open(log_a) * mask).sum(1).mean()
                loss = losses(run, batch.gold).mean() + settings.penalty * open_heads
            learned = [parameter for group in groups for parameter in group["params"] if parameter.requires_grad]
            slopes = torch.autograd.grad(loss, learned, allow_unused=True)
            for parameter, slope in zip(learned, slopes, strict=True):
                parameter.grad = slope
            optimizer.step()
    if settings.weights:
        module.eval()
        for parameter in module.parameters():
            parameter.grad = None
    found = log_a.detach().cpu().double()
    return Gated(subject, torch.where(there, found, torch.nan).numpy())
