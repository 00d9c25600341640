"""Reads and replaces attention in families that spell it out themselves instead of looking a function up by name.

While such an attention runs, a `TorchFunctionMode` meets its softmax and then follows the weights (through dropout,
casts and reshapes) to the product with the values, whose result is the context. Queries and keys are not met. The mode
is on only within the attention's own forward pass, and only if somebody asked for one of its parts.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from heatcheck.errors import NotSupported
from heatcheck.models.contract.dot_product import masked_scores, weights_of_scores
from heatcheck.models.contract.subject import Part, Site
from heatcheck.models.hf.hooks import first_time
from heatcheck.models.hf.taps import ACTIVE, Pass

SOFTMAX: set[Any] = {torch.softmax, Tensor.softmax, functional.softmax, torch.special.softmax}
_PRODUCT: set[Any] = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}
_MET: tuple[Part, ...] = ("attention", "score", "value", "context")
_NOT_MET: tuple[Part, ...] = ("query", "key")


def find_attentions(network: nn.Module, ask: Callable[[], object]) -> dict[str, bool]:
    """Paths of the modules that make attention weights by themselves, in the order of a pass; True: in one kernel."""
    at_work: list[str] = []
    found: dict[str, bool] = {}

    def meet(func: Any, args: Any, kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if at_work and (func in SOFTMAX or func is functional.scaled_dot_product_attention):
            path = _with_parameters(network, at_work[-1])
            if func not in SOFTMAX or _makes_weights(args, kwargs, _heads(network.get_submodule(path))):
                found.setdefault(path, func not in SOFTMAX)
        return result

    with _at_work(network, at_work), _Calls(meet):
        ask()
    return found


def meet_attentions(network: nn.Module, found: Mapping[str, bool]) -> None:
    """From now on a pass of heatcheck's sees the weights that these modules make."""
    for path, kernel in found.items():
        module = network.get_submodule(path)
        if first_time(module, "met"):
            module.forward = partial(_through_attention, module, module.forward, kernel)


def _through_attention(module: nn.Module, forward: Callable[..., Any], kernel: bool, *given: Any, **named: Any) -> Any:
    """A kernel is spelled out in every pass, so that passes that are compared round alike."""
    now = ACTIVE.get()
    where = None if now is None else now.use(module, "weights")
    if now is None or where is None:
        return forward(*given, **named)
    now.tap.passed.append(Site("attention", where))
    require_met(now, where, module)
    if not kernel and not any(Site(part, where) in now.wanted for part in _MET):
        return forward(*given, **named)
    meeting = _Meeting(now, where, _heads(module))
    with _Calls(meeting):
        found = forward(*given, **named)
    if not meeting.done:
        raise NotSupported(
            f"{type(module).__name__} does not multiply its attention weights with values in a way that heatcheck "
            "knows."
        )
    return found


def require_met(now: Pass, where: str, module: nn.Module) -> None:
    """Refuse a pass that asks for queries or keys."""
    hidden = next((part for part in _NOT_MET if Site(part, where) in now.wanted), None)
    if hidden is not None:
        raise NotSupported(
            f"{type(module).__name__} computes its attention by itself, so heatcheck does not see the {hidden} at "
            f"{where}. Use score, attention, value or context."
        )


