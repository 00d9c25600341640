"""A transformer whose backward pass follows other rules than the chain rule, while its forward pass stays what it is.

A set of rules says, for each kind of module (families.py), how a gradient goes back through it; kinds that it does not
name keep their own gradient. Rules are about gradients g. The relevance of a value x that such a gradient stands for is
x · g, so that the rules of layer-wise relevance propagation are rules about gradients too.

Modules are wrapped once; which rules a pass follows travels in a context variable, so that threads do not meet.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers.pytorch_utils import Conv1D

from heatcheck.models.contract.arguments import first_tensor
from heatcheck.models.hf.blocks import bends, read_norm
from heatcheck.models.hf.families import Bend
from heatcheck.models.hf.long_texts import with_all_weights
from heatcheck.models.hf.transformer import Transformer

Function: TypeAlias = Callable[..., Any]
SOFTMAX: frozenset[Function] = frozenset({torch.softmax, Tensor.softmax, nn.functional.softmax})
TANH: frozenset[Function] = frozenset({torch.tanh, Tensor.tanh})
SUM: frozenset[Function] = frozenset({torch.add, Tensor.add, Tensor.add_})  # + and, as Falcon writes it, +=


class Own(NamedTuple):
    """A module and its own forward pass."""

    module: nn.Module
    forward: Function

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.forward(*given, **named)


Rule: TypeAlias = Callable[..., Any]  # gets a module's Own, and what its forward pass is given
Kind: TypeAlias = Bend | Literal["linear", "block"]  # a matrix product; where states are added
Rules: TypeAlias = Mapping[Kind, Rule]

_RULES: ContextVar[Rules | None] = ContextVar("heatcheck_rules", default=None)
_INSTALLING = threading.Lock()


@contextmanager
def following(subject: Transformer, rules: Rules) -> Iterator[None]:
    """Forward passes within have a backward pass that follows these rules."""
    _install(subject, rules)
    token = _RULES.set(rules)
    try:
        with with_all_weights():  # a rule may be about the softmax, which a kernel hides
            yield
    finally:
        _RULES.reset(token)


def _install(subject: Transformer, rules: Rules) -> None:
    with _INSTALLING:
        for path, kinds in _kinds(subject).items():
            module = subject.network.get_submodule(path)
            if not rules.keys().isdisjoint(kinds) and not _installed(module):
                module.forward = partial(_forward, Own(module, module.forward), kinds)


def _kinds(subject: Transformer) -> dict[str, list[Kind]]:
    """The kinds of each module that a rule may be about, the inner ones first."""
    found: dict[str, list[Kind]] = {}
    blocks = {place.where.partition("@")[0] for place in subject.blocks}
    for path, module in subject.network.named_modules():
        if isinstance(module, nn.Linear | Conv1D):
            found[path] = ["linear"]
        elif path in blocks:
            found[path] = ["block"]
    for path, bend in bends(subject).items():
        found.setdefault(path, []).append(bend)
    return found


def _installed(module: nn.Module) -> bool:
    return isinstance(module.forward, partial) and module.forward.func is _forward


def _forward(own: Own, kinds: Collection[Kind], *given: Any, **named: Any) -> Any:
    rules = _RULES.get()
    if rules is not None and torch.is_grad_enabled():
        for kind in kinds:
            if kind in rules:
                own = Own(own.module, partial(rules[kind], own))
    return own(*given, **named)


class Instead(TorchFunctionMode):
    """Within it, something else is done where one of these functions is called; that gets the function first."""

    def __init__(self, functions: frozenset[Function], instead: Function) -> None:
        super().__init__()
        self.functions, self.instead = functions, instead

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in self.functions:
            return self.instead(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


class Sloped(torch.autograd.Function):
    """A value that is taken as slope · inputs on the way back."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, value: Tensor, slope: Tensor) -> Tensor:
        assert inputs.shape == value.shape
        ctx.save_for_backward(slope)
        return value.clone()  # some families add to it in place

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return slopes[0] * slope, None, None


