"""Recorded training runs side by side: for each seed, with learned weights, with uniform ones, and a bag of words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.training import Observed

Scores: TypeAlias = Float[np.ndarray, "example token"]
TURNED = ("influence", "leave_one_out")  # these have the opposite sign in the released code


@dataclass(frozen=True)
class Seed:
    """One run with learned weights and its counterparts; None for a missing run."""

    learned: Sequence[Observed] | None
    uniform: Sequence[Observed] | None
    proxy: Sequence[Observed] | None
    log_odds: Scores | None
    sign: int = 1  # −1: influence as published

    def trained(self, kind: str, at: int, quantity: str) -> Scores | None:
        found: Sequence[Observed] | None = getattr(self, kind)
        return None if found is None else found[at].padded(quantity) * (self.sign if quantity in TURNED else 1)


# Each quantity at a checkpoint of the training run. "final" is always the last one.
SCORES: dict[str, Callable[[Seed, int], Scores | None]] = {
    "attention": lambda seed, at: seed.trained("learned", at, "attention"),
    "final attention": lambda seed, _: seed.trained("learned", -1, "attention"),
    "relevance": lambda seed, at: seed.trained("learned", at, "relevance"),
    "influence": lambda seed, at: seed.trained("learned", at, "influence"),
    "leave-one-out influence": lambda seed, at: seed.trained("learned", at, "leave_one_out"),
    "uniform relevance": lambda seed, at: seed.trained("uniform", at, "relevance"),
    "final uniform relevance": lambda seed, _: seed.trained("uniform", -1, "relevance"),
    "proxy relevance": lambda seed, _: seed.trained("proxy", -1, "relevance"),
    "log-odds": lambda seed, _: seed.log_odds,
}


@dataclass(frozen=True)
class Trainings:
    """All recorded runs, on the texts that can be ranked."""

    seeds: Sequence[Seed]
    steps: Sequence[int]
    valid: Bool[np.ndarray, "example token"]
    kept: Bool[np.ndarray, " example"]
    top: float

    @cached_property
    def ranked(self) -> Bool[np.ndarray, "item token"]:
        """A mask of tokens in the texts that are kept."""
        return np.asarray(self.valid[self.kept])

    @cached_property
    def first(self) -> Observed:
        """Any record, for facts that all of them share."""
        return next(found[0] for seed in self.seeds for found in (seed.learned, seed.uniform) if found is not None)

    def over(self, kind: str, value: Callable[[Observed], np.ndarray]) -> Float[np.ndarray, "draw item example"] | None:
        """A quantity per run of a kind, checkpoint and kept text; None if there is no such run."""
        found = [getattr(seed, kind) for seed in self.seeds]
        each = [[value(seen)[self.kept] for seen in of] for of in found if of is not None]
        return np.array(each) if each else None

    def compared(
        self, pair: Sequence[str], value: Callable[[Scores, Scores], np.ndarray]
    ) -> Float[np.ndarray, "draw item example"] | None:
        """A comparison of two quantities, by seed, checkpoint and text; None if no seed has both."""
        rows = []
        for seed in self.seeds:
            both = [(SCORES[pair[0]](seed, at), SCORES[pair[1]](seed, at)) for at in range(len(self.steps))]
            each = [value(u[self.kept], v[self.kept]) for u, v in both if u is not None and v is not None]
            rows += [each] if each else []
        return np.array(rows) if rows else None
