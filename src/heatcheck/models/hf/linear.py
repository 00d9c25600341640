"""Matrix products of linear layers through oneDNN, the faster of the two libraries that torch has for them on a CPU.

torch sends float32 products to MKL, which uses half of the vector width on processors that are not Intel's. oneDNN uses
all of it: on an AMD EPYC with AVX-512 it is 2.2 times as fast. Both give the same numbers up to rounding. A layer
always goes the same way, whatever the batch: answers that are compared come from one kernel.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from transformers.pytorch_utils import Conv1D

from heatcheck.errors import NotSupported
from heatcheck.models.hf.taps import ACTIVE

LARGE = 2**14  # weights of a layer; below, nothing is gained


def quicken(network: nn.Module) -> None:
    """Let the large linear layers use oneDNN within a forward pass of heatcheck's, on a CPU, in evaluation mode."""
    if not _is_quicker():
        return
    for module in network.modules():
        # One that somebody has given another forward pass keeps it, also one whose class has another (BitNet, LoRA).
        plain = type(module).forward in (nn.Linear.forward, Conv1D.forward) and "forward" not in vars(module)
        if plain and isinstance(module, nn.Linear | Conv1D) and module.weight.numel() >= LARGE:
            module.forward = partial(_forward, module)  # type: ignore[method-assign]  # on purpose


def _is_quicker() -> bool:
    """Whether this torch and this processor have it: wide vectors, and the operation that torch's compiler uses."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    try:
        found = _product(torch.eye(16), torch.eye(16), torch.ones(16))
    except (AttributeError, RuntimeError, TypeError):  # another version of torch
        return False
    return torch.equal(found, torch.eye(16) + 1)


def _forward(module: Any, states: Tensor) -> Tensor:
    weight: Tensor = module.weight
    here = states.device.type == "cpu" and states.dtype == weight.dtype == torch.float32
    if not here or module.training or ACTIVE.get() is None:
        found: Tensor = type(module).forward(module, states)
        return found
    outwards = weight if isinstance(module, nn.Linear) else weight.T  # Conv1D is stored [in out]
    if torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad):
        # torch has no types for `apply`.
        constants = [None if one is None else _Constant.apply(one) for one in (outwards, module.bias)]  # type: ignore[no-untyped-call]  # torch's
        found = _Linear.apply(states, *constants)  # type: ignore[no-untyped-call]  # torch's
    else:
        found = _product(states, outwards, module.bias)
    return found


def _product(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
    return found


class _Linear(torch.autograd.Function):
    """The product and its gradient by the states."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return _product(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (weight,) = ctx.saved_tensors
        return _product(slopes[0], weight.T, None), None, None


class _Constant(torch.autograd.Function):
    """A parameter that gets no gradient; who asks for one is told, rather than given none."""

    @staticmethod
    def forward(_: FunctionCtx, parameter: Tensor) -> Tensor:
        return parameter.view_as(parameter)

    @staticmethod
    def backward(_: Any, *__: Tensor) -> Tensor:
        raise NotSupported("a transformer in evaluation mode has no gradient by its parameters: call train() first.")
