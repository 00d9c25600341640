"""A bidirectional LSTM; when words are left out, it reuses the states that do not change."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.classifiers.bidirectional import Bidirectional, reversal
from heatcheck.models.classifiers.kernels import Kernels, kernels
from heatcheck.models.classifiers.lstm_gaps import Rejoined, Whole, read_whole, read_without
from heatcheck.models.contract.without_each import Changed, Gaps, Piece, Reread, Same


class BiLSTM(Bidirectional):
    """One layer with `hidden` units per direction."""

    ahead: nn.LSTM
    behind: nn.LSTM

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.ahead = nn.LSTM(features, hidden, batch_first=True)
        self.behind = nn.LSTM(features, hidden, batch_first=True)

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
        """Recompute the forward states after a gap and the backward states before it; reuse all others.

        On a GPU this gains nothing over encoding everything again in large batches.
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
