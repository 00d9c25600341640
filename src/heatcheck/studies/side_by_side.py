"""Trains a stack of small models side by side; on a GPU a whole step is recorded once and replayed.

A small model leaves a GPU idle. In a stack every parameter has a leading axis of models, so the products of all models
are one batched product each. The loss is the sum of their losses, and Adam goes number by number: no model knows of the
others.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


@contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """On a GPU, products of matrices with inputs rounded to ten bits (TF32), as PyTorch's own LSTM has them there."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Trainer:
    """Takes steps with a whole stack. On a GPU the first step is recorded and every step replays it."""

    def __init__(
        self,
        stack: nn.Module,
        adam: type[torch.optim.Adam | torch.optim.AdamW],
        learning_rate: float,
        *,
        device: torch.device,
        record: bool | None = None,
    ) -> None:
        """
        Args:
            stack: its `losses(sequences)` gives one loss per model.
            adam: Adam or AdamW.
            record: a step as a CUDA graph; None: where there is a GPU.
        """
        self._models: Any = stack.to(device)
        self._device = device
        self._record = device.type == "cuda" if record is None else record
        on_gpu = device.type == "cuda"
        self._adam = adam(stack.parameters(), lr=learning_rate, fused=on_gpu or None, capturable=on_gpu)
        self._sequences = self._losses = torch.empty(0)  # where a recorded step reads and writes
        self._graph: Any = None

    def step(self, sequences: Int[Tensor, "model example item"]) -> Float[Tensor, " model"]:
        """One step of Adam for every model, each on its own examples; the losses before it."""
        if not self._record:
            with tensor_cores(self._device):
                return self._take(sequences.to(self._device))
        if self._graph is None:
            self._sequences = sequences.to(self._device, copy=True)
            with tensor_cores(self._device):
                self._capture()
        self._sequences.copy_(sequences, non_blocking=True)
        self._graph.replay()
        return self._losses.clone()

    def state(self) -> dict[str, Any]:
        """All that a later step depends on."""
        return {"stack": self._models.state_dict(), "adam": self._adam.state_dict()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave; before the first step."""
        self._models.load_state_dict(dict(state["stack"]))
        self._adam.load_state_dict(dict(state["adam"]))

    def _take(self, sequences: Int[Tensor, "model example item"]) -> Float[Tensor, " model"]:
        self._adam.zero_grad(set_to_none=True)
        losses: Tensor = self._models.losses(sequences)
        losses.sum().backward()  # type: ignore[no-untyped-call]  # torch says nothing of its type
        self._adam.step()
        return losses.detach()

    def _capture(self) -> None:
        """Record a step; those taken to warm up are taken back."""
        parameters = list(self._models.parameters())
        first = [p.detach().clone() for p in parameters]
        moments = [{name: value.clone() for name, value in self._adam.state[p].items()} for p in parameters]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # nor of this one's
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                self._take(self._sequences)
        torch.cuda.current_stream().wait_stream(aside)
        with torch.no_grad():
            for p, before, moment in zip(parameters, first, moments, strict=True):
                p.copy_(before)
                for name, value in self._adam.state[p].items():
                    value.copy_(moment[name]) if moment else value.zero_()
        self._graph = torch.cuda.CUDAGraph()
        self._adam.zero_grad(set_to_none=True)
        with torch.cuda.graph(self._graph):
            self._losses = self._take(self._sequences)
