"""A classifier's training steps on a GPU, each recorded once per length of texts and replayed after that.

A small model leaves a GPU idle while Python prepares the next hundred kernels. A recorded step is one call. Several
models, each in its own thread with its own stream, then share the GPU (`training/stack.py`). Each is trained as it
would be alone: no number of one reaches another.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heatcheck.engine import stream
from heatcheck.models import Classifier
from heatcheck.training.encoded import Encoded, Told
from heatcheck.training.imposed import imposed
from heatcheck.training.losses import LOSSES
from heatcheck.training.steps import Steps, Watch, epoch_rows, fits_into_memory, lengths_of

EVERY = 64  # steps between two looks at the loss: each waits for the GPU
COARSENESS = 8  # texts are padded by at most an eighth of their length (or 3 tokens), so that few lengths are recorded
# Steps that are not replayed are taken by one thread at a time. All backward passes run in one thread of torch's, with
# one handle of cuDNN: another model's in the middle of a recording would spoil it.
_BY_HAND = threading.Lock()


@contextmanager
def between_recordings() -> Iterator[None]:
    """Keep the training runs of other threads from recording a step: for gradients that are computed meanwhile."""
    with _BY_HAND:
        yield


def rounded(tokens: int) -> int:
    """The length to which a text of so many tokens is padded: at most an eighth longer.

    >>> [rounded(tokens) for tokens in (3, 9, 17, 30, 100)]
    [4, 12, 20, 32, 104]
    """
    step = max(4, (1 << (tokens - 1).bit_length()) // (2 * COARSENESS))
    return -(-tokens // step) * step


class CapturedSteps:
    """Takes the steps of an epoch from texts that are on the GPU already."""

    def __init__(self, steps: Steps, texts: Encoded, *, record: bool) -> None:
        """
        Args:
            record: whether to record steps; without a GPU they are taken one by one, for tests.
        """
        assert isinstance(steps.subject, Classifier)
        self._steps, self._subject, self._record = steps, steps.subject, record
        mark = steps.recipe.loss.get("mark")  # the only one that a step reads
        marks = {name: of for name, of in texts.whole.marks.items() if name == mark}
        self._texts = texts._replace(whole=replace(texts.whole, marks=marks))
        self._taught = _told(steps.subject, steps.taught_by, texts)
        self._given = _told(steps.subject, steps.given_by, texts)
        self._widths = {name: part.shape[1] for name, part in texts.whole.inputs.items()}
        self._lengths = lengths_of(steps.examples)
        device = steps.subject.device
        self._rows = torch.zeros(steps.settings.batch_size, dtype=torch.long, device=device)
        self._total = torch.zeros((), dtype=torch.double, device=device)
        self._recorded: dict[tuple[int, ...], Any] = {}  # by the lengths of the inputs; None: was taken once
        self._pool: Any = None

    @property
    def number(self) -> int:
        """Steps of an epoch."""
        return self._steps.number

    def epoch(self, epoch: int, watch: Watch, after: Callable[[int], None]) -> float:
        """Take the steps of an epoch; returns the mean loss."""
        recipe, settings = self._steps.recipe, self._steps.settings
        batches = list(epoch_rows(self._lengths, settings, stream(recipe.seed, "batches", epoch)))
        rows = torch.from_numpy(np.concatenate(batches)).to(self._rows.device)
        self._total.zero_()
        seen = 0
        for number, batch in enumerate(batches, start=1):
            now = rows[seen : seen + len(batch)]
            longest = self._texts.longest(batch)
            with fits_into_memory(batch, settings):
                self._step(now, {name: min(rounded(n), self._widths[name]) for name, n in longest.items()})
            seen += len(batch)
            after(epoch * self.number + number)
            if number % EVERY == 0:
                watch(epoch, seen, float(self._total) / seen)
        return float(self._total) / seen

    def _step(self, rows: Tensor, tokens: dict[str, int]) -> None:
        key = tuple(tokens.values())
        if not self._record or len(rows) < len(self._rows) or key not in self._recorded:
            with _BY_HAND:
                self._take(rows, tokens)  # the first of its length also prepares what a recording may not do
            if len(rows) == len(self._rows):
                self._recorded.setdefault(key, None)
            return
        if self._recorded[key] is None:
            self._recorded[key] = self._capture(tokens)
        self._rows.copy_(rows)
        self._recorded[key].replay()

    def _take(self, rows: Tensor, tokens: dict[str, int]) -> None:
        """One step: forward, backward, update. Nothing in it waits for the GPU."""
        subject, steps = self._subject, self._steps
        objective, recipe = LOSSES[steps.recipe.loss["name"]], steps.recipe
        length = tokens["tokens"]
        batch = self._texts.whole.take(rows, ("",) * len(rows), **tokens)
        given = None if self._given is None else self._given.at(rows, length)
        taught = None if self._taught is None else self._taught.at(rows, length)
        run = subject.run(batch, edits=imposed(subject, batch, recipe.impose, given), want=objective.wants(subject))
        loss = objective.of(subject, run, batch, recipe.loss, taught)
        steps.optimizer.zero_grad(set_to_none=True)
        part = loss.sum() if steps.settings.reduction == "sum" else loss.mean()
        part.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        if steps.settings.clip:
            parameters = [p for p in subject.parameters() if p.grad is not None]
            norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
            nn.utils.clip_grads_with_norm_(parameters, steps.settings.clip, norm)
        steps.optimizer.step()
        self._total.add_(loss.detach().sum())

    def _capture(self, tokens: dict[str, int]) -> Any:
        """Record a step; recording takes none."""
        graph = torch.cuda.CUDAGraph()
        assert self._subject.generator is not None
        graph.register_generator_state(self._subject.generator)
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        self._steps.optimizer.zero_grad(set_to_none=True)
        with _BY_HAND:  # `torch.cuda.graph` would wait for the whole GPU, and so for every other thread
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                self._take(self._rows, tokens)
            except RuntimeError:
                with suppress(RuntimeError):  # or its complaint would hide why the recording failed
                    graph.capture_end()
                raise
            graph.capture_end()
        return graph


def _told(subject: Classifier, said: Any, texts: Encoded) -> Told | None:
    return None if said is None else Told.of(subject, said, texts)