class _Meeting:
    """One attention at work: sends scores, weights, values and context through the tap as they are made."""

    def __init__(self, now: Pass, where: str, heads: int) -> None:
        self.now, self.where, self.heads = now, where, heads
        self.weights: Tensor | None = None  # as the module has them now
        self.size: tuple[int, int] = (0, 0)  # examples, heads
        self.own: Tensor | None = None  # as they were made
        self.sent: Tensor | None = None  # as they left the tap
        self.done = False

    def __call__(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self.done:
            return self._again(func, args, kwargs)
        if func is functional.scaled_dot_product_attention:
            return self._dot_product(*args, **kwargs)
        if self.weights is None:
            return self._softmax(func, args, kwargs) if func in SOFTMAX else func(*args, **kwargs)
        mine = self.weights
        if func is torch.einsum and any(one is mine for one in _operands(args)):
            return self._einsum(args[0], *_operands(args))
        if not any(one is mine for one in args):
            return func(*args, **kwargs)
        if func in _PRODUCT and args[0] is mine:
            return self._product(func, mine, args[1])
        result = func(*args, **kwargs)
        if isinstance(result, Tensor) and result.numel() == mine.numel() and result.is_floating_point():
            self.weights = result  # after dropout, a cast, another shape
        return result

    def _again(self, func: Any, args: Any, kwargs: Any) -> Any:
        """LiLT weighs two streams by one map, which it computes twice: the second is the first as it was edited."""
        result = func(*args, **kwargs)
        if func not in SOFTMAX or self.own is None or result.shape != self.own.shape:
            return result
        if not torch.allclose(result, self.own, atol=1e-6):
            return result
        self.weights, self.done = self.sent, False
        return self.sent

    def _softmax(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not _makes_weights(args, kwargs, self.heads):
            return func(*args, **kwargs)
        own = args[0]
        apart = own if own.ndim == 4 else own.reshape(-1, self.heads, *own.shape[1:])
        self.size = (apart.shape[0], apart.shape[1])
        scores = self.now.send("score", self.where, apart)
        made = func(own if scores is apart else scores.reshape(own.shape), *args[1:], **kwargs)
        shown = made.reshape(apart.shape)
        weights = self.now.send("attention", self.where, shown)
        # An edit may have kept what it was given, to differentiate by it: the answer must come from that very one.
        self.own, self.sent = made, weights.reshape(own.shape).contiguous()
        self.weights = self.sent
        return self.sent

    def _product(self, func: Any, weights: Tensor, values: Tensor) -> Tensor:
        shown = self._by_head(values)
        used = self.now.send("value", self.where, shown)
        if used is not shown:
            values = used if weights.ndim == 4 else used.flatten(0, 1)
        own: Tensor = func(weights, values)
        self.done = True
        return self.now.send("context", self.where, self._by_head(own)).reshape(own.shape)

    def _by_head(self, made: Tensor) -> Tensor:
        """[example head token feature], also where several heads share it or it comes as [example·head …]."""
        examples, heads = self.size
        whole = made if made.ndim == 4 else made.reshape(examples, -1, *made.shape[1:])
        return whole if whole.shape[1] == heads else whole.expand(-1, heads, -1, -1)

    def _einsum(self, equation: str, weights: Tensor, values: Tensor) -> Tensor:
        """XLNet and Funnel: letters say how values and context lie."""
        inputs, _, result = equation.replace(" ", "").partition("->")
        of_weights, of_values = inputs.split(",")
        example, head, query, key = list(of_weights)
        (feature,) = set(of_values) - set(of_weights)
        by_head = f"{example}{head}{key}{feature}"
        shown = torch.einsum(f"{of_values}->{by_head}", values)
        used = self.now.send("value", self.where, shown)
        context = torch.einsum(f"{of_weights},{by_head}->{example}{head}{query}{feature}", weights, used)
        given = self.now.send("context", self.where, context)
        self.done = True
        return torch.einsum(f"{example}{head}{query}{feature}->{result}", given)

    def _dot_product(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """`scaled_dot_product_attention` as its documentation spells it out."""
        self.size = (query.shape[0], query.shape[1])
        if enable_gqa:
            key, value = (part.repeat_interleave(query.shape[1] // part.shape[1], 1) for part in (key, value))
        scores = self.now.send("score", self.where, masked_scores(query, key, attn_mask, is_causal, scale))
        weights = self.now.send("attention", self.where, weights_of_scores(scores))
        return self._product(torch.matmul, functional.dropout(weights, dropout_p), value)


class _Calls(TorchFunctionMode):
    """Hands every call of a torch function to somebody; it is off meanwhile."""

    def __init__(self, meet: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()
        self.meet = meet

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.meet(func, args, kwargs or {})


def _makes_weights(args: Any, kwargs: Mapping[str, Any], heads: int) -> bool:
    """A row of weights per example, head and query: routers and kernels of convolutions have other shapes."""
    return _over_last(args, kwargs) and (args[0].ndim == 4 or (args[0].ndim == 3 and heads > 0))


def _heads(module: nn.Module) -> int:
    """How many heads a module says that it has; 0 if it does not say."""
    names = ("num_heads", "n_heads", "num_attention_heads")
    return next((said for name in names if isinstance(said := getattr(module, name, None), int)), 0)


def _over_last(args: Any, kwargs: Mapping[str, Any]) -> bool:
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    return bool(args) and dim in (-1, args[0].ndim - 1)


def _operands(args: Any) -> tuple[Any, ...]:
    given = args[1:]
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], tuple | list) else tuple(given)


def _with_parameters(network: nn.Module, path: str) -> str:
    """The module, or what it is a part of: an `nn.Softmax` knows nothing of values."""
    while path and next(network.get_submodule(path).parameters(), None) is None:
        path = path.rpartition(".")[0]
    return path


@contextmanager
def _at_work(network: nn.Module, stack: list[str]) -> Iterator[None]:
    """Within, the stack holds the paths of the modules that run, the innermost last."""

    def enter(path: str, *_: Any) -> None:
        stack.append(path)

    def leave(*_: Any) -> None:
        stack.pop()

    hooks = []
    for path, module in network.named_modules():
        hooks.append(module.register_forward_pre_hook(partial(enter, path)))
        hooks.append(module.register_forward_hook(leave, always_call=True))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
