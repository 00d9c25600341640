"""A convolutional encoder: parallel windows of several widths."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.errors import BadInput
from heatcheck.models.classifiers.encoder import Encoder
from heatcheck.models.contract.without_each import Changed, Gaps, Piece, Reread, Same

GAPS_AT_ONCE = 1024


class CNN(Encoder):
    """Convolutions that share `hidden` equally, then ReLU; the summary is the maximum over the text.

    Window widths are odd, so that each window has a token in its middle.
    """

    tokens_at_once = 1 << 12
    kernels: tuple[int, ...] = (1, 3, 5, 7)  # as in Jain & Wallace's code

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        several = len(self.kernels)
        if hidden % several:
            raise BadInput(f"hidden must be divisible by {several}, the number of window widths, not {hidden}.")
        filters = hidden // several
        self.windows = nn.ModuleList(nn.Conv1d(features, filters, kernel, padding="same") for kernel in self.kernels)
        self.size = hidden
        self.reach = max(self.kernels) // 2  # tokens to either side that a state knows of

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        mask = valid[..., None]
        channels = (embedded * mask).transpose(1, 2)  # zero beyond the end, as at the start
        states = torch.cat([window(channels) for window in self.windows], dim=1).relu()
        return states.transpose(1, 2) * mask

    def summary(
        self,
        states: Float[Tensor, "example token size"],
        valid: Bool[Tensor, "example token"],
    ) -> Float[Tensor, "example size"]:
        return states.amax(1)  # states are >= 0 and 0 at padding

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
        """Only windows that touch a gap change: their parts before and behind it are added up anew.

        What each offset of each window makes of a token is computed once, and summed from either end: `before[c]` over
        the offsets below c and `behind[c]` over the others. A gap from `start` to `stop` cuts a window below its offset
        c, so that the window becomes before[c] at start − c plus behind[c] at stop − c; for c > 0 it stands on the
        token start − c, otherwise on stop − c.
        """
        sums = [self._sums(window, table, tokens, valid) for window in self.windows if isinstance(window, nn.Conv1d)]
        windows = torch.cat([behind[:, :, 0] for _, behind in sums], dim=-1)  # behind the lowest offset: all of it
        states = windows[:, self.reach : -self.reach].relu() * valid[..., None]
        whole = nn.functional.linear(states, mapping)
        return whole, self._around(sums, states, scored, gaps, mapping)

    def _sums(self, window: nn.Conv1d, table: Tensor, tokens: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """`before` and `behind` [example, position, cut, filter], positions `reach` beyond either end included."""
        (kernel,) = window.kernel_size
        reach = self.reach
        weight = window.weight.permute(2, 0, 1).flatten(0, 1)  # [offset filter, feature]
        of_offset = nn.functional.embedding(tokens, nn.functional.linear(table, weight)) * valid[..., None]
        of_offset = of_offset.view(*tokens.shape, kernel, -1)
        of_offset = nn.functional.pad(of_offset, (0, 0, 0, 0, 2 * reach, 2 * reach))
        parts = [
            of_offset[:, start : start + tokens.shape[1] + 2 * reach, offset]
            for offset, start in enumerate(range(reach - kernel // 2, reach + kernel // 2 + 1))
        ]
        assert window.bias is not None
        before, behind = [parts[0]], [parts[-1] + window.bias]
        for part in parts[1:-1]:
            before.append(before[-1] + part)
        for part in parts[-2::-1]:
            behind.insert(0, behind[0] + part)
        return torch.stack(before, dim=2), torch.stack(behind, dim=2)

    def _around(
        self, sums: list[tuple[Tensor, Tensor]], states: Tensor, scored: Tensor, gaps: Gaps, mapping: Tensor
    ) -> Iterator[Piece]:
        tokens, device, reach = states.shape[1], states.device, self.reach
        cut = torch.arange(1 - reach, reach + 1, device=device)
        for first in range(0, len(gaps), GAPS_AT_ONCE):
            gap = torch.arange(first, min(first + GAPS_AT_ONCE, len(gaps)), device=device)
            example, start, stop = gaps.example[gap, None], gaps.start[gap, None], gaps.stop[gap, None]
            yield Same(gap, "before", (start[:, 0] - reach).clamp(min=0))
            yield Same(gap, "from", (stop[:, 0] + reach).clamp(max=tokens))
            token = torch.where(cut > 0, start, stop) - cut
            inside = (token >= 0) & (token < tokens)
            token = token.clamp(0, tokens - 1)
            around = states[example, token]  # [gap, cut, feature]; what no window of a kernel crosses stays
            column = 0
            for kernel, (before, behind) in zip(self.kernels, sums, strict=True):
                filters = behind.shape[-1]
                if half := kernel // 2:
                    crossed = slice(reach - half, reach + half)
                    at, place = reach - cut[crossed], torch.arange(2 * half, device=device)
                    window = before[example, start + at, place] + behind[example, stop + at, place + 1]
                    around[:, crossed, column : column + filters] = window.relu()
                column += filters
            yield Changed(gap, nn.functional.linear(around, mapping), inside & scored[example, token])


class Conv(CNN):
    """Windows of 3 and 5 tokens, as in Serrano & Smith's code."""

    kernels = (3, 5)
