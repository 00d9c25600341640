"""A bidirectional LSTM without packed sequences.

Backward through a packed, variable-length LSTM zero-fills a whole gradient buffer at every step, which is
quadratic in length. Reversing each text inside its own length gives the same states and gradients, several
times faster (benchmarks/epoch.py).
"""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.encoder import Encoder
from heatcheck.models.erases import Changed, Gaps, Piece, Reread, Same
from heatcheck.models.kernels import Kernels, kernels
from heatcheck.models.lstm_gaps import Rejoined, Whole, read_whole, read_without


def reversal(valid: Bool[Tensor, "example token"]) -> Int[Tensor, "example token"]:
    """Indices that turn each text round inside its own length and leave padding where it is.

    >>> reversal(torch.tensor([[True, True, True, False]]))
    tensor([[2, 1, 0, 3]])
    """
    position = torch.arange(valid.shape[1], device=valid.device)
    return torch.where(valid, valid.sum(1, keepdim=True) - 1 - position, position)


class BiLSTM(Encoder):
    """One layer, `hidden` a direction; the summary is the last state of each direction."""

    tokens_at_once = 1 << 12

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = nn.LSTM(features, hidden, batch_first=True)
        self.behind = nn.LSTM(features, hidden, batch_first=True)
        self.size = 2 * hidden

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        turn = reversal(valid)[..., None]
        ahead, _ = self.ahead(embedded)
        behind, _ = self.behind(embedded.take_along_dim(turn, 1))
        return torch.cat([ahead, behind.take_along_dim(turn, 1)], dim=-1) * valid[..., None]

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        ahead, behind = states.chunk(2, dim=-1)
        last = (valid.sum(1) - 1)[:, None, None]
        return torch.cat([ahead.take_along_dim(last, 1)[:, 0], behind[:, 0]], dim=-1)

    def without_each(
        self,
        table: Float[Tensor, "word feature"],
        tokens: Int[Tensor, "example token"],
        valid: Bool[Tensor, "example token"],
        scored: Bool[Tensor, "example token"],
        gaps: Gaps,
        mapping: Float[Tensor, "column size"],
        *,
        tolerance: float = 0.0,
    ) -> Reread:
        """A token behind a gap has a new state ahead and keeps the one from behind; before the gap the other way.

        On a GPU reading everything again in large batches leaves nothing to win.
        """
        run = kernels()
        if run is None or table.device.type != "cpu" or table.dtype != torch.float32:
            return super().without_each(table, tokens, valid, scored, gaps, mapping)
        turn = reversal(valid)[..., None]
        of_ahead, of_behind = (half.contiguous() for half in mapping.chunk(2, dim=1))
        ahead = read_whole(self.ahead, table, tokens, of_ahead, run)
        behind = read_whole(self.behind, table, tokens.take_along_dim(turn[..., 0], 1), of_behind, run)
        read_ahead = ahead.readings.transpose(0, 1)
        read_behind = behind.readings.transpose(0, 1).take_along_dim(turn, 1)
        pieces = self._both_ways((ahead, behind), (read_ahead, read_behind), valid, scored, gaps, run, tolerance)
        return read_ahead + read_behind, pieces

    def _both_ways(
        self,
        wholes: tuple[Whole, Whole],
        readings: tuple[Tensor, Tensor],
        valid: Tensor,
        scored: Tensor,
        gaps: Gaps,
        run: Kernels,
        tolerance: float,
    ) -> Iterator[Piece]:
        (ahead, behind), (read_ahead, read_behind) = wholes, readings
        length = valid.sum(1)
        end = scored.shape[1] - scored.flip(1).int().argmax(1)
        others = read_behind.transpose(0, 1).contiguous()
        for part in read_without(ahead, gaps, end, others, run, tolerance):
            if isinstance(part, Rejoined):
                yield Same(part.gap, "from", part.token)
            else:
                yield Changed(part.gap, part.readings[:, None])
        # The same the other way: every place is counted from the other end of its text.
        of = length[gaps.example]
        turned = Gaps(gaps.example, of - gaps.stop, of - gaps.start)
        end = length - scored.int().argmax(1)
        others = read_ahead.take_along_dim(reversal(valid)[..., None], 1).transpose(0, 1).contiguous()
        for part in read_without(behind, turned, end, others, run, tolerance):
            if isinstance(part, Rejoined):
                yield Same(part.gap, "before", of[part.gap] - part.token)
            else:
                yield Changed(part.gap, part.readings[:, None])
