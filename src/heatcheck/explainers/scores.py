"""One importance a word, and what an explainer is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.data import Example
from heatcheck.models import Subject


@dataclass(frozen=True)
class Scores:
    """Scores over the words of each text (cut at plain spaces), padded to the longest.

    A word's score is the sum over its tokens. `valid` is False at padding, at words without a token, and
    throughout an example that could not be explained; `missing` says why, by example id.
    """

    explainer: str
    signed: bool  # False: only the size means anything
    ids: tuple[str, ...]
    values: Float[np.ndarray, "example word"]
    valid: Bool[np.ndarray, "example word"]
    missing: dict[str, str]

    def sizes(self) -> Float[np.ndarray, "example word"]:
        """Importance without direction: what a heatmap can show."""
        return np.abs(self.values) if self.signed else self.values


WordScores: TypeAlias = Sequence[
    np.ndarray | str
]  # an example's scores over its words (nan: none), or why there are none
Explain: TypeAlias = Callable[[Subject, Sequence[Example], int], WordScores]
ExplainAtScale: TypeAlias = Callable[[Subject, Sequence[Example], int, float], WordScores]


class Explainer(NamedTuple):
    """A way to score words. `explain(subject, examples, seed)` gives one array an example.

    Where the scores depend on how large the logits are, not on their ratios alone, `at_scale` gives those of logits
    times a factor, its last argument: a check that ranks by them asks for standardised ones.
    """

    name: str
    about: str
    signed: bool
    explain: Explain
    paper: str = ""
    at_scale: ExplainAtScale | None = None


def of_probability(name: str, about: str, at_scale: ExplainAtScale, *, signed: bool, paper: str = "") -> Explainer:
    """An explainer of a probability: by itself of the model's own, in an audit of a standardised one."""

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        return at_scale(subject, examples, seed, 1.0)

    return Explainer(name, about, signed, explain, paper, at_scale)


def pad_scores(explainer: Explainer, examples: Sequence[Example], found: WordScores) -> Scores:
    """Arrays of each example's own length to one padded array, and reasons to `missing`."""
    longest = max(len(example.words) for example in examples)
    values = np.zeros((len(examples), longest))
    valid = np.zeros((len(examples), longest), dtype=bool)
    missing = {}
    for row, (example, scores) in enumerate(zip(examples, found, strict=True)):
        if isinstance(scores, str):
            missing[example.id] = scores
            continue
        known = np.isfinite(scores)
        values[row, : len(scores)] = np.where(known, scores, 0.0)
        valid[row, : len(scores)] = known
    return Scores(explainer.name, explainer.signed, tuple(e.id for e in examples), values, valid, missing)
