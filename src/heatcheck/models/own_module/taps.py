"""Reads and replaces inner quantities of a user's own module, such as attention weights, during its forward pass.

Nothing in the module is replaced. While a pass runs, a `TorchFunctionMode` stands in for the functions that compute
attention weights (`softmax`, `scaled_dot_product_attention`, `multi_head_attention_forward`), and hooks tell which
module is running; both are removed when no pass runs. The mode belongs to its thread and the pass travels in a context
variable, so threads can run different edits on one module. Under a mode torch takes none of its fused fast paths.
"""

import inspect
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import RemovableHandle

from heatcheck.errors import NotSupported
from heatcheck.models.contract.arguments import first_tensor, with_first_tensor
from heatcheck.models.contract.dot_product import masked_scores, weights_of_scores
from heatcheck.models.contract.subject import Part, Site, Tap
from heatcheck.models.own_module.weight_axes import Axes

SOFTMAX, SDPA, MULTI_HEAD, OUTPUT = "softmax", "scaled_dot_product_attention", "MultiheadAttention", "output"
_MAKES_WEIGHTS: dict[Any, str] = {
    torch.softmax: SOFTMAX,
    Tensor.softmax: SOFTMAX,
    functional.softmax: SOFTMAX,
    torch.special.softmax: SOFTMAX,
    functional.scaled_dot_product_attention: SDPA,
    functional.multi_head_attention_forward: MULTI_HEAD,
}
_OF_WEIGHTS: tuple[Part, ...] = ("attention", "score")
_FUSED = {torch._native_multi_head_attention, torch._transformer_encoder_layer_fwd}  # no weights ever exist in these


class Memory:
    """What a pass computed before it came to `until`, so that passes that differ from there on need not.

    Calls of torch functions come in the same order every time, so the n-th result stands for the n-th call.
    """

    def __init__(self, until: str) -> None:
        self.until = until
        self.results: list[Any] = []
        self._versions: list[int] | None = None

    @property
    def usable(self) -> bool:
        """Complete, and nothing in it was written over since."""
        return self._versions is not None and self._versions == self._written()

    def close(self) -> None:
        self._versions = self._written()

    def _written(self) -> list[int]:
        return [part._version for result in self.results for part in _tensors(result)]


class Pass:
    """One forward pass: its tap, what module is at work, and how often each has been used so far.

    Args:
        axes: for each place that makes weights, its name as a site and how its weights lie.
        takes: which of the things a module returns are its weights, for modules that hand them out.
    """

    def __init__(
        self,
        tap: Tap,
        *,
        axes: Mapping[str, tuple[str, Axes]],
        takes: Mapping[str, int | None],
        embedding: str | None,
        examples: int,
        memory: Memory | None = None,
    ) -> None:
        self.tap, self.axes, self.takes, self.embedding, self.examples = tap, axes, takes, embedding, examples
        self.asked = {*tap.edits, *tap.want}
        self.at_work = [""]
        self.memory = memory
        self.remembers = memory is not None and memory.usable
        self.arrived = memory is None
        self.replayed = 0
        self._used: Counter[tuple[str, str]] = Counter()

    def use(self, path: str, what: str) -> str:
        """The path in this use of it: `path@1` the second time."""
        count = self._used[path, what]
        self._used[path, what] += 1
        return f"{path}@{count}" if count else path

    def send(self, part: Part, where: str, value: Tensor) -> Tensor:
        """Through the tap, where anybody asked for it."""
        site = Site(part, where)
        return self.tap(site, value) if site in self.asked else value

    def makes_weights(self, key: str, kind: str) -> bool:
        """Whether the weights at this place are wanted: only then must they be spelled out."""
        where = self.axes[key][0] if key in self.axes else None
        return where is not None and any(Site(part, where) in self.asked for part in _OF_WEIGHTS)

    def scores(self, key: str, own: Tensor) -> Tensor:
        """What goes into the softmax at a place, masked, on its way through the tap."""
        where, axes = self.axes.get(key, ("", None))
        if axes is None or Site("score", where) not in self.asked:
            return own
        shown = axes.shown(own, self.examples)
        used = self.send("score", where, shown)
        return own if used is shown else axes.hidden(used, own)

    def weights(self, key: str, kind: str, own: Tensor, over: int) -> Tensor:
        """The weights made at a place, which sum to 1 over that axis, on their way through the tap."""
        if not self.makes_weights(key, kind):
            return own
        where, axes = self.axes[key]
        shown = axes.shown(own, self.examples)
        used = self.send("attention", where, shown)
        # An edit may have kept what it was given, to differentiate by it: then the answer must come from that very one.
        return axes.hidden(used, own) if used is not shown or Site("attention", where) in self.tap.edits else own

    def arrive(self, key: str) -> None:
        """What comes before the place that a memory ends at is over."""
        if self.memory is not None and not self.arrived and key == self.memory.until:
            self.arrived = True
            if not self.remembers:
                self.memory.close()

    def returned(self, path: str, found: Any) -> Any:
        """What a module gave, on its way through the tap."""
        key = self.use(path, "weights given")
        if path in self.takes:
            self.arrive(key)
            found = _exchange(found, self.takes[path], lambda own: self.weights(key, OUTPUT, own, -1))
        if path == self.embedding:
            found = _exchange(found, None, lambda own: self.send("embedding", "", own))
        where = self.use(path, "states")
        return _exchange(found, 0 if isinstance(found, tuple) else None, lambda own: self.send("state", where, own))


