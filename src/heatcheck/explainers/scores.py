"""One score per word, and the interface of an explainer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from heatcheck.data import Example
from heatcheck.models import Subject
from heatcheck.training import predict


@dataclass(frozen=True)
class Scores:
    """Scores over the words of each text (split at plain spaces), padded to the longest.

    A word's score is the sum over its tokens. `valid` is False at padding, at words without a token, and throughout an
    example that could not be explained; `missing` gives the reason by example id.
    """

    explainer: str
    signed: bool  # False: only the size means anything
    ids: tuple[str, ...]
    values: Float[np.ndarray, "example word"]
    valid: Bool[np.ndarray, "example word"]
    missing: dict[str, str]

    def sizes(self) -> Float[np.ndarray, "example word"]:
        """Scores without their sign, which is what a heatmap of weights can show."""
        return np.abs(self.values) if self.signed else self.values


WordScores: TypeAlias = Sequence[
    np.ndarray | str
]  # an example's scores over its words (nan: none), or why there are none
Explain: TypeAlias = Callable[[Subject, Sequence[Example], int], WordScores]


Read: TypeAlias = Callable[[Sequence[Example]], Float[np.ndarray, "text label"]]  # texts to log-probabilities


class Aim(NamedTuple):
    """The output to explain: `label`, or the predicted label of each text, of logits times `scale`.

    `read` asks for the model's answers to changed texts, in case some are known already (checks/answers.py); None: the
    model reads each.
    """

    scale: float = 1.0
    label: int | None = None
    read: Read | None = None

    def answers(self, subject: Subject, texts: Sequence[Example]) -> Float[np.ndarray, "text label"]:
        """Log-probabilities of the first decision."""
        found: Float[np.ndarray, "text label"] = (
            predict(subject, texts)[:, 0] if self.read is None else self.read(texts)
        )
        return found


OWN_ANSWER = Aim()  # the predicted label, with the model's own probabilities
ExplainAimed: TypeAlias = Callable[[Subject, Sequence[Example], int, Aim], WordScores]


class Explainer(NamedTuple):
    """A method that scores words. `explain(subject, examples, seed)` returns one array per example.

    If the scores depend on a label, `aimed` returns those of another label. `scaled` is True if they also depend on the
    size of the logits, not only on their ratios; then checks that rank by them use standardised logits. `of_heatmap` is
    True if they are about the weights of one heatmap, such as one layer's; others are about the whole model. `together`
    is True if an example's scores depend on the other examples, so that these are never explained in parts.
    """

    name: str
    about: str
    signed: bool
    explain: Explain
    paper: str = ""
    aimed: ExplainAimed | None = None
    scaled: bool = False
    of_heatmap: bool = False
    together: bool = False


def of_label(name: str, about: str, aimed: ExplainAimed, *, signed: bool, paper: str = "") -> Explainer:
    """An explainer of one label; by default the predicted one."""

    def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
        return aimed(subject, examples, seed, OWN_ANSWER)

    return Explainer(name, about, signed, explain, paper, aimed)


def of_probability(name: str, about: str, aimed: ExplainAimed, *, signed: bool, paper: str = "") -> Explainer:
    """An explainer of a label's probability: by default the model's own, in an audit a standardised one."""
    return of_label(name, about, aimed, signed=signed, paper=paper)._replace(scaled=True)


def pad_scores(explainer: Explainer, examples: Sequence[Example], found: WordScores) -> Scores:
    """Join one array per example into one padded array; reasons go to `missing`."""
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