def share(inputs: Tensor, part: float) -> Tensor:
    """The inputs; they get this part of their gradient."""
    found: Tensor = Sloped.apply(inputs, inputs.detach(), inputs.new_full((), part))  # type: ignore[no-untyped-call]  # torch's
    return found


def in_proportion(inputs: Tensor, value: Tensor) -> Tensor:
    """The value; relevance goes back from each number to the one that it came from: g · value / input."""
    with torch.no_grad():
        slope = torch.where((inputs == 0) | (value == 0), 0.0, value / inputs)  # at 0 there is nothing to pass on
    found: Tensor = Sloped.apply(inputs, value.detach(), slope)  # type: ignore[no-untyped-call]  # torch's
    return found


# Rules of one kind of module each; `own` is the module with its own forward pass.


def proportional(own: Function, inputs: Tensor, *given: Any, **named: Any) -> Tensor:
    """An activation act(z) as z times its slope act(z) / z; or a norm that hands on relevance number by number."""
    with torch.no_grad():
        value = own(inputs, *given, **named)
    return in_proportion(inputs, value)


def constant_scale(own: Own, states: Tensor) -> Tensor:
    """A norm whose division is by a constant: what is left is linear."""
    norm = read_norm(own.module)
    value: Tensor = own(states)
    if norm is None:
        return value
    linear = norm.linear(states) / norm.scale(states).detach()
    return value.detach() + (linear - linear.detach()).to(value.dtype)


def halved(own: Own, product: Tensor) -> Any:
    """What takes in a product of two: each of the two gets half of its gradient."""
    return own(share(product, 0.5))


def tanh_in_proportion(own: Own, *given: Any, **named: Any) -> Any:
    """A module that calls torch.tanh itself."""
    with Instead(TANH, proportional):
        return own(*given, **named)


def constant_weights(own: Own, *given: Any, **named: Any) -> Any:
    """An attention whose weights are constants."""

    def constant(softmax: Function, *inputs: Any, **options: Any) -> Tensor:
        found: Tensor = softmax(*inputs, **options)
        return found.detach()

    with Instead(SOFTMAX, constant):
        return own(*given, **named)


def half_to_scores(own: Own, *given: Any, **named: Any) -> Any:
    """An attention with its softmax's own gradient, half of which goes to the scores: they are products."""

    def softened(softmax: Function, scores: Tensor, *inputs: Any, **options: Any) -> Tensor:
        found: Tensor = softmax(share(scores, 0.5), *inputs, **options)
        return found

    with Instead(SOFTMAX, softened), Instead(TANH, proportional):  # some families cap their scores by tanh
        return own(*given, **named)


# Attention weights, the norms' scales and the activations' slopes are constants: the backward pass of a linear network,
# whose gradient is exactly what a token adds. e · dy/de summed over tokens is y, less what biases add.
LINEAR: Rules = {
    "attention": constant_weights,
    "norm": constant_scale,
    "activation": proportional,
    "product": halved,
    "tanh": tanh_in_proportion,
}

# AttnLRP, as gradients: the products A · V and Q · K are halved, so that values get ½, queries and keys ¼.
ATTNLRP: Rules = {
    **LINEAR,
    "attention": half_to_scores,
    "projection": halved,
    "score norm": constant_scale,
}


