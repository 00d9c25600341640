"""Faster loops, compiled by numba, for the element-wise part of an LSTM's step and of additive attention.

Tensor operations pass over the gates a dozen times, and that costs as much as the matrix product that made them. Here
the exponential is a polynomial, which vector instructions do sixteen at a time; tanh and sigmoid are within 1e-7 of the
truth, as near as a sum of float32 products is.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

# e^y = 1 + y + y² (C2 + C3 y + …) for |y| ≤ ½ ln 2. The coefficients make the largest relative error small (3.1e-9
# before rounding): least squares, reweighted towards the largest errors (Lawson).
C2, C3, C4, C5, C6 = map(
    np.float32,
    (0.49999993451373653, 0.16666520686567843, 0.04166838742836359, 8.368710127896426e-3, 1.3814610056465057e-3),
)
LOG2_E, LN_2, LN_2_REST = (
    np.float32(1.4426950408889634),
    np.float32(0.693145751953125),
    np.float32(1.4286068203094172e-6),
)
LOWEST, HIGHEST, HALF, ONE = np.float32(-87), np.float32(87), np.float32(0.5), np.float32(1)
BIAS, MANTISSA = np.int32(127), np.int32(23)  # of a float32's exponent, and how far left in its bits that stands


class Kernels(NamedTuple):
    """Loops over rows; each row belongs to an example, whose row in a table is `here[example]`."""

    step: Callable[..., None]
    add: Callable[..., None]
    rejoined: Callable[..., None]
    tanh_dot: Callable[..., None]


@lru_cache
def kernels() -> Kernels | None:
    """Compiled when first needed; None where numba is not installed."""
    try:
        import numba
    except ImportError:
        return None
    # A product and a sum may be rounded once instead of twice, and where it is said a sum taken in any order: no other
    # licence. A division by zero would give a number instead of an exception, as vectors demand; there is none.
    options: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy"}
    for inner in (_exp, _tanh, _sigmoid, _cell):
        numba.extending.register_jitable(**options)(inner)

    def compiled(loop: Callable[..., None], *licence: str) -> Any:
        chosen = {**options, "fastmath": {"contract", *licence}}
        try:
            return numba.njit(cache=True, **chosen)(loop)
        except RuntimeError:  # numba finds no folder it may write its cache to
            return numba.njit(**chosen)(loop)

    return Kernels(compiled(_step), compiled(_add), compiled(_rejoined), compiled(_tanh_dot, "reassoc"))


def tanh_dot(
    x: Float[Tensor, "gap token column"], vectors: Float[Tensor, "query column"]
) -> Float[Tensor, "gap token query"]:
    """v·tanh(x) with each vector v; not for gradients.

    >>> tanh_dot(torch.full((1, 1, 2), 0.5), torch.tensor([[1.0, 1.0]]))
    tensor([[[0.9242]]])
    """
    run = kernels() if x.device.type == "cpu" and x.dtype == torch.float32 else None
    if run is None:
        return torch.nn.functional.linear(x.tanh(), vectors)
    found = torch.empty((*x.shape[:2], len(vectors)))
    run.tanh_dot(x.contiguous().flatten(0, 1).numpy(), vectors.detach().numpy(), found.flatten(0, 1).numpy())
    return found


# What follows is compiled by numba, which cannot see through the wrappers of jaxtyping's import hook.


@no_type_check
def _exp(x):
    x = HIGHEST if x > HIGHEST else x
    x = LOWEST if x < LOWEST else x
    k = np.floor(LOG2_E * x + HALF)
    y = (x - k * LN_2) - k * LN_2_REST
    power = np.int32((np.int32(k) + BIAS) << MANTISSA).view(np.float32)  # 2^k, by writing its exponent
    return power * (((((C6 * y + C5) * y + C4) * y + C3) * y + C2) * (y * y) + y + ONE)


@no_type_check
def _tanh(x):
    e = _exp(-(abs(x) + abs(x)))
    size = (ONE - e) / (ONE + e)
    return size if x >= 0 else -size


@no_type_check
def _sigmoid(x):
    return ONE / (ONE + _exp(-x))


@no_type_check
def _cell(gates, inputs, cell, hidden):
    """Gates in torch's order: input, forget, candidate, output."""
    n = len(cell)
    gi, gf, gg, go = gates[:n], gates[n : 2 * n], gates[2 * n : 3 * n], gates[3 * n : 4 * n]
    xi, xf, xg, xo = inputs[:n], inputs[n : 2 * n], inputs[2 * n : 3 * n], inputs[3 * n : 4 * n]
    # In place: a second array for the new cell would be suspected to overlap the old, and the loop not vectorised.
    for k in range(n):
        kept = _sigmoid(gf[k] + xf[k]) * cell[k] + _sigmoid(gi[k] + xi[k]) * _tanh(gg[k] + xg[k])
        cell[k] = kept
        hidden[k] = _sigmoid(go[k] + xo[k]) * _tanh(kept)


@no_type_check
def _step(gates, begun, inputs, here, example, whole_gates, whole_cells, origin, cells, hidden):
    """One token further: rows below `begun` from their own gates and cells, the others from the whole text's."""
    for row in range(begun):
        _cell(gates[row], inputs[here[example[row]]], cells[row], hidden[row])
    for row in range(begun, len(example)):
        at = origin[row - begun]
        cells[row] = whole_cells[at]
        _cell(whole_gates[at], inputs[here[example[row]]], cells[row], hidden[row])


@no_type_check
def _add(gates, first, table, here, example, out):
    """Columns from `first` on, plus a row of the table."""
    for row in range(len(example)):
        ours, theirs, both = gates[row], table[here[example[row]]], out[row]
        for k in range(len(both)):
            both[k] = ours[first + k] + theirs[k]


@no_type_check
def _rejoined(cells, hidden, whole_cells, whole_hidden, here, example, tolerance, out):
    """Whether no coordinate is further than the tolerance from the whole text's."""
    for row in range(len(example)):
        at = here[example[row]]
        out[row] = True
        for k in range(cells.shape[1]):
            apart = max(abs(cells[row, k] - whole_cells[at, k]), abs(hidden[row, k] - whole_hidden[at, k]))
            if apart > tolerance:
                out[row] = False
                break


@no_type_check
def _tanh_dot(x, vectors, out):
    """v·tanh(x) of each row with each vector."""
    squashed = np.empty(x.shape[1], np.float32)
    for row in range(len(x)):
        values = x[row]
        for k in range(len(values)):
            squashed[k] = _tanh(values[k])
        for query in range(len(vectors)):
            vector = vectors[query]
            total = np.float32(0)
            for k in range(len(values)):
                total += vector[k] * squashed[k]
            out[row, query] = total
