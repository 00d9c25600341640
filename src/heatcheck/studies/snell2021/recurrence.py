"""LSTM and GRU layers of many models at once, each with its own weights, in one batched matrix product.

The steps back through time are written out: the gradient of the recurrent weights is then one product over all steps,
not one a step that has to be added up, and nothing but the gates is kept in between.
"""

from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

Steps: TypeAlias = Float[Tensor, "model token example feature"]
Weights: TypeAlias = Float[Tensor, "model size feature"]
State: TypeAlias = Float[Tensor, "model example size"]


def lstm(inputs: Steps, weights: Weights, hidden: State, cell: State) -> tuple[Tensor, Tensor]:
    """Hidden states [model token example size] and the last cell, given what the input adds to the gates i, f, g, o."""
    found: tuple[Tensor, Tensor] = _LSTM.apply(inputs, weights, hidden, cell)  # type: ignore[no-untyped-call]  # torch's
    return found


def gru(inputs: Steps, weights: Weights, bias: Float[Tensor, "model feature"], hidden: State) -> Tensor:
    """The same of gates r, z, n; the state's part of n has a bias of its own, inside the reset."""
    found: Tensor = _GRU.apply(inputs, weights, bias, hidden)  # type: ignore[no-untyped-call]  # torch's
    return found


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weights: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        kept, states = [], [hidden]
        for step in inputs.unbind(1):
            i, f, g, o = torch.baddbmm(step, states[-1], weights).chunk(4, dim=-1)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            before, cell = cell, torch.addcmul(i * g, f, cell)
            squashed = cell.tanh()
            kept.append((i, f, g, o, before, squashed))
            states.append(o * squashed)
        ctx.kept, ctx.states = kept, states[:-1]
        ctx.save_for_backward(weights)
        return torch.stack(states[1:], dim=1), cell.clone()

    @staticmethod
    def backward(ctx: Any, *wanted: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        of_states, of_cell = wanted
        (weights,) = ctx.saved_tensors
        of_hidden = torch.zeros_like(of_cell)
        of_gates = []
        for at in reversed(range(len(ctx.kept))):
            i, f, g, o, before, squashed = ctx.kept[at]
            of_hidden = of_hidden + of_states[:, at]
            of_cell = torch.addcmul(of_cell, of_hidden * o, 1 - squashed * squashed)
            slopes = (
                of_cell * g * i * (1 - i),
                of_cell * before * f * (1 - f),
                of_cell * i * (1 - g * g),
                of_hidden * squashed * o * (1 - o),
            )
            of_gates.append(torch.cat(slopes, dim=-1))
            of_hidden = of_gates[-1] @ weights.mT
            of_cell = of_cell * f
        of_inputs = torch.stack(of_gates[::-1], dim=1)
        return of_inputs, _of_weights(ctx.states, of_inputs), of_hidden, of_cell


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weights: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
        kept, states = [], [hidden]
        for step in inputs.unbind(1):
            input_r, input_z, input_n = step.chunk(3, dim=-1)
            r, z, of_n = torch.baddbmm(bias[:, None], states[-1], weights).chunk(3, dim=-1)
            r, z = (input_r + r).sigmoid(), (input_z + z).sigmoid()
            n = torch.addcmul(input_n, r, of_n).tanh()
            kept.append((r, z, n, of_n))
            states.append(torch.lerp(n, states[-1], z))
        ctx.kept, ctx.states = kept, states[:-1]
        ctx.save_for_backward(weights)
        return torch.stack(states[1:], dim=1)

    @staticmethod
    def backward(ctx: Any, *wanted: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        (of_states,) = wanted
        (weights,) = ctx.saved_tensors
        of_hidden = torch.zeros_like(of_states[:, 0])
        from_inputs, from_state = [], []
        for at in reversed(range(len(ctx.kept))):
            r, z, n, of_n = ctx.kept[at]
            of_hidden = of_hidden + of_states[:, at]
            slope_n = of_hidden * (1 - z) * (1 - n * n)
            slope_z = of_hidden * (ctx.states[at] - n) * z * (1 - z)
            slope_r = slope_n * of_n * r * (1 - r)
            from_inputs.append(torch.cat((slope_r, slope_z, slope_n), dim=-1))
            from_state.append(torch.cat((slope_r, slope_z, slope_n * r), dim=-1))
            of_hidden = torch.addcmul(from_state[-1] @ weights.mT, of_hidden, z)
        of_state_part = torch.stack(from_state[::-1], dim=1)
        of_weights = _of_weights(ctx.states, of_state_part)
        return torch.stack(from_inputs[::-1], dim=1), of_weights, of_state_part.sum(dim=(1, 2)), of_hidden


def _of_weights(states: list[Tensor], of_gates: Tensor) -> Tensor:
    """The gradient of the recurrent weights: all steps and examples in one product."""
    return torch.stack(states, dim=1).flatten(1, 2).mT @ of_gates.flatten(1, 2)
