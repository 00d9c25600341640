"""From scores to weights: additive (tanh), scaled dot-product and linear attention, with and without a query.

To add an attention, write one class here and add one line to ATTENTIONS.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heatcheck.errors import BadInput
from heatcheck.models.classifiers.kernels import tanh_dot


class Attention(nn.Module):
    """Base class of all attentions: from hidden states to one row of scores per query.

    `mapping`, `asked` and `scores_of` split the same computation at the point where it stops being linear in the state.
    Code that already has the mapped states uses them (models/contract/without_each.py). The defaults work for any
    attention and map nothing.
    """

    def forward(
        self, states: Float[Tensor, "example key feature"], question: Float[Tensor, "example asked"] | None
    ) -> Float[Tensor, "example query key"]:
        raise NotImplementedError

    def mapping(self, features: int, device: torch.device) -> Float[Tensor, "column feature"]:
        """The linear map from a state to what the scores depend on."""
        return torch.eye(features, device=device)

    def asked(self, question: Float[Tensor, "example asked"] | None) -> Float[Tensor, "example column"] | None:
        """The part of a question that the scores depend on."""
        return question

    def scores_of(
        self, mapped: Float[Tensor, "example key column"], asked: Float[Tensor, "example column"] | None
    ) -> Float[Tensor, "example query key"]:
        """Compute `forward` from mapped states."""
        scores: Tensor = self(mapped, asked)
        return scores


class AdditiveAttention(Attention):
    """v·tanh(W h [+ W_q q]): one row of scores for each of `queries` learned vectors v."""

    def __init__(self, features: int, *, question: int = 0, queries: int = 1) -> None:
        super().__init__()
        self.of_state = nn.Linear(features, features // 2)
        self.of_question = nn.Linear(question, features // 2) if question else None
        self.score = nn.Linear(features // 2, queries, bias=False)

    def forward(
        self, states: Float[Tensor, "example key feature"], question: Float[Tensor, "example asked"] | None
    ) -> Float[Tensor, "example query key"]:
        hidden = self.of_state(states)
        if self.of_question is not None and question is not None:
            hidden = hidden + self.of_question(question)[:, None, :]
        scores: Tensor = self.score(hidden.tanh())
        return scores.transpose(1, 2)

    def mapping(self, features: int, device: torch.device) -> Float[Tensor, "column feature"]:
        return self.of_state.weight

    def asked(self, question: Float[Tensor, "example asked"] | None) -> Float[Tensor, "example column"] | None:
        if self.of_question is None or question is None:
            return None
        asked: Tensor = self.of_question(question)
        return asked

    def scores_of(
        self, mapped: Float[Tensor, "example key column"], asked: Float[Tensor, "example column"] | None
    ) -> Float[Tensor, "example query key"]:
        hidden = mapped + self.of_state.bias
        if asked is not None:
            hidden = hidden + asked[:, None, :]
        return tanh_dot(hidden, self.score.weight).transpose(1, 2)


class DotAttention(Attention):
    """w·h/√d with a learned w for each query, or q·h/√d with the question's summary and no parameters."""

    def __init__(self, features: int, *, question: int = 0, queries: int = 1) -> None:
        super().__init__()
        if question not in (0, features):
            raise BadInput(
                f"with attention=dot the question vector must have the size of the states ({features}), not {question}."
            )
        self.score = None if question else nn.Linear(features, queries, bias=False)

    def forward(
        self, states: Float[Tensor, "example key feature"], question: Float[Tensor, "example asked"] | None
    ) -> Float[Tensor, "example query key"]:
        scale: float = states.shape[-1] ** -0.5
        if self.score is not None:
            scores: Tensor = self.score(states)
            return scale * scores.transpose(1, 2)
        assert question is not None
        return scale * torch.einsum("ekf,ef->ek", states, question)[:, None, :]

    def mapping(self, features: int, device: torch.device) -> Float[Tensor, "column feature"]:
        return super().mapping(features, device) if self.score is None else features**-0.5 * self.score.weight

    def scores_of(
        self, mapped: Float[Tensor, "example key column"], asked: Float[Tensor, "example column"] | None
    ) -> Float[Tensor, "example query key"]:
        return super().scores_of(mapped, asked) if self.score is None else mapped.transpose(1, 2)


class LinearAttention(Attention):
    """w·h + b with a learned w and b for each query, as in Pruthi et al.'s code; it takes no question."""

    def __init__(self, features: int, *, question: int = 0, queries: int = 1) -> None:
        super().__init__()
        assert not question, "ClassifierSettings allows no question here"
        self.score = nn.Linear(features, queries)

    def forward(
        self, states: Float[Tensor, "example key feature"], question: Float[Tensor, "example asked"] | None
    ) -> Float[Tensor, "example query key"]:
        scores: Tensor = self.score(states)
        return scores.transpose(1, 2)

    def mapping(self, features: int, device: torch.device) -> Float[Tensor, "column feature"]:
        return self.score.weight

    def scores_of(
        self, mapped: Float[Tensor, "example key column"], asked: Float[Tensor, "example column"] | None
    ) -> Float[Tensor, "example query key"]:
        return (mapped + self.score.bias).transpose(1, 2)


ATTENTIONS: dict[str, type[AdditiveAttention] | type[DotAttention] | type[LinearAttention]] = {
    "dot": DotAttention,
    "linear": LinearAttention,
    "tanh": AdditiveAttention,
}