class _Tempered(torch.autograd.Function):
    """A softmax whose gradient is that at another temperature T, of scores / T, times T: s (g − Σ s g)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, weights: Tensor, temperature: float) -> Tensor:
        ctx.save_for_backward((scores / temperature).softmax(-1))
        return weights.clone()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (softer,) = ctx.saved_tensors
        slope = slopes[0].to(softer.dtype)
        return softer * (slope - (slope * softer).sum(-1, keepdim=True)), None, None


TEMPERATURE = 2.0


def tempered(own: Own, *given: Any, **named: Any) -> Any:
    """An attention whose softmax has the gradient of a softer one; half of it goes to the scores."""

    def softer(softmax: Function, scores: Tensor, *inputs: Any, **options: Any) -> Tensor:
        with torch.no_grad():
            weights = softmax(scores, *inputs, **options)
        found: Tensor = _Tempered.apply(share(scores, 0.5), weights, TEMPERATURE)  # type: ignore[no-untyped-call]  # torch's
        return found

    with Instead(SOFTMAX, softer):
        return own(*given, **named)


GIM: Rules = {
    "attention": tempered,
    "projection": halved,
    "norm": constant_scale,
    "score norm": constant_scale,
    "product": halved,
}


class _Positive(torch.autograd.Function):
    """A matrix product that hands relevance to inputs in proportion to what they add with a positive sign."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, value: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(inputs, value, weight)
        return value.clone()  # some families add to it in place

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        inputs, value, weight = ctx.saved_tensors  # weight [output input]
        above, below = weight.clamp(min=0), weight.clamp(max=0)
        added = inputs.clamp(min=0) @ above.T + inputs.clamp(max=0) @ below.T
        per_unit = torch.where(added > 0, slopes[0] * value / added.clamp(min=torch.finfo(added.dtype).tiny), 0.0)
        slope = torch.where(inputs > 0, per_unit @ above, torch.where(inputs < 0, per_unit @ below, 0.0))
        return slope, None, None


def positive_parts(own: Own, inputs: Tensor) -> Tensor:
    """A matrix product by the αβ rule with α = 1, β = 0; its bias gets nothing."""
    weight: Any = own.module.weight
    with torch.no_grad():
        value = own(inputs)
        outwards = weight if isinstance(own.module, nn.Linear) else weight.T  # Conv1D is stored [in out]
    found: Tensor = _Positive.apply(inputs, value, outwards.detach())  # type: ignore[no-untyped-call]  # torch's
    return found


class _Added(torch.autograd.Function):
    """A sum of two that keeps the relevance of each text: its parts get it by the size of what each adds in all."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor, total: Tensor, examples: int) -> Tensor:
        ctx.save_for_backward(one, other)
        ctx.examples = examples
        return total.clone()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None, None]:
        texts = slopes[0].reshape(ctx.examples, -1)
        parts = [(texts * part.reshape(ctx.examples, -1)).sum(1, keepdim=True) for part in ctx.saved_tensors]
        whole, sizes = sum(parts), sum(part.abs() for part in parts)
        # |a| / (|a| + |b|) · (a + b), over a: what is left of a's own part.
        found = [
            (texts * torch.where(sizes > 0, part.sign() * whole / sizes, 1.0)).view_as(slopes[0]) for part in parts
        ]
        return found[0], found[1], None, None


def sums_by_size(own: Own, *given: Any, **named: Any) -> Any:
    """A block: where it adds two states, relevance is shared and kept, text by text."""
    states = first_tensor(given, named)
    assert states is not None
    examples, shapes = states.shape[0], (states.shape, states.flatten(0, 1).shape)  # OPT's MLP reads all texts as one

    def added(add: Function, one: Any, other: Any, *more: Any, **options: Any) -> Any:
        both = isinstance(one, Tensor) and isinstance(other, Tensor) and one.shape == other.shape
        if not both or more or options or one.shape not in shapes or not (one.requires_grad and other.requires_grad):
            return add(one, other, *more, **options)
        with torch.no_grad():
            total = one + other
        return _Added.apply(one, other, total, examples)  # type: ignore[no-untyped-call]  # torch's

    with Instead(SUM, added):
        return own(*given, **named)


def relevant_weights(own: Own, *given: Any, **named: Any) -> Any:
    """An attention whose softmax hands on relevance number by number, half of it to scores."""

    def handed(softmax: Function, scores: Tensor, *inputs: Any, **options: Any) -> Tensor:
        with torch.no_grad():
            weights = softmax(scores, *inputs, **options)
        return in_proportion(share(scores, 0.5), weights)

    with Instead(SOFTMAX, handed), Instead(TANH, proportional):
        return own(*given, **named)


RELEVANCE: Rules = {
    "attention": relevant_weights,
    "projection": halved,
    "norm": proportional,
    "score norm": proportional,
    "activation": proportional,
    "product": halved,
    "tanh": tanh_in_proportion,
    "linear": positive_parts,
    "block": sums_by_size,
}
