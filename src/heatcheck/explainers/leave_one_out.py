"""What the predicted label's probability loses without each word."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from heatcheck.data import Example
from heatcheck.explainers.removal import delete
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.models import Erases, Subject
from heatcheck.training import batches_by_length, predict

DIGITS = 6  # a difference below a millionth is the noise of float32 logits: such words are tied
BATCH = 512  # texts that are encoded together; fewer are worked on at once
FEW = 32  # texts whose shortened copies are made together, one a word


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """p(label) − p(label | the text without the word), the word deleted and the rest encoded again."""
    return erase_each(subject, examples)


def erase_each(subject: Subject, examples: Sequence[Example], *, tolerance: float = 0.0) -> WordScores:
    """Leave-one-out, by the subject's own short cut where it has one: there a tolerance may help (models/erases.py)."""
    found: dict[int, np.ndarray | str] = {}
    for indices in batches_by_length(examples, BATCH if isinstance(subject, Erases) else FEW):
        chosen = [examples[i] for i in indices]
        words = [len(example.words) for example in chosen]
        if isinstance(subject, Erases):
            losses = _without(subject, chosen, max(words), tolerance)
        else:
            losses = _deleted(subject, chosen, max(words))
        some = np.isfinite(losses).any(1)
        for i, row, length, known in zip(indices, losses.round(DIGITS), words, some, strict=True):
            found[i] = row[:length] if known else "one word only: nothing is left without it"
    return [found[i] for i in range(len(examples))]


def _without(
    subject: Erases, examples: Sequence[Example], words: int, tolerance: float
) -> Float[np.ndarray, "example word"]:
    """Losses from one encoding of each text; nan where a word has no token, or no other word has."""
    losses = np.full((len(examples), words), np.nan)
    for part in subject.without_each(subject.encode(examples), tolerance=tolerance):
        example, word = part.example.cpu().numpy(), part.word.cpu().numpy()
        p = part.logits[:, 0].double().softmax(-1).cpu().numpy()
        whole = np.empty((len(examples), p.shape[1]))
        whole[example[word < 0]] = p[word < 0]
        gap = word >= 0
        label = whole[example[gap]].argmax(-1)
        losses[example[gap], word[gap]] = whole[example[gap], label] - p[gap, label]
    return losses


def _deleted(subject: Subject, examples: Sequence[Example], words: int) -> Float[np.ndarray, "example word"]:
    """The same from encoding every shortened text."""
    losses = np.full((len(examples), words), np.nan)
    tokens = [{w for w in row if w >= 0} for row in subject.encode(examples).word.tolist()]
    gaps = [(row, word) for row, some in enumerate(tokens) if len(some) > 1 for word in sorted(some)]
    if gaps:
        # TensorFloat32, cuDNN's default, would make differences of probabilities out of nothing.
        own = torch.backends.cudnn
        with own.flags(enabled=own.enabled, deterministic=own.deterministic, allow_tf32=False):
            whole = np.exp(predict(subject, examples)[:, 0])
            p = np.exp(predict(subject, [delete(examples[row], {word}) for row, word in gaps])[:, 0])
        row, word = np.array(gaps).T
        label = whole[row].argmax(-1)
        losses[row, word] = whole[row, label] - p[np.arange(len(gaps)), label]
    return losses


leave_one_out = Explainer(
    "leave_one_out",
    "loss of the predicted label's probability when the word is deleted",
    signed=True,
    explain=explain,
    paper="Jain & Wallace 2019, Algorithm 1",
)
