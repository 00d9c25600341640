"""What the predicted label's probability loses without each word."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int

from heatcheck.data import Batch, Example
from heatcheck.explainers.removal import delete
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Erases, Subject
from heatcheck.training import batches_by_length, predict

DIGITS = 6  # a difference below a millionth is the noise of float32 logits: such words are tied
BATCH = 512  # texts that are encoded together; fewer are worked on at once
FEW = 32  # texts whose shortened copies are made together, one a word
Logs: TypeAlias = Float[np.ndarray, "gap label"]  # log-probabilities of the first decision
Gold: TypeAlias = Int[np.ndarray, " gap"]  # its right label; -1 where none is known


def probability_lost(whole: Logs, without: Logs, _: Gold) -> Float[np.ndarray, " gap"]:
    """p(label) − p(label | the text without the word), of the label that is predicted for the whole text."""
    label, row = whole.argmax(-1), np.arange(len(whole))
    return np.asarray(np.exp(whole[row, label]) - np.exp(without[row, label]))


Lost: TypeAlias = Callable[[Logs, Logs, Gold], Float[np.ndarray, " gap"]]  # by a word's absence


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """p(label) − p(label | the text without the word), the word deleted and the rest encoded again."""
    return erase_each(subject, examples)


def erase_each(
    subject: Subject, examples: Sequence[Example], *, tolerance: float = 0.0, lost: Lost = probability_lost
) -> WordScores:
    """Leave-one-out, by the subject's own short cut where it has one: there a tolerance may help (models/erases.py)."""
    found: dict[int, np.ndarray | str] = {}
    for indices in batches_by_length(examples, BATCH if isinstance(subject, Erases) else FEW):
        chosen = [examples[i] for i in indices]
        words = [len(example.words) for example in chosen]
        batch = subject.encode(chosen)
        if isinstance(subject, Erases):
            losses = _without(subject, batch, max(words), tolerance, lost)
        else:
            losses = _deleted(subject, chosen, batch, max(words), lost)
        some = np.isfinite(losses).any(1)
        for i, row, length, known in zip(indices, losses.round(DIGITS), words, some, strict=True):
            found[i] = row[:length] if known else "one word only: nothing is left without it"
    return [found[i] for i in range(len(examples))]


def _without(
    subject: Erases, batch: Batch, words: int, tolerance: float, lost: Lost
) -> Float[np.ndarray, "example word"]:
    """Losses from one encoding of each text; nan where a word has no token, or no other word has."""
    losses, gold = np.full((len(batch), words), np.nan), _gold(batch)
    for part in subject.without_each(batch, tolerance=tolerance):
        example, word = part.example.cpu().numpy(), part.word.cpu().numpy()
        logs = part.logits[:, 0].double().log_softmax(-1).cpu().numpy()
        whole = np.empty((len(batch), logs.shape[1]))
        whole[example[word < 0]] = logs[word < 0]
        gap = word >= 0
        losses[example[gap], word[gap]] = lost(whole[example[gap]], logs[gap], gold[example[gap]])
    return losses


def _deleted(
    subject: Subject, examples: Sequence[Example], batch: Batch, words: int, lost: Lost
) -> Float[np.ndarray, "example word"]:
    """The same from encoding every shortened text."""
    losses, gold = np.full((len(examples), words), np.nan), _gold(batch)
    tokens = [{w for w in row if w >= 0} for row in batch.word.tolist()]
    gaps = [(row, word) for row, some in enumerate(tokens) if len(some) > 1 for word in sorted(some)]
    if gaps:
        # TensorFloat32, cuDNN's default, would make differences of probabilities out of nothing.
        own = torch.backends.cudnn
        with own.flags(enabled=own.enabled, deterministic=own.deterministic, allow_tf32=False):
            whole = predict(subject, examples)[:, 0]
            without = predict(subject, [delete(examples[row], {word}) for row, word in gaps])[:, 0]
        row, word = np.array(gaps).T
        losses[row, word] = lost(whole[row], without, gold[row])
    return losses


def _gold(batch: Batch) -> Int[np.ndarray, " example"]:
    """The right label of the first decision, -1 where none is known."""
    if batch.gold is None:
        return np.full(len(batch), -1)
    return np.asarray(batch.gold[:, 0].cpu().numpy())


leave_one_out = Explainer(
    "leave_one_out",
    "loss of the predicted label's probability when the word is deleted",
    signed=True,
    explain=explain,
    paper="Jain & Wallace 2019, Algorithm 1",
)
