"""Copy models trained side by side against one after another with PyTorch's own LSTM, on the same sequences.

On a GPU at the size of the study (60 runs, hidden 256, 200 steps, recording included); without one, small.
"""

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from heatcheck.engine import stream
from heatcheck.studies.side_by_side import tensor_cores
from heatcheck.studies.snell2021.copying import COPY_TASKS, EXAMPLES, CopyTask, Run, draw
from heatcheck.studies.snell2021.stacked import Member, Shape, StackTrainer, first_weights


class PlainCopier(nn.Module):
    """One model of PyTorch's own layers, whose LSTM is cuDNN's on a GPU."""

    def __init__(self, member: Member, shape: Shape) -> None:
        super().__init__()
        h = shape.hidden
        self.end = member.end
        self.embedding = nn.Embedding(member.vocabulary, h)
        self.encoder, self.decoder = nn.LSTM(h, h), nn.LSTM(h, h)
        self.query, self.value = nn.Linear(h, h), nn.Linear(h, h)
        self.mix, self.output = nn.Linear(2 * h, h), nn.Linear(h, member.vocabulary)
        first = first_weights(member, shape)
        with torch.no_grad():
            self.embedding.weight.copy_(first["embedding"])
            for name in ("encoder", "decoder"):
                part = getattr(self, name)
                part.weight_ih_l0.copy_(first[f"{name}_input"].T)
                part.weight_hh_l0.copy_(first[f"{name}_state"].T)
                part.bias_ih_l0.copy_(first[f"{name}_input_bias"])
                part.bias_hh_l0.copy_(first[f"{name}_state_bias"])
            for name in ("query", "value", "mix", "output"):
                weight, bias = first[name], first[f"{name}_bias"]
                getattr(self, name).weight.copy_((weight[0] if weight.ndim == 3 else weight).T)
                getattr(self, name).bias.copy_(bias[0] if bias.ndim == 2 else bias)

    def loss(self, sequences: torch.Tensor) -> torch.Tensor:
        end = torch.full_like(sequences[:, :1], self.end)
        source, target = torch.cat([sequences, end], 1).T, torch.cat([end + 1, sequences], 1).T
        states, last = self.encoder(self.embedding(source))
        decoded, _ = self.decoder(self.embedding(target), last)
        weights = torch.einsum("tbh,sbh->bts", self.query(decoded), states).softmax(-1)
        context = self.value(torch.einsum("bts,sbh->tbh", weights, states))
        logits = self.output(torch.tanh(self.mix(torch.cat([decoded, context], -1))))
        return nn.functional.cross_entropy(logits.flatten(0, 1), source.flatten())


def one_after_another(
    runs: Sequence[Run], shape: Shape, drawn: torch.Tensor, device: torch.device
) -> tuple[float, torch.Tensor]:
    """Seconds, and the loss of every run at every step."""
    losses = []
    _finish(device)
    start = time.perf_counter()
    with tensor_cores(device):
        for number, run in enumerate(runs):
            model = PlainCopier(run.member, shape).to(device)
            adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=device.type == "cuda" or None)
            of_run = []
            for sequences in drawn[:, number]:
                loss = model.loss(sequences.to(device, non_blocking=True))
                adam.zero_grad(set_to_none=True)
                loss.backward()
                adam.step()
                of_run.append(loss.detach())
            losses.append(torch.stack(of_run))
    _finish(device)
    return time.perf_counter() - start, torch.stack(losses).cpu()


def side_by_side(
    runs: Sequence[Run], shape: Shape, drawn: torch.Tensor, device: torch.device
) -> tuple[float, torch.Tensor]:
    """The same; on a GPU the recording of the step is in the time."""
    _finish(device)
    start = time.perf_counter()
    trainer = StackTrainer([run.member for run in runs], shape, device=device)
    losses = [trainer.step(sequences) for sequences in drawn]
    _finish(device)
    return time.perf_counter() - start, torch.stack(losses, dim=1).cpu()


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def measure(quick: bool = False) -> list[dict[str, object]]:
    gpu = torch.cuda.is_available() and not quick
    device = torch.device("cuda" if gpu else "cpu")
    seeds, steps, hidden = (20, 200, 256) if gpu else (1, 3, 8) if quick else (4, 6, 32)
    tasks = list(COPY_TASKS.values()) if gpu else [CopyTask(8, 6, repeated=True), CopyTask(9, 6, repeated=False)]
    examples = EXAMPLES if gpu else 16
    runs = [Run(task, Member(task.symbols, seed), seed) for task in tasks for seed in range(seeds)]
    drawn = torch.from_numpy(
        np.stack(
            [
                [draw(run.task, examples, stream(run.data, "benchmark", int(run.task.repeated), step)) for run in runs]
                for step in range(steps)
            ]
        )
    )
    drawn = drawn.pin_memory() if gpu else drawn
    shape = Shape(hidden)
    one_after_another(runs[:1], shape, drawn[:3], device)  # libraries are loaded before a clock runs
    library_s, ours = side_by_side(runs, shape, drawn, device)
    plain_s, theirs = one_after_another(runs, shape, drawn, device)
    # Rounding grows from step to step as it does between any two machines: the first steps are to be the same.
    apart = float((ours - theirs)[:, :5].abs().max())
    return [
        {
            "name": "copy models side by side" + (" (GPU)" if gpu else ""),
            "size": f"{len(runs)} runs, {steps} steps",
            "plain_s": plain_s,
            "library_s": library_s,
            "ratio": plain_s / library_s,
            "target": 4 if gpu else None,
            "equal": apart < (1e-2 if gpu else 1e-4),
            "apart": apart,
            "device": torch.cuda.get_device_name() if gpu else "cpu",
            "threads": torch.get_num_threads(),
        }
    ]
