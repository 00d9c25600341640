"""One direction of an LSTM with each word (a gap of tokens) left out in turn; unchanged states are reused.

Before a gap its states are those of the whole text; behind it all gaps of all texts go on together, one matrix
product a token. Texts are aligned at their ends, so that a gap that has begun stays until the last step: the rows at
work are always the first so many, no padding is read, and half of all states are never computed.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heatcheck.models.classifiers.kernels import Kernels
from heatcheck.models.contract.without_each import Gaps

LANES = 16
LOOKED_AT_EVERY = 4  # steps between two looks at which gaps have rejoined


class Whole(NamedTuple):
    """The whole texts, read in one direction. Axes [token, example, …]; states are after so many tokens."""

    inputs: Tensor  # [token, example, 4 hidden]: what each token gives to the gates
    gates: Tensor  # [1 + token, example, 4 hidden + column + …]: what states give to the next gates, and their readings
    cells: Tensor  # [1 + token, example, hidden]
    hidden: Tensor
    matrix: Tensor  # [hidden, 4 hidden + column + …] from a state to those
    columns: int

    @property
    def readings(self) -> Float[Tensor, "token example column"]:
        first = self.inputs.shape[2]
        return self.gates[1:, :, first : first + self.columns]


class Ahead(NamedTuple):
    """New readings behind some gaps, of the next token of each."""

    gap: Int[Tensor, " gap"]
    readings: Float[Tensor, "gap column"]


class Rejoined(NamedTuple):
    """From a token on, these gaps make no difference any more."""

    gap: Int[Tensor, " gap"]
    token: Int[Tensor, " gap"]


def read_whole(
    lstm: nn.LSTM,
    table: Float[Tensor, "word feature"],
    tokens: Int[Tensor, "example token"],
    mapping: Float[Tensor, "column size"],
    run: Kernels,
) -> Whole:
    """Every state of every text, one token at a time."""
    examples, longest = tokens.shape
    hidden = lstm.hidden_size
    of_input, of_state, bias_of_input, bias_of_state = lstm.parameters()
    inputs = nn.functional.linear(table, of_input, bias_of_input + bias_of_state)[tokens.t()]
    width = len(of_state) + len(mapping)
    aligned = torch.zeros(-width % LANES, hidden)  # a product that ends within a vector takes half as long again
    matrix = torch.cat([of_state, mapping, aligned]).t().contiguous()
    whole = Whole(
        inputs,
        torch.zeros(1 + longest, examples, matrix.shape[1]),
        torch.zeros(1 + longest, examples, hidden),
        torch.zeros(1 + longest, examples, hidden),
        matrix,
        len(mapping),
    )
    each = np.arange(examples)
    flat = [part.flatten(0, 1).numpy() for part in (whole.inputs, whole.gates, whole.cells)]
    for token in range(longest):
        here = token * examples + each
        cells, states = whole.cells[token + 1], whole.hidden[token + 1]
        run.step(flat[1], 0, flat[0], here, each, flat[1], flat[2], here, cells.numpy(), states.numpy())
        torch.mm(states, matrix, out=whole.gates[token + 1])
    return whole


def read_without(
    whole: Whole,
    gaps: Gaps,
    ends: Int[Tensor, " example"],
    others: Float[Tensor, "token example column"],
    run: Kernels,
    tolerance: float,
) -> Iterator[Ahead | Rejoined]:
    """Readings plus `others`, of all tokens behind each gap and before the end of its text, a token at a time."""
    example, start, stop, end = (part.numpy() for part in (gaps.example, gaps.start, gaps.stop, ends))
    remaining = end[example] - stop
    order = np.argsort(-remaining, kind="stable")
    order = order[remaining[order] > 0]
    if not len(order):
        return
    longest = remaining[order[0]]
    begun = len(order) - np.searchsorted(remaining[order][::-1], np.arange(longest, 0, -1))  # by each step
    examples, size = whole.cells.shape[1:]
    width, columns = whole.inputs.shape[2], others.shape[2]

    gates, readings = torch.empty(len(order), whole.gates.shape[2]), torch.empty(len(order), columns)
    cells, hidden = torch.empty(len(order), size), torch.empty(len(order), size)
    g, r, c, h = (part.numpy() for part in (gates, readings, cells, hidden))
    inputs, whole_gates, whole_cells, whole_hidden, table = (
        part.flatten(0, 1).numpy() for part in (whole.inputs, whole.gates, whole.cells, whole.hidden, others)
    )
    gap, of, back = np.empty_like(order), np.empty_like(order), np.empty(len(order), bool)
    each = np.arange(examples)
    origin = start * examples + example
    rows = joined = 0
    for step in range(longest):
        new = order[joined : begun[step]]
        old, joined, rows = rows, begun[step], rows + len(new)
        gap[old:rows] = new
        np.take(example, gap[old:rows], out=of[old:rows])
        token = np.maximum(end - longest + step, 0)
        here = token * examples + each
        run.step(g, old, inputs, here, of[:rows], whole_gates, whole_cells, origin[new], c, h)
        if tolerance > 0 and step % LOOKED_AT_EVERY == 0:
            run.rejoined(c, h, whole_cells, whole_hidden, here + examples, of[:rows], tolerance, back[:rows])
            if back[:rows].any():
                gone, kept = np.flatnonzero(back[:rows]), np.flatnonzero(~back[:rows])
                yield Rejoined(torch.from_numpy(gap[gone]), torch.from_numpy(token[of[gone]]))
                rows = len(kept)
                for part in (gap, of, c, h):
                    part[:rows] = part[kept]
        if not rows:
            continue
        torch.mm(hidden[:rows], whole.matrix, out=gates[:rows])
        run.add(g, width, table, here, of[:rows], r)
        yield Ahead(torch.from_numpy(gap[:rows]), readings[:rows])
