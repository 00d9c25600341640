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


class Aim(NamedTuple):
    """The output that is explained: `label`, or the predicted label of each text, of logits times `scale`."""

    scale: float = 1.0
    label: int | None = None


OWN_ANSWER = Aim()  # the predicted label, with the model's own probabilities
ExplainAimed: TypeAlias = Callable[[Subject, Sequence[Example], int, Aim], WordScores]


class Explainer(NamedTuple):
    """A way to score words. `explain(subject, examples, seed)` gives one array an example.

    Where the scores depend on a label, `aimed` gives those of another. `scaled`: they also depend on how large the
    logits are, not on their ratios alone, and a check that ranks by them asks for standardised ones.
    """

    name: str
    about: str
    signed: bool
    explain: Explain
    paper: str = ""
    aimed: ExplainAimed | None = None
    scaled: bool = False


def of_label(name: str, about: str, aimed: ExplainAimed, *, signed: bool, paper: str = "") -> Explainer:
    """An explainer of one label: by itself of the predicted one."""

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        return aimed(subject, examples, seed, OWN_ANSWER)

    return Explainer(name, about, signed, explain, paper, aimed)


def of_probability(name: str, about: str, aimed: ExplainAimed, *, signed: bool, paper: str = "") -> Explainer:
    """An explainer of a label's probability: by itself of the model's own, in an audit of a standardised one."""
    return of_label(name, about, aimed, signed=signed, paper=paper)._replace(scaled=True)


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
