"""Reads and replaces inner quantities of a transformer during its forward pass, through one attention function.

transformers looks its attention functions up by name. Ours is registered under NAME and calls the family's own eager
function, so that soft-capping, sinks, position biases and grouped queries stay right, and logits without edits are
eager's, bit for bit (but for linear.py). What is to be edited and taken out travels in a context variable: threads that
run different edits on one model do not meet.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from heatcheck.errors import NotSupported
from heatcheck.models.contract.subject import Part, Site, Tap

NAME = "heatcheck"
Use: TypeAlias = Literal["weights", "input", "state"]


class Pass:
    """One forward pass: its tap, the names of the model's modules, and how often each has been used so far.

    `taken_over` is the number of the last block whose output is given: neither it nor one before it is computed.
    `owner` is the subject that runs: one network may have several, such as one per prompt.
    """

    def __init__(self, tap: Tap, names: Mapping[int, str], taken_over: int = -1, owner: Any = None) -> None:
        self.tap = tap
        self.names = names
        self.taken_over = taken_over
        self.owner = owner
        self.wanted = {*tap.edits, *tap.want}
        self.used: Counter[tuple[str, Use]] = Counter()
        self.every_row: Tensor | None = None  # what a decoder's head says of each token

    def use(self, module: nn.Module, what: Use) -> str | None:
        """The module's name in this use of it, `path@1` the second time; None for a module of another model.

        An attention makes weights once and is entered and left once: these are counted apart.
        """
        path = self.names.get(id(module))
        if path is None:
            return None
        count = self.used[path, what]
        self.used[path, what] += 1
        return f"{path}@{count}" if count else path

    def send(self, part: Part, where: str, value: Tensor) -> Tensor:
        """Through the tap, where anybody asked for it."""
        site = Site(part, where)
        return self.tap(site, value) if site in self.wanted else value


ACTIVE: ContextVar[Pass | None] = ContextVar("heatcheck_pass", default=None)


@contextmanager
def passing(started: Pass) -> Iterator[None]:
    """The forward passes within are this one."""
    token = ACTIVE.set(started)
    try:
        yield
    finally:
        ACTIVE.reset(token)


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """What transformers calls in place of its own attention function."""
    plain = _eager_of(module)
    now = ACTIVE.get()
    where = None if now is None else now.use(module, "weights")
    if now is None or where is None:
        found: tuple[Tensor, Tensor | None] = plain(module, query, key, value, attention_mask, **options)
        return found
    now.tap.passed.append(Site("attention", where))
    heads = query.shape[1]
    query = now.send("query", where, query)
    key = _of_each_head(now, "key", where, key, heads)
    with _scores(now, where):
        out, own = plain(module, query, key, value, attention_mask, **options)
    if own is None:
        raise NotSupported(f"{type(module).__name__} returns no attention weights, so there is no heatmap.")
    weights = now.send("attention", where, own)
    used = value
    if Site("value", where) in now.wanted:
        used = now.send("value", where, spread(value, heads))
    changed = weights is not own or used is not value
    context = out.transpose(1, 2)  # [example head query feature]
    if changed:
        context = torch.matmul(weights.to(used.dtype), spread(used, heads))
    given = now.send("context", where, context)
    if changed or given is not context:
        out = given.transpose(1, 2).contiguous()
    return out, weights


def spread(grouped: Tensor, heads: int) -> Tensor:
    """Keys or values that several heads share, once for each head."""
    return grouped if grouped.shape[1] == heads else grouped.repeat_interleave(heads // grouped.shape[1], dim=1)


def _eager_of(module: nn.Module) -> Callable[..., Any]:
    """The family's own eager function."""
    for kind in type(module).__mro__:
        found = getattr(sys.modules[kind.__module__], "eager_attention_forward", None)
        if found is not None:
            eager: Callable[..., Any] = found
            return eager
    raise NotSupported(
        f"{type(module).__name__} has no eager attention function, so heatcheck cannot read its weights."
    )


def _of_each_head(now: Pass, part: Part, where: str, own: Tensor, heads: int) -> Tensor:
    """Keys are shown a head each; where heads share them they cannot be edited, for one edit would be another's too."""
    if Site(part, where) not in now.wanted:
        return own
    shown = spread(own, heads)
    given = now.send(part, where, shown)
    if given is shown:
        return own
    if shown is not own:
        raise NotSupported(
            f"several heads share the {part}s at {where}, so one head's cannot be edited: edit its scores instead."
        )
    return given


class _MeetsSoftmax(TorchFunctionMode):
    """Sends what goes into the first softmax through the tap: the masked scores."""

    def __init__(self, now: Pass, where: str) -> None:
        super().__init__()
        self.now, self.where, self.met = now, where, False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.softmax, Tensor.softmax, nn.functional.softmax) and not self.met:
            self.met = True
            args = (self.now.send("score", self.where, args[0]), *args[1:])
        return func(*args, **(kwargs or {}))


@contextmanager
def _scores(now: Pass, where: str) -> Iterator[None]:
    if Site("score", where) not in now.wanted:
        yield
        return
    with _MeetsSoftmax(now, where):
        yield


def make_mask(*given: Any, **named: Any) -> Tensor | None:
    """The family's eager mask; on a GPU without the look at whether one is needed, which waits for all work before."""
    if torch.device(named.get("device", "cpu")).type != "cpu":
        named["allow_is_bidirectional_skip"] = False
    mask: Tensor | None = eager_mask(*given, **named)
    return mask


AttentionInterface.register(NAME, attend)
# Without its mask under the same name a model would see padding and, where it should not, the future.
AttentionMaskInterface.register(NAME, make_mask)
