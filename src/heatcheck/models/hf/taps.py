"""Reads and replaces inner quantities of a transformer during its forward pass, through one attention function.

transformers looks its attention functions up by name. Ours is registered under NAME and calls the family's own eager
function, so that soft-capping, sinks, position biases and grouped queries stay right, and logits without edits are
eager's, bit for bit (but for linear.py). A pass over a long text (`rows_only`) goes through PyTorch's own kernel, which
holds no weights, and spells out the rows that were asked for (kernel.py). What is to be edited and taken out travels in
a context variable: threads that run different edits on one model do not meet.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

from heatcheck.errors import BadInput, NotSupported
from heatcheck.models.contract.edits import ByGroup
from heatcheck.models.contract.rows import along
from heatcheck.models.contract.subject import Part, Site, Tap
from heatcheck.models.hf.joined import Call, beside, hidden_keys, is_merged, is_twice, mark_twice
from heatcheck.models.hf.kernel import (
    Asked,
    Seen,
    additive,
    agrees,
    asked_rows,
    output,
    rows_of_scores,
    spread,
    weights_of,
)

NAME = "heatcheck"
Use: TypeAlias = Literal["weights", "input", "state"]
_OF_KEYS: tuple[Part, ...] = ("key", "score", "attention", "value")


class Pass:
    """One forward pass: its tap, the names of the model's modules, and how often each has been used so far.

    `taken_over` is the number of the last block whose output is given: neither it nor one before it is computed.
    `owner` is the subject that runs: one network may have several, such as one per prompt. `rows_only` passes compute
    the rows of weights that are wanted and no others, wherever nobody wants all.
    """

    def __init__(
        self, tap: Tap, names: Mapping[int, str], taken_over: int = -1, owner: Any = None, *, rows_only: bool = False
    ) -> None:
        self.tap = tap
        self.names = names
        self.taken_over = taken_over
        self.owner = owner
        self.rows_only = rows_only
        self.wanted = {*tap.edits, *tap.want}
        self.used: Counter[tuple[str, Use]] = Counter()
        self.tried: list[bool] | None = None  # whether each attention is what kernel.py computes, if that is asked
        self.every_row: Tensor | None = None  # what a decoder's head says of each token
        self.valid: Tensor | None = None  # the mask of the tokens, where a head has to be told
        self.looked_up: tuple[Tensor, Tensor, Tensor] | None = None  # ids, their vectors, and those that are used
        self.last: Call | None = None  # the last call of an attention function, for one that makes the same weights

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

    def have(self, site: Site, rows: Tensor) -> None:
        """Keep what was asked for, which is found as it was asked for."""
        self.tap.passed.append(site)
        if site in self.tap.want:
            self.tap.parts[site] = rows

    def wants(self, where: str, parts: tuple[Part, ...]) -> bool:
        """Whether anybody asked for one of these parts of an attention."""
        return any(Site(part, where) in self.wanted for part in parts)

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
    if now is not None and now.last is not None and now.last.same(module, query, key):
        if is_twice(module):
            return _attend_again(now, now.last, partial(plain, module, query, key), value, attention_mask, options)
        mark_twice(module)  # when the model is loaded; as two maps this once
    where = None if now is None else now.use(module, "weights")
    if now is None or where is None:
        found: tuple[Tensor, Tensor | None] = plain(module, query, key, value, attention_mask, **options)
        return found
    now.tap.passed.append(Site("attention", where))
    now.last = Call(module, query, key, where, value)
    heads, hidden = query.shape[1], hidden_keys(module, query) if now.wants(where, _OF_KEYS) else 0
    query = now.send("query", where, query)
    key = beside(hidden, 2, key, partial(_keys, now, where, heads=heads))
    if now.rows_only:
        seen = Seen(attention_mask, _is_causal(module, query, attention_mask, options))
        simple = not is_merged(module) and not is_twice(module)
        if now.tried is not None:
            now.tried.append(simple and agrees(partial(plain, module, **options), (query, key, value), seen, options))
        if simple and (asked := asked_rows(now.tap, where)) is not None:
            values = spread(_values(now, where, value, heads), heads)
            scaling = options.get("scaling")
            return _attend_by_rows(now, where, (query, spread(key, heads), values), seen, asked, scaling), None
        attention_mask = additive(seen, query, key)
    with _scores(now, where, hidden, key.shape[2]):
        out, own = plain(module, query, key, value, attention_mask, **options)
    if own is None:
        raise NotSupported(f"{type(module).__name__} returns no attention weights, so there is no heatmap.")
    weights = beside(hidden, 3, own, partial(now.send, "attention", where))
    if is_twice(module):
        now.last = now.last._replace(weights=weights, out=out)
        return out, weights
    used = beside(hidden, 2, value, partial(_values, now, where, heads=heads))
    changed = weights is not own or used is not value
    context = out.transpose(1, 2)  # [example head query feature]
    if changed:
        context = torch.matmul(weights.to(used.dtype), spread(used, heads))
    given = now.send("context", where, context)
    # Where it is asked for, what goes on is made from it: a slope at the context is then that of the whole model.
    if changed or Site("context", where) in now.wanted:
        out = given.transpose(1, 2).contiguous()
    return out, weights


def _attend_again(
    now: Pass, first: Call, plain: Callable[..., Any], value: Tensor, mask: Tensor | None, options: Mapping[str, Any]
) -> tuple[Tensor, Tensor | None]:
    """The second call with the same weights: only now are all values known, and what the first gave can be changed."""
    weights, out, where = first.weights, first.out, first.where
    assert weights is not None
    assert out is not None
    if not now.wants(where, (*_OF_KEYS, "query", "context")):
        found: tuple[Tensor, Tensor | None] = plain(value, mask, **options)
        return found
    values = _values(now, where, torch.cat([first.value, value], -1), weights.shape[1])
    context = torch.matmul(weights.to(values.dtype), spread(values, weights.shape[1]))
    given = now.send("context", where, context).transpose(1, 2)
    out.copy_(given[..., : out.shape[-1]])  # the module holds it already, and has not used it yet
    return given[..., out.shape[-1] :].contiguous(), weights


def _attend_by_rows(
    now: Pass, where: str, parts: tuple[Tensor, Tensor, Tensor], seen: Seen, asked: Asked, scaling: float | None
) -> Tensor:
    """What the attention gives on, [example query head feature], with these rows of its weights and no others."""
    query, key, value = parts
    context = output(query, key, value, seen, scaling)
    if asked.queries is not None:
        scores = rows_of_scores(query, key, seen, asked.queries, scaling)
        rows = weights_of(scores)
        if asked.edit is not None:
            rows = asked.edit.change(rows)
            again = torch.matmul(rows.to(value.dtype), value)
            context = context.scatter(2, along(asked.queries, context), again)
        now.have(Site("score", where), scores)
        now.have(Site("attention", where), rows)
    return now.send("context", where, context).transpose(1, 2).contiguous()


def _is_causal(module: nn.Module, query: Tensor, mask: Tensor | None, options: Mapping[str, Any]) -> bool:
    """Whether a mask that was left out stands for "no later tokens", as transformers tells its own kernels."""
    said = options.get("is_causal")
    causal = getattr(module, "is_causal", True) if said is None else said
    return bool(causal) and mask is None and query.shape[2] > 1


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


def _keys(now: Pass, where: str, own: Tensor, heads: int) -> Tensor:
    """Keys are shown a head each. Where heads share them, an edit must be the same for all heads of a group."""
    if Site("key", where) not in now.wanted:
        return own
    grouped, shown = _by_group(now, "key", where, own), spread(own, heads)
    if grouped is not None:
        now.tap.passed.append(Site("key", where))
        now.tap.keep(Site("key", where), spread(grouped, heads))
        return grouped
    given = now.send("key", where, shown)
    if given is shown:
        return own
    if shown is own:
        return given
    of_group = given.reshape(len(given), own.shape[1], -1, *given.shape[2:])
    if not torch.equal(of_group, of_group[:, :, :1].expand_as(of_group)):
        raise NotSupported(
            f"several heads share the keys at {where}, so one head's cannot be edited: edit its scores instead, or the "
            "keys of the whole group."
        )
    return of_group[:, :, 0]


def _values(now: Pass, where: str, own: Tensor, heads: int) -> Tensor:
    """Values are shown and edited a head each; or a group each, if the edit says so."""
    if Site("value", where) not in now.wanted:
        return own
    grouped = _by_group(now, "value", where, own)
    if grouped is None:
        return now.send("value", where, spread(own, heads))
    now.tap.passed.append(Site("value", where))
    now.tap.keep(Site("value", where), found := spread(grouped, heads))
    return found


def _by_group(now: Pass, part: Part, where: str, own: Tensor) -> Tensor | None:
    """The shared keys or values as an edit of theirs leaves them; None without an edit, or with one of each head."""
    edit = now.tap.edits.get(Site(part, where))
    if isinstance(edit, Tensor) and edit.shape == own.shape:
        return edit.to(own)
    if not isinstance(edit, ByGroup):
        return None
    found = edit(own)
    if found.shape != own.shape:
        raise BadInput(
            f"the edit of the {part}s at {where} has shape {tuple(found.shape)}, but a group's have shape "
            f"{tuple(own.shape)}."
        )
    return found


class _MeetsSoftmax(TorchFunctionMode):
    """Sends what goes into the first softmax through the tap: the masked scores of the keys that are shown.

    A sink's score is not, nor are those of a decoder's own tokens beside the encoder's.
    """

    def __init__(self, now: Pass, where: str, hidden: int, keys: int) -> None:
        super().__init__()
        self.now, self.where, self.hidden, self.keys, self.met = now, where, hidden, keys, False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.softmax, Tensor.softmax, nn.functional.softmax) and not self.met:
            self.met = True
            own, sinks = args[0][..., : self.keys], args[0][..., self.keys :]
            scores = beside(self.hidden, 3, own, partial(self.now.send, "score", self.where))
            args = (torch.cat([scores, sinks], -1) if sinks.shape[-1] else scores, *args[1:])
        return func(*args, **(kwargs or {}))


@contextmanager
def _scores(now: Pass, where: str, hidden: int, keys: int) -> Iterator[None]:
    if Site("score", where) not in now.wanted:
        yield
        return
    with _MeetsSoftmax(now, where, hidden, keys):
        yield


def make_mask(*given: Any, **named: Any) -> Tensor | None:
    """The family's eager mask; of a long text one of true and false, left out where it is plainly causal.

    On a GPU there is no look at whether an eager one is needed, which waits for all work before.
    """
    now = ACTIVE.get()
    if now is not None and now.rows_only:
        found: Tensor | None = sdpa_mask(*given, **named)
        return found
    if torch.device(named.get("device", "cpu")).type != "cpu":
        named["allow_is_bidirectional_skip"] = False
    mask: Tensor | None = eager_mask(*given, **named)
    return mask


AttentionInterface.register(NAME, attend)
# Without its mask under the same name a model would see padding and, where it should not, the future.
AttentionMaskInterface.register(NAME, make_mask)
