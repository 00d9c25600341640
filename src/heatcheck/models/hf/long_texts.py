"""Which passes are computed by rows: those of long texts, and those that are compared with them.

Two kernels differ in the last digits. So everything that is computed within `one_kernel` for the same examples goes
through the same one, also a text that is short because most of its words were removed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.models.contract.subject import NO_EDITS, Site, Tap
from heatcheck.models.hf.kernel import LONG
from heatcheck.models.hf.taps import Pass, passing
from heatcheck.models.hf.trial import MADE_UP

BY_ROWS: ContextVar[bool] = ContextVar("heatcheck_by_rows", default=False)


@runtime_checkable
class Reads(Protocol):
    """What a trial needs of a transformer."""

    sites: tuple[Site, ...]
    network: Any

    def encode(self, examples: Sequence[Example]) -> Batch: ...
    def lengths(self, examples: Sequence[Example]) -> list[int]: ...
    def _ask(self, inputs: Mapping[str, Any]) -> Tensor: ...


@contextmanager
def by_rows_if_long(subject: Reads, examples: Sequence[Example]) -> Iterator[None]:
    """All passes within are computed by rows if one of these texts is long."""
    token = BY_ROWS.set(BY_ROWS.get() or max(subject.lengths(examples), default=0) > LONG)
    try:
        yield
    finally:
        BY_ROWS.reset(token)


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
            found.append(subject._ask(batch.inputs).float())
        if now.tried is not None and (len(now.tried) != len(subject.sites) or not all(now.tried)):
            return False
    precise = subject.network.dtype == torch.float32
    return torch.allclose(found[0], found[1], rtol=1e-3, atol=1e-4 if precise else 5e-2)
