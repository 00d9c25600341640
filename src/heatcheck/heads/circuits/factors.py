"""What heads read and write, from their weights alone: OV and QK as factors, copying, and which head feeds which.

Row vectors: a state x [size] is read as x R and written as y W_O. A norm in front of a head is part of its readers: its
gain, and its centring if it has one (Elhage et al. 2021). The circuits E·OV·U and E·QK·Eᵀ over the vocabulary are never
formed.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.engine import stream
from heatcheck.models.contract.opened import Factors as Factors

RANDOM_HEADS = 200
RANDOM_PAIRS = 50  # of a writer and a reader: their composition hardly varies

Reader = Float[Tensor, "*batch head size feature"]
Output = Float[Tensor, "*batch head feature size"]


def composition(
    value: Float[Tensor, "*batch removal size feature"],
    output: Float[Tensor, "*batch removal feature size"],
    reader: Float[Tensor, "*batch head size column"],
) -> Float[Tensor, "*batch removal head"]:
    """How much of what each writer writes each reader reads: ‖OV_a R_b‖ / (‖OV_a‖ ‖R_b‖), Frobenius norms.

    R_b is the reader's own R_Q, R_K or R_V, not the product QK. A rotary position turns queries and keys after R, and
    turns change no norm, so this is safe in models that have one. Divide by `random_composition`, about 1/√size.

    Args:
        value, output: R_V and W_O of the writers, which are on the axis `removal`.
        reader: R_Q, R_K or R_V of the readers, of a later layer.
    """
    gram = value.mT @ value  # ‖V O R‖² = tr(VᵀV · (OR)(OR)ᵀ): nothing size × size is formed
    through = output[..., :, None, :, :] @ reader[..., None, :, :, :]
    both = ((gram[..., :, None, :, :] @ through) * through).sum((-2, -1))
    written = ((gram @ output) * output).sum((-2, -1))
    read = reader.square().sum((-2, -1))
    found: Tensor = (both.clamp(min=0) / (written[..., :, None] * read[..., None, :]).clamp(min=1e-30)).sqrt()
    return found


def copying(
    value: Reader, output: Output, unembed_embed: Float[Tensor, "*#batch size size"]
) -> Float[Tensor, "*batch head"]:
    """Whether a head writes what it reads: Re Σλ / Σ|λ| over the eigenvalues of E R_V W_O U; +1 copies, −1 opposes.

    The d_h eigenvalues that are not 0 are those of W_O (U E) R_V. Centre E first (`unembed_embed`): with the mean
    embedding in it, random heads score 0 ± 0.31 on SmolLM2, and 0 ± 0.066 without.

    A hint, and no test for induction: in a deep model many heads copy, on all layers, and induction heads need not.
    """
    small = output.double() @ unembed_embed.double()[..., None, :, :] @ value.double()
    found = torch.linalg.eigvals(small)
    score: Tensor = found.real.sum(-1) / found.abs().sum(-1).clamp(min=1e-30)
    return score.to(value.dtype)


def unembed_embed(
    embedding: Float[Tensor, "*batch word size"], unembedding: Float[Tensor, "*batch word size"]
) -> Float[Tensor, "*batch size size"]:
    """U E with E centred over the vocabulary. The unembedding has the final norm's gain (and centring) in it."""
    centred = embedding.double() - embedding.double().mean(-2, keepdim=True)
    return unembedding.double().mT @ centred


class RandomHeads(NamedTuple):
    """Mean and standard deviation of a score over random heads of the same shape."""

    mean: float
    deviation: float

    def z(self, scores: Tensor) -> Tensor:
        """How many standard deviations above random heads."""
        return (scores - self.mean) / max(self.deviation, 1e-12)


def random_copying(
    unembed_embed: Float[Tensor, "size size"], feature: int, *, seed: int = 0, heads: int = RANDOM_HEADS
) -> RandomHeads:
    """Copying of heads of this size with random weights, in this model's vocabulary."""
    size = len(unembed_embed)
    drawn = stream(seed, "circuits", "random heads")
    value = _normal(drawn, (heads, size, feature), unembed_embed)
    output = _normal(drawn, (heads, feature, size), unembed_embed)
    found = copying(value, output, unembed_embed)
    return RandomHeads(float(found.mean()), float(found.std()))


def random_composition(size: int, writer: int, reader: int, *, seed: int = 0, pairs: int = RANDOM_PAIRS) -> RandomHeads:
    """Composition of random heads of these sizes; in theory 1/√size.

    >>> round(random_composition(100, 8, 8).mean, 2)
    0.1
    """
    drawn = stream(seed, "circuits", "random pairs")
    found = []
    for _ in range(pairs):
        value, output, reads = (
            torch.from_numpy(drawn.standard_normal(shape))[None]
            for shape in ((size, writer), (writer, size), (size, reader))
        )
        found.append(float(composition(value, output, reads)))
    return RandomHeads(float(np.mean(found)), float(np.std(found, ddof=1)))


def _normal(drawn: np.random.Generator, shape: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.from_numpy(drawn.standard_normal(shape)).to(like.device, torch.float64)
