"""Trainings side by side as the recorder saw them: an honest one and its twins a seed, and what is compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.training import Observed

Scores: TypeAlias = Float[np.ndarray, "example token"]
TURNED = ("influence", "leave_one_out")  # what the released code has with the other sign


@dataclass(frozen=True)
class Seed:
    """One honest training and the twins beside it; None where a fit could not be made."""

    learned: Sequence[Observed] | None
    uniform: Sequence[Observed] | None
    proxy: Sequence[Observed] | None
    log_odds: Scores | None
    sign: int = 1  # −1: influence as published

    def trained(self, kind: str, at: int, quantity: str) -> Scores | None:
        found: Sequence[Observed] | None = getattr(self, kind)
        return None if found is None else found[at].padded(quantity) * (self.sign if quantity in TURNED else 1)


# What each quantity is at a checkpoint of the training. "final" stays at the last one.
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
    """All that was observed, on the texts that can be ranked."""

    seeds: Sequence[Seed]
    steps: Sequence[int]
    valid: Bool[np.ndarray, "example token"]
    kept: Bool[np.ndarray, " example"]
    top: float

    @cached_property
    def ranked(self) -> Bool[np.ndarray, "item token"]:
        """Which places are tokens, of the texts that are kept."""
        return np.asarray(self.valid[self.kept])

    @cached_property
    def first(self) -> Observed:
        """Any observation: what is the same in all of them is read from it."""
        return next(found[0] for seed in self.seeds for found in (seed.learned, seed.uniform) if found is not None)

    def over(self, kind: str, value: Callable[[Observed], np.ndarray]) -> Float[np.ndarray, "draw item example"] | None:
        """A quantity of the texts that are kept, of each fit of a kind at each checkpoint; None where there is none."""
        found = [getattr(seed, kind) for seed in self.seeds]
        each = [[value(seen)[self.kept] for seen in of] for of in found if of is not None]
        return np.array(each) if each else None

    def compared(
        self, pair: Sequence[str], value: Callable[[Scores, Scores], np.ndarray]
    ) -> Float[np.ndarray, "draw item example"] | None:
        """A comparison of two quantities, by seed, checkpoint and text; None where no seed has both."""
        rows = []
        for seed in self.seeds:
            both = [(SCORES[pair[0]](seed, at), SCORES[pair[1]](seed, at)) for at in range(len(self.steps))]
            each = [value(u[self.kept], v[self.kept]) for u, v in both if u is not None and v is not None]
            rows += [each] if each else []
        return np.array(rows) if rows else None
