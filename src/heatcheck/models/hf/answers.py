"""The answers that a language model could go on with: their tokens behind the prompt, and how probable each is.

A token of an answer is read from the token before it. So the tokens of every answer but its last stand behind the
prompt, one answer after the other. Each sees the prompt and its own beginning, at the positions that it would have
alone: one pass reads them all, and the model is as if it had read each answer by itself.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heatcheck.models.hf.answer_scores import log_odds_of_all, log_probability, token_log_odds

Score: TypeAlias = Literal["text", "mean", "pmi"]
SCORES: tuple[Score, ...] = get_args(Score)


class Answers:
    """Answers as tokens: one per label, or a lone one, whose rival is everything else that could be said."""

    def __init__(self, ids: Sequence[Sequence[int]]) -> None:
        self.ids = tuple(tuple(one) for one in ids)
        self.appended = tuple(token for one in self.ids for token in one[:-1])
        self._of = [number for number, one in enumerate(self.ids) for _ in one[:-1]]
        self._depth = [depth for one in self.ids for depth in range(1, len(one))]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def first(self) -> "Answers":
        """The first token of each: nothing stands behind the prompt."""
        return Answers([one[:1] for one in self.ids])

    @property
    def deepest(self) -> int:
        """Positions after the prompt that are read."""
        return max(self._depth, default=0)

    @property
    def branches(self) -> bool:
        """Whether tokens of two answers stand behind the prompt, so that one must not see the other."""
        return len(set(self._of)) > 1

    @cached_property
    def _steps(self) -> tuple[list[int], list[int], list[int]]:
        """For each token of each answer: the row that it is read from, counted from the prompt's last; its id; whose.

        >>> Answers([(5, 6, 7), (8,), (9, 6)])._steps
        ([0, 1, 2, 0, 0, 3], [5, 6, 7, 8, 9, 6], [0, 0, 0, 1, 2, 2])
        """
        rows, before = [], 0
        for one in self.ids:
            rows += [0, *range(before + 1, before + len(one))]
            before += len(one) - 1
        owners = [number for number, one in enumerate(self.ids) for _ in one]
        return rows, [token for one in self.ids for token in one], owners

    def log_odds(self, logits: Float[Tensor, "example asked label"]) -> Float[Tensor, "example token"]:
        """log p/(1−p) of every token of every answer, from the logits of the rows that answers are read from."""
        rows, ids, _ = self._steps
        return token_log_odds(logits[:, rows], torch.tensor(ids, device=logits.device).expand(len(logits), -1))

    def log_probabilities(self, logits: Float[Tensor, "example asked label"]) -> Float[Tensor, "example output"]:
        """log P of each whole answer."""
        owner = torch.tensor(self._steps[2], device=logits.device)
        empty = torch.zeros(len(logits), len(self), dtype=torch.double, device=logits.device)
        return empty.index_add(1, owner, log_probability(self.log_odds(logits)))

    def odds(self, logits: Float[Tensor, "example asked label"]) -> Float[Tensor, "example 1"]:
        """log P/(1−P) of a lone answer: the model says it, or anything else."""
        return log_odds_of_all(self.log_odds(logits))[:, None]

    def rows(self, last: Int[Tensor, " example"]) -> Int[Tensor, "example asked"]:
        """The tokens that answers are read from: the prompt's last, and all behind it."""
        return last[:, None] + torch.arange(len(self.appended) + 1, device=last.device)

    def positions(self, prompts: Int[Tensor, " example"]) -> Int[Tensor, "example token"]:
        """Where each appended token stands, behind prompts of these lengths."""
        return prompts[:, None] + torch.tensor(self._depth, device=prompts.device, dtype=torch.long) - 1

    def hidden(
        self, last: Int[Tensor, " example"], tokens: int, window: int | None = None
    ) -> Bool[Tensor, "example query key"]:
        """Which of the tokens must not see which: later ones, those of another answer, and those beyond a window.

        Args:
            last: the prompt's last token.
        """
        place = torch.arange(tokens, device=last.device).expand(len(last), -1)
        behind = (place - last[:, None] - 1).clamp(0, len(self._of) - 1)
        is_answer = place > last[:, None]
        of = torch.tensor(self._of, device=last.device)[behind].masked_fill(~is_answer, -1)
        depth = torch.tensor(self._depth, device=last.device)[behind]
        position = torch.where(is_answer, last[:, None] + depth, place)
        strangers = (of[:, :, None] >= 0) & (of[:, None] >= 0) & (of[:, :, None] != of[:, None])
        found = strangers | (place[:, None] > place[:, :, None])
        return found if window is None else found | (position[:, :, None] - position[:, None] >= window)
