"""The encoder interface: embeddings in, one state per token out, and a summary of the whole text."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heatcheck.models.contract.without_each import Changed, Gaps, Piece, Reread

CACHED, LARGE = 1 << 22, 1 << 24  # numbers in the embeddings of texts that are encoded again together, on CPU and GPU


class Encoder(nn.Module):
    """Base of all encoders. States at padding are zero, and padding never changes another state.

    `valid` is a run of True followed by padding. `size` is the width of a state.
    """

    size: int
    tokens_at_once = 1 << 14  # of the texts whose words are left out together

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()

    def forward(
        self, embedded: Float[Tensor, "example token feature"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example token size"]:
        raise NotImplementedError

    def summary(
        self, states: Float[Tensor, "example token size"], valid: Bool[Tensor, "example token"]
    ) -> Float[Tensor, "example size"]:
        """One vector for the text; the attention over a passage uses it as its question."""
        raise NotImplementedError

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
        """Readings (`mapping` of states) of the whole texts, and pieces of what they are with each gap.

        A token's embedding is its row of `table`; the scored tokens of a text are a run of its valid ones. For each gap
        the pieces cover every scored token outside it once. This one shortens the texts and encodes them again; an
        encoder that knows what a gap leaves unchanged overrides it.
        """
        embedded = table[tokens]
        return self._read(embedded, valid, mapping), self._encode_again(embedded, valid, scored, gaps, mapping)

    def _read(self, embedded: Tensor, valid: Tensor, mapping: Tensor) -> Tensor:
        # TensorFloat32, cuDNN's default, would make differences of probabilities out of nothing.
        own = torch.backends.cudnn
        with own.flags(enabled=own.enabled, deterministic=own.deterministic, allow_tf32=False):
            return nn.functional.linear(self(embedded, valid), mapping)

    def _encode_again(
        self, embedded: Tensor, valid: Tensor, scored: Tensor, gaps: Gaps, mapping: Tensor
    ) -> Iterator[Piece]:
        length = embedded.shape[1]
        step = max(1, (CACHED if embedded.device.type == "cpu" else LARGE) // embedded[0].numel())
        position = torch.arange(length, device=embedded.device)
        for first in range(0, len(gaps), step):
            gap = torch.arange(first, min(first + step, len(gaps)), device=embedded.device)
            example, start, stop = gaps.example[gap, None], gaps.start[gap, None], gaps.stop[gap, None]
            source = torch.where(position < start, position, position + (stop - start))
            inside, source = source < length, source.clamp(max=length - 1)
            kept = valid[example, source] & inside
            source, kept = (part[:, : int(kept.sum(1).max())] for part in (source, kept))
            yield Changed(gap, self._read(embedded[example, source], kept, mapping), scored[example, source] & kept)
