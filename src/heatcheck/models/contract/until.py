"""Forward passes that stop half-way, where the rest is not needed."""

from contextlib import suppress

from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models.contract.subject import NO_EDITS, Edits, Site, Subject


class _ReachedError(Exception):
    """The rest of a forward pass is not needed."""


def run_until(subject: Subject, batch: Batch, site: Site, *, edits: Edits = NO_EDITS) -> Tensor:
    """What passes a site, with these edits before it; nothing behind it is computed.

    >>> from heatcheck.models import load
    >>> from heatcheck.data import Example
    >>> subject = load("known:reader@planted_keyword")
    >>> run_until(subject, subject.encode([Example("a", "so dull")]), subject.sites[-1]).shape[0]
    1
    """
    held: list[Tensor] = []

    def stop(value: Tensor) -> Tensor:
        held.append(value)
        raise _ReachedError

    with suppress(_ReachedError):
        subject.run(batch, edits={**edits, site: stop})
    return held[0]