def _exchange(found: Any, place: int | None, change: Any) -> Any:
    """One tensor of what a module returned changed; None: it returned that tensor alone."""
    own = found if place is None else found[place] if place < len(found) else None
    if not isinstance(own, Tensor):
        return found
    new = change(own)
    if new is own:
        return found
    if place is None:
        return new
    parts = [*found[:place], new, *found[place + 1 :]]
    return found._make(parts) if hasattr(found, "_make") else type(found)(parts)


ACTIVE: ContextVar[Pass | None] = ContextVar("heatcheck_own_module", default=None)


class Interception:
    """Hooks on a module that are there while a pass of it runs, in whatever thread, and not otherwise."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._running = 0
        self._lock = threading.Lock()
        self._hooks: list[RemovableHandle] = []

    def __reduce__(self) -> tuple[type["Interception"], tuple[nn.Module]]:
        """In another process no pass runs yet."""
        return Interception, (self._module,)

    @contextmanager
    def passing(self, started: Pass) -> Iterator[None]:
        """The forward pass within is this one."""
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._hook()
        token = ACTIVE.set(started)
        try:
            with _Spelled(started):
                yield
        finally:
            ACTIVE.reset(token)
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    for hook in self._hooks:
                        hook.remove()
                    self._hooks = []

    def _hook(self) -> None:
        for path, module in self._module.named_modules():
            self._hooks += [
                module.register_forward_pre_hook(_entering(path), with_kwargs=True),
                module.register_forward_hook(_leaving(path)),
            ]


def _entering(path: str) -> Any:
    def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        now = ACTIVE.get()
        if now is None:
            return None
        now.at_work.append(path)
        own = first_tensor(given, named)
        if own is None:
            return None
        used = now.send("input", now.use(path, "inputs"), own)
        return None if used is own else with_first_tensor(given, named, used)

    return hook


def _leaving(path: str) -> Any:
    def hook(_: nn.Module, __: Any, found: Any) -> Any:
        now = ACTIVE.get()
        if now is None:
            return None
        now.at_work.pop()
        return now.returned(path, found)

    return hook


class _Spelled(TorchFunctionMode):
    """Meets every call of a torch function. It is off while it answers one."""

    def __init__(self, now: Pass) -> None:
        super().__init__()
        self.now = now

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        now, kwargs = self.now, kwargs or {}
        if func in _FUSED:
            raise NotSupported(
                f"{now.at_work[-1] or 'the module'} calls a fused attention function that does not expose its "
                "weights. Use softmax, scaled_dot_product_attention or nn.MultiheadAttention instead."
            )
        kind = _MAKES_WEIGHTS.get(func)
        key = "" if kind is None else now.use(now.at_work[-1], "weights")
        if kind is not None:
            now.arrive(key)
        if now.memory is not None and not now.arrived and now.remembers:
            now.replayed += 1
            return now.memory.results[now.replayed - 1]
        result = func(*args, **kwargs) if kind is None else self._weights(func, kind, key, args, kwargs)
        if now.memory is not None and not now.arrived:
            now.memory.results.append(result)
        return result

    def _weights(self, func: Any, kind: str, key: str, args: Any, kwargs: Any) -> Any:
        now = self.now
        if not now.makes_weights(key, kind):
            return func(*args, **kwargs)
        if kind == SDPA:
            return _dot_product(now, key, *args, **kwargs)
        if kind == MULTI_HEAD:
            return _multi_head(now, key, *args, **kwargs)
        scores = first_tensor(args, kwargs)
        assert scores is not None
        args, kwargs = with_first_tensor(args, kwargs, now.scores(key, scores))
        own = func(*args, **kwargs)
        over = kwargs["dim"] if "dim" in kwargs else args[1]
        return now.weights(key, kind, own, over)


def _dot_product(
    now: Pass,
    key: str,
    query: Tensor,
    keys: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`scaled_dot_product_attention` as its documentation spells it out; a query that may see nothing sees zero."""
    if enable_gqa:
        keys, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], -3) for part in (keys, value))
    own = weights_of_scores(now.scores(key, masked_scores(query, keys, attn_mask, is_causal, scale)))
    return functional.dropout(now.weights(key, SDPA, own, -1), dropout_p) @ value


