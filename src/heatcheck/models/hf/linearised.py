"""A transformer whose backward pass is linear in the embeddings, so that gradients say exactly what each token adds.

Within `linearised`, attention weights, the norms' scales and the activations' slopes act(z)/z are constants of the
backward pass; a product of two branches (gated MLPs) gives half of its gradient to each. The forward pass is what it
was, bit for bit. A gradient is then exactly what a token adds: e · dy/de summed over tokens is y, less what biases add.

Modules are wrapped once; whether a pass is linearised travels in a context variable, so that threads do not meet.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from heatcheck.models.hf.blocks import Bend, bends, read_norm
from heatcheck.models.hf.transformer import Transformer

_LINEAR: ContextVar[bool] = ContextVar("heatcheck_linear", default=False)
_INSTALLING = threading.Lock()


@contextmanager
def linearised(subject: Transformer) -> Iterator[None]:
    """Forward passes within have the backward pass of the linear network that they are an instance of."""
    _install(subject)
    token = _LINEAR.set(True)
    try:
        yield
    finally:
        _LINEAR.reset(token)


def _install(subject: Transformer) -> None:
    with _INSTALLING:
        for path, bend in bends(subject).items():
            module = subject.network.get_submodule(path)
            if not _installed(module):
                how = partial(_norm, module) if bend == "norm" else _HOW[bend]
                module.forward = partial(_forward, how, module.forward)


def _installed(module: nn.Module) -> bool:
    return isinstance(module.forward, partial) and module.forward.func is _forward


def _forward(how: Callable[..., Any], forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return how(forward, *given, **named) if _LINEAR.get() else forward(*given, **named)


def _straightened(value: Tensor, linear: Tensor) -> Tensor:
    """This value, with the gradient of that expression."""
    return value.detach() + (linear - linear.detach())


def _attention(forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    def constant(softmax: Callable[..., Tensor], *inputs: Any, **options: Any) -> Tensor:
        return softmax(*inputs, **options).detach()

    with _Instead({torch.softmax, Tensor.softmax, nn.functional.softmax}, constant):
        return forward(*given, **named)


def _norm(module: nn.Module, forward: Callable[..., Tensor], states: Tensor) -> Tensor:
    norm = read_norm(module)
    if norm is None:
        return forward(states)
    return _straightened(forward(states), norm.linear(states) / norm.scale(states).detach())


def _activation(forward: Callable[..., Tensor], inputs: Tensor) -> Tensor:
    value = forward(inputs).detach()
    slope = torch.where(inputs == 0, 0.0, value / inputs).detach()  # at 0 there is nothing to pass on
    return _straightened(value, slope * inputs)


def _product(forward: Callable[..., Tensor], product: Tensor) -> Tensor:
    return forward(_straightened(product, product / 2))


def _tanh(forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    with _Instead({torch.tanh, Tensor.tanh}, _activation):
        return forward(*given, **named)


class _Instead(TorchFunctionMode):
    """Within it, something else is done where one of these functions is called; that gets the function first."""

    def __init__(self, functions: set[Callable[..., Any]], instead: Callable[..., Any]) -> None:
        super().__init__()
        self.functions, self.instead = functions, instead

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.functions:
            return self.instead(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


_HOW: dict[Bend, Callable[..., Any]] = {
    "attention": _attention,
    "activation": _activation,
    "product": _product,
    "tanh": _tanh,
}
