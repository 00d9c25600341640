"""How much the predicted label's probability drops without each word."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int

from heatcheck import stats
from heatcheck.data import Batch, Example
from heatcheck.explainers.probability import log_odds, probability_lost
from heatcheck.explainers.scores import OWN_ANSWER, Aim, WordScores, of_probability
from heatcheck.explainers.word_removal import delete
from heatcheck.models import Erases, Subject
from heatcheck.training import batches_by_length

BATCH = 512  # texts that are encoded together; fewer are worked on at once
FEW = 128  # texts whose shortened copies are made together, one a word
# Log-odds that differ by less, as a share of the text's largest, differ by rounding (float32): such words are tied.
NOISE = 1e-6
Odds: TypeAlias = Float[np.ndarray, "example ..."]  # log-odds of one label, one a word or one for all of them
Lost: TypeAlias = Callable[[Odds, Odds], Odds]  # by a word's absence, from the log-odds with and without it


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """p(label) − p(label | the text without the word), the word deleted and the rest encoded again."""
    return erase_each(subject, examples, aim=aim)


def erase_each(
    subject: Subject,
    examples: Sequence[Example],
    *,
    tolerance: float = 0.0,
    aim: Aim = OWN_ANSWER,
    lost: Lost = probability_lost,
    of_gold: bool = False,
) -> WordScores:
    """Leave-one-out, by the model's own shortcut if it has one; a tolerance may speed it up (contract/without_each.py).

    Args:
        aim: the factor on the logits; the label to explain, whatever is correct or predicted; known answers.
        lost: the quantity that the label loses; its probability by default.
        of_gold: explain the correct label if known, otherwise the one predicted for the whole text.
    """
    found: dict[int, np.ndarray | str] = {}
    for indices in batches_by_length(examples, BATCH if isinstance(subject, Erases) else FEW):
        chosen = [examples[i] for i in indices]
        words = [len(example.words) for example in chosen]
        batch = subject.encode(chosen)
        odds = _Odds(batch, max(words), aim.scale, of_gold=of_gold, label=aim.label)
        if isinstance(subject, Erases):
            _without(subject, batch, tolerance, odds)
        else:
            _deleted(subject, chosen, batch, odds, aim)
        losses = lost(odds.whole[:, None], odds.without_noise())
        some = np.asarray(np.isfinite(losses).any(1))
        for i, row, length, known in zip(indices, losses, words, some, strict=True):
            found[i] = row[:length] if known else "one word only: nothing is left without it"
    return [found[i] for i in range(len(examples))]


class _Odds:
    """Log-odds of one label for each text of a batch, whole and without each word; nan where a word cannot go."""

    def __init__(self, batch: Batch, words: int, scale: float, *, of_gold: bool, label: int | None) -> None:
        gold = batch.gold if of_gold else None
        known = np.full(len(batch), -1) if gold is None else gold[:, 0].cpu().numpy()
        self._label = known if label is None else np.full(len(batch), label)  # -1: the predicted one
        self._scale = scale
        self.whole = np.full(len(batch), np.nan)
        self.without = np.full((len(batch), words), np.nan)

    def put(
        self,
        example: Int[np.ndarray, " example"],
        whole: Float[np.ndarray, "example label"],
        gap: tuple[np.ndarray, np.ndarray],
        without: Float[np.ndarray, "gap label"],
    ) -> None:
        """Whole texts by their place, and texts without a word by theirs and the word's."""
        label = np.full(len(self.whole), -1)
        label[example] = np.where(self._label[example] >= 0, self._label[example], whole.argmax(-1))
        self.whole[example] = log_odds(whole, label[example], self._scale)
        self.without[gap] = log_odds(without, label[gap[0]], self._scale)

    def without_noise(self) -> Float[np.ndarray, "example word"]:
        """Those that differ by rounding only, from each other or from the whole text's, made equal."""
        known = np.isfinite(self.without)
        largest = np.maximum(np.nan_to_num(np.abs(self.whole)), np.where(known, np.abs(self.without), 0.0).max(1))
        lost = stats.level_ties(self.without - self.whole[:, None], known, NOISE * largest)
        return np.asarray(self.whole[:, None] + lost)


def _without(subject: Erases, batch: Batch, tolerance: float, odds: _Odds) -> None:
    """From one encoding of each text; a word without a token, or without another word beside it, is never left out."""
    for part in subject.without_each(batch, tolerance=tolerance):
        example, word = part.example.cpu().numpy(), part.word.cpu().numpy()
        logs = part.logits[:, 0].double().log_softmax(-1).cpu().numpy()
        gap = word >= 0
        odds.put(example[~gap], logs[~gap], (example[gap], word[gap]), logs[gap])


def _deleted(subject: Subject, examples: Sequence[Example], batch: Batch, odds: _Odds, aim: Aim) -> None:
    """The same from encoding every shortened text."""
    tokens = [{w for w in row if w >= 0} for row in batch.word.tolist()]
    gaps = [(row, word) for row, some in enumerate(tokens) if len(some) > 1 for word in sorted(some)]
    if gaps:
        # TensorFloat32, cuDNN's default, would make differences of probabilities out of nothing.
        own = torch.backends.cudnn
        with own.flags(enabled=own.enabled, deterministic=own.deterministic, allow_tf32=False):
            whole = aim.answers(subject, examples)
            without = aim.answers(subject, [delete(examples[row], {word}) for row, word in gaps])
        row, word = np.array(gaps).T
        odds.put(np.arange(len(examples)), whole, (row, word), without)


leave_one_out = of_probability(
    "leave_one_out",
    "drop in the predicted label's probability when the word is deleted",
    explain,
    signed=True,
    paper="Jain & Wallace 2019, Algorithm 1",
)
