"""Language models that say what their heads are made of: what each reads and writes, and what adds up to the logits.

Row vectors: a state x [size] is read as x R and written as y W_O. A norm in front of a head is part of its readers, and
the final norm part of the unembedding: gain, and centring if there is one. Only the division by a row's scale is left.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.parts import HasLayers
from heatcheck.models.contract.subject import Subject

TINY = 1e-6  # a probability that is this near to 1 leaves so much to other tokens


class Factors(NamedTuple):
    """The maps of each head of a layer: QK is R_Q R_Kᵀ / √d_h and OV is R_V W_O, each size × size."""

    query: Float[Tensor, "*batch head size feature"]
    key: Float[Tensor, "*batch head size feature"]  # a group's, repeated for each head that shares it
    value: Float[Tensor, "*batch head size feature"]
    output: Float[Tensor, "*batch head feature size"]


class Ends(NamedTuple):
    """How tokens become states, and states logits: x · unembedding[token] / scale + constant[token]."""

    embedding: Float[Tensor, "word size"]
    unembedding: Float[Tensor, "word size"]
    constant: Float[Tensor, " word"]


class Stream(NamedTuple):
    """What adds up to one token's last state, and the logits that it gives."""

    names: tuple[str, ...]  # "embedding", "head 1.1", "mlp 1", "bias 1", …: layers and heads count from 1
    parts: Float[Tensor, "example item size"]
    scale: Float[Tensor, "example 1"]  # what the final norm divides by
    logits: Float[Tensor, "example word"]


@runtime_checkable
class OpensItsHeads(HasLayers, Protocol):
    """A causal language model whose heads can be taken apart. Its decisions are the next tokens."""

    def encode_ids(self, ids: Sequence[Sequence[Any]], *, bos: bool) -> Batch: ...

    def factors(self, layer: int) -> Factors:
        """What the heads of a layer, counted from 0, read and write."""
        ...

    def ends(self) -> Ends:
        """The embedding and the unembedding."""
        ...

    def stream(self, batch: Batch, rows: Int[Tensor, " example"]) -> Stream:
        """What adds up to the last state of one token of each example."""
        ...

    def ordinary_ids(self) -> list[int]:
        """The ids of tokens of texts, in the order of the vocabulary, which is nearly that of their frequency."""
        ...

    @property
    def first_id(self) -> int | None:
        """The token before every text: BOS, or what this model has in its place; None if it has neither."""
        ...


def require_opened(subject: Subject, what: str) -> OpensItsHeads:
    """The model as one that opens its heads; raises NotSupported if it is not one."""
    opened = getattr(subject, "as_next_token", None)
    found = subject if opened is None else opened()
    if not isinstance(found, OpensItsHeads):
        raise NotSupported(
            f"{what} needs a causal language model whose blocks heatcheck knows, and {subject.id} is not one."
        )
    return found


def as_decisions(logs: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch 2"]:
    """Log-probabilities of what follows as logits of two labels: another token, and this one.

    >>> as_decisions(torch.tensor([0.5]).log()).softmax(-1)
    tensor([[0.5000, 0.5000]])
    """
    return torch.stack([torch.log1p(-logs.exp().clamp(max=1 - TINY)), logs], dim=-1)
