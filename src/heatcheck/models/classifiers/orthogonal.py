"""LSTMs that read ahead only, and LSTMs whose states are kept at right angles to the mean of those before them.

Mohankumar et al. (2020) train an LSTM in one direction. Both kinds exist here in one direction and in two, so that a
bidirectional LSTM has a counterpart. Unlike theirs, every text starts from a state of zeros: a random start, whose size
depends on the batch, would give a text another answer each time.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heatcheck.models.classifiers.bidirectional import Bidirectional
from heatcheck.models.classifiers.encoder import Encoder

LEAST_SQUARE = 1e-6  # added to |mean|²: the first state has no mean before it and stays as it is


class OrthogonalLayer(nn.LSTM):
    """One direction of an LSTM; before it goes on, each state loses its part along the mean of the states before it.

    h_t = ĥ_t − (ĥ_t·m / (m·m + 10⁻⁶)) m, with m the mean of h_1 … h_(t−1). The projected state enters the next step;
    the cell does not change. The parameters are those of `nn.LSTM`, and so are their first values.
    """

    def forward(  # type: ignore[override]  # torch's takes packed texts and first states too
        self, embedded: Float[Tensor, "example token feature"]
    ) -> tuple[Float[Tensor, "example token size"], None]:
        of_input, of_state, *biases = self.all_weights[0]
        to_gates = nn.functional.linear(embedded, of_input, biases[0] + biases[1])
        state = cell = total = embedded.new_zeros(len(embedded), self.hidden_size)
        states = []
        for step, of_token in enumerate(to_gates.unbind(1)):
            gates = of_token + nn.functional.linear(state, of_state)
            enter, forget, new, leave = gates.chunk(4, dim=-1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            state = leave.sigmoid() * cell.tanh()
            mean = total / max(1, step)
            along = (state * mean).sum(-1, keepdim=True) / (mean.square().sum(-1, keepdim=True) + LEAST_SQUARE)
            state = state - along * mean
            total = total + state
            states.append(state)
        return torch.stack(states, dim=1), None


class OrthogonalLSTM(Bidirectional):
    """An orthogonal LSTM in each direction. Without a word, the whole text is encoded again."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = OrthogonalLayer(features, hidden, batch_first=True)
        self.behind = OrthogonalLayer(features, hidden, batch_first=True)


class AheadLSTM(Encoder):
    """An LSTM that reads from left to right only, with `hidden` units; the summary is its last state."""

    tokens_at_once = 1 << 12
    layer = nn.LSTM

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = self.layer(features, hidden, batch_first=True)
        self.size = hidden

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        states: Tensor = self.ahead(embedded)[0]
        return states * valid[..., None]

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        last = (valid.sum(1) - 1)[:, None, None]
        return states.take_along_dim(last, 1)[:, 0]


class OrthogonalAheadLSTM(AheadLSTM):
    """The same with states at right angles to the mean before them, as published."""

    layer = OrthogonalLayer