def _multi_head(now: Pass, key: str, *given: Any, **named: Any) -> tuple[Tensor, Tensor | None]:
    """`multi_head_attention_forward` spelled out: a softmax of each head's scaled products, on values of that head.

    It takes [token example feature], or [token feature] for one text.
    """
    all_of = _MULTI_HEAD_SIGNATURE.bind(*given, **named)
    all_of.apply_defaults()
    options = all_of.arguments
    if options["bias_k"] is not None or options["add_zero_attn"] or options["static_k"] is not None:
        raise NotSupported(
            f"the attention at {key!r} has keys that are not tokens (add_bias_kv or add_zero_attn): heatcheck does "
            "not support that."
        )
    inputs = [options[part] for part in ("query", "key", "value")]
    alone = inputs[0].ndim == 2
    inputs = [part.unsqueeze(1) for part in inputs] if alone else inputs
    if options["use_separate_proj_weight"]:
        weights = [options[f"{part}_proj_weight"] for part in "qkv"]
    else:
        weights = list(options["in_proj_weight"].chunk(3))
    bias = options["in_proj_bias"]
    biases = [None] * 3 if bias is None else list(bias.chunk(3))
    query, keys, value = (  # [example head token feature]
        functional.linear(*parts).reshape(*parts[0].shape[:2], options["num_heads"], -1).permute(1, 2, 0, 3)
        for parts in zip(inputs, weights, biases, strict=True)
    )
    scores = query @ keys.transpose(-2, -1) * query.shape[-1] ** -0.5
    seen = options["attn_mask"]
    if seen is not None:
        scores = _ruled_out(scores, seen.reshape(scores.shape) if seen.ndim == 3 else seen)
    padding = options["key_padding_mask"]
    if padding is not None:
        scores = _ruled_out(scores, padding.reshape(scores.shape[0], 1, 1, -1))
    used = now.weights(key, MULTI_HEAD, now.scores(key, scores).softmax(-1), -1)
    kept = functional.dropout(used, options["dropout_p"], options["training"])
    out = functional.linear(
        (kept @ value).permute(2, 0, 1, 3).flatten(2), options["out_proj_weight"], options["out_proj_bias"]
    )
    shown = used.mean(1) if options["average_attn_weights"] else used
    if alone:
        out, shown = out.squeeze(1), shown.squeeze(0)
    return out, shown if options["need_weights"] else None


_MULTI_HEAD_SIGNATURE = inspect.signature(functional.multi_head_attention_forward)


def _ruled_out(scores: Tensor, mask: Tensor) -> Tensor:
    """True, or a large negative number: not to be seen."""
    return scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


def _tensors(found: Any) -> Iterator[Tensor]:
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, tuple | list):
        for part in found:
            yield from _tensors(part)
