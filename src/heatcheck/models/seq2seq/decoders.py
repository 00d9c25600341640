"""Two decoders, each split around its attention: `before` computes the query, `after` uses the context.

Luong's decoder computes its query after its recurrent step and gives nothing back to it, so under teacher forcing all
steps run at once. Bahdanau's computes it before, and the context enters the step, so each step waits for the previous.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

State: TypeAlias = Tensor | tuple[Tensor, Tensor]  # of a GRU; of an LSTM with its cell
CELLS: dict[str, type[nn.GRU] | type[nn.LSTM]] = {"gru": nn.GRU, "lstm": nn.LSTM}
Words: TypeAlias = Float[Tensor, "example query word"]  # embeddings
Contexts: TypeAlias = Float[Tensor, "example query size"]
Features: TypeAlias = Float[Tensor, "example query feature"]
Each: TypeAlias = Float[Tensor, "example draw size"]  # contexts that one step might have
Prepared: TypeAlias = Float[Tensor, "example draw column"]


class Asked(NamedTuple):
    """The query of a step, and the recurrent state at that point."""

    query: Tensor
    state: State

    def repeated(self, times: int) -> "Asked":
        """Each example so many times in a row; states are [layer example feature]."""
        state = self.state
        if isinstance(state, tuple):
            again: State = (state[0].repeat_interleave(times, 1), state[1].repeat_interleave(times, 1))
        else:
            again = state.repeat_interleave(times, 1)
        return Asked(self.query.repeat_interleave(times, 0), again)


class Decoder(nn.Module, ABC):
    """Base class of both. `size` is the width of the output features; `at_once`: steps need not wait for contexts."""

    size: int
    at_once: bool

    @abstractmethod
    def before(self, embedded: Words, state: State) -> Asked:
        """From the embeddings of the previous words to the query."""

    @abstractmethod
    def after(self, embedded: Words, asked: Asked, context: Contexts) -> tuple[Features, State]:
        """From the context to the output features, and the state that the next step starts from."""

    def prepare(self, contexts: Each) -> Prepared:
        """Compute in advance what depends on the contexts alone."""
        return contexts

    def with_each(self, embedded: Words, asked: Asked, prepared: Prepared) -> Float[Tensor, "example draw feature"]:
        """The output features of one step under each of these prepared contexts."""
        times = prepared.shape[1]
        again = prepared.flatten(0, 1)[:, None]
        features, _ = self.after(embedded.repeat_interleave(times, 0), asked.repeated(times), again)
        return features[:, 0].reshape(len(prepared), times, -1)


class LuongWriter(Decoder):
    """tanh(Q [d; P c]): as in Snell et al.'s copy task."""

    at_once = True

    def __init__(self, cell: str, embedding: int, hidden: int, context: int) -> None:
        super().__init__()
        self.recurrent = CELLS[cell](embedding, hidden, batch_first=True)
        self.of_context = nn.Linear(context, hidden)
        self.merge = nn.Linear(2 * hidden, hidden)
        self.size = hidden

    def before(self, embedded: Words, state: State) -> Asked:
        return Asked(*self.recurrent(embedded, state))

    def after(self, _: Words, asked: Asked, context: Contexts) -> tuple[Features, State]:
        both = torch.cat([asked.query, self.of_context(context)], dim=-1)
        return self.merge(both).tanh(), asked.state

    def prepare(self, contexts: Each) -> Prepared:
        """Q P c, once for all steps: only tanh and the output are left to each."""
        of_contexts = self.merge.weight[:, self.size :]
        return nn.functional.linear(self.of_context(contexts), of_contexts)

    def with_each(self, _: Words, asked: Asked, prepared: Prepared) -> Float[Tensor, "example draw feature"]:
        of_query = nn.functional.linear(asked.query, self.merge.weight[:, : self.size], self.merge.bias)
        return (of_query + prepared).tanh()


class BahdanauWriter(Decoder):
    """[s; c; e], where s has read c: as in Pruthi et al.'s code."""

    at_once = False

    def __init__(self, cell: str, embedding: int, hidden: int, context: int) -> None:
        super().__init__()
        self.recurrent = CELLS[cell](embedding + context, hidden, batch_first=True)
        self.size = hidden + context + embedding

    def before(self, _: Words, state: State) -> Asked:
        hidden = state[0] if isinstance(state, tuple) else state
        return Asked(hidden.transpose(0, 1), state)

    def after(self, embedded: Words, asked: Asked, context: Contexts) -> tuple[Features, State]:
        written, state = self.recurrent(torch.cat([embedded, context], dim=-1), asked.state)
        return torch.cat([written, context, embedded], dim=-1), state


DECODERS: dict[str, type[LuongWriter] | type[BahdanauWriter]] = {"bahdanau": BahdanauWriter, "luong": LuongWriter}
