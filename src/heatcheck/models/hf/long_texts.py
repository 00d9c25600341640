"""Which passes are computed by rows: those of long texts, and those that are compared with them.

Two kernels differ in the last digits. So a model that is asked about a long text reads in one way all that it is asked
about, also a text that is short because most of its words were removed (`Transformer.in_one_way`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.models.contract.subject import NO_EDITS, Site, Tap
from heatcheck.models.hf.taps import Pass, passing
from heatcheck.models.hf.trial import MADE_UP

ALL_WEIGHTS: ContextVar[bool] = ContextVar("heatcheck_all_weights", default=False)


@runtime_checkable
class Reads(Protocol):
    """What a trial needs of a transformer."""

    sites: tuple[Site, ...]

    def encode(self, examples: Sequence[Example]) -> Batch: ...
    def _ask(self, inputs: Mapping[str, Any]) -> Tensor: ...


@contextmanager
def with_all_weights() -> Iterator[None]:
    """All passes within compute all weights, whatever the length: for whoever changes how the softmax works."""
    token = ALL_WEIGHTS.set(True)
    try:
        yield
    finally:
        ALL_WEIGHTS.reset(token)


def rows_suffice(subject: Reads, start: Callable[..., Pass]) -> bool:
    """Whether every attention of the model is scaled products, a mask and a softmax: tried on two short texts.

    Each attention's own function and the two of kernel.py are given the same queries and keys, made so long that
    soft-capping, sinks or a bias would show.
    """
    padded = subject.encode(MADE_UP)
    alone = padded.take(padded.valid.sum(1).argmax()[None])
    try:
        return all(_agree(subject, start, batch) for batch in (padded, alone))
    except Exception:  # whatever a family raises that expects another mask
        return False


def _agree(subject: Reads, start: Callable[..., Pass], batch: Batch) -> bool:
    found = []
    for rows_only in (False, True):
        now = start(Tap(NO_EDITS, ()), rows_only=rows_only)
        now.tried = [] if rows_only else None
        with torch.no_grad(), passing(now):
            found.append(subject._ask(batch.inputs))
        if now.tried is not None and (len(now.tried) != len(subject.sites) or not all(now.tried)):
            return False
    precise = found[0].dtype in (torch.float32, torch.float64)
    return torch.allclose(found[0], found[1], rtol=1e-3, atol=1e-4 if precise else 5e-2)
