"""The scores by which a classifier chooses words for another one to read: one score per word, never below 0.

Each is the explainer of the same name, always computed in evaluation mode. (The published code of FRESH left dropout
on.)
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.models.contract.gradient import differentiate
from heatcheck.models.contract.parts import heat_sites, token_weights
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Site, Subject
from heatcheck.models.contract.without_each import Erases

OfTokens = Callable[[Subject, Batch], Float[Tensor, "example token"]]
EMBEDDING = Site("embedding")


def word_saliency(subject: Subject, examples: Sequence[Example], by: str) -> Float[np.ndarray, "example word"]:
    """How much each word matters to a model: `attention`, `gradient`, `gradient_through` or `leave_one_out`."""
    with torch.inference_mode(False):  # inside it a gradient would be 0 without a word
        return _word_saliency(subject, examples, by)


def _word_saliency(subject: Subject, examples: Sequence[Example], by: str) -> Float[np.ndarray, "example word"]:
    batch = subject.encode(examples)
    longest = max(len(example.words) for example in examples)
    if by == "leave_one_out":
        return _without_each(subject, batch, longest)
    found = OF_TOKENS[by](subject, batch).double() * batch.scored
    words = torch.zeros(len(batch), longest, dtype=torch.float64, device=found.device)
    return np.asarray(words.scatter_add_(1, batch.word.clamp(min=0), found).cpu().numpy())


@torch.no_grad()
def _attention(subject: Subject, batch: Batch) -> Float[Tensor, "example token"]:
    return token_weights(subject, subject.run(batch, want=heat_sites(subject)))


def _gradient(subject: Subject, batch: Batch, *, edits: Edits = NO_EDITS) -> Float[Tensor, "example token"]:
    """|embedding · gradient| of the predicted label's log-probability, which ranks as its probability does."""

    def target(run: Run) -> Float[Tensor, " example"]:
        return run.logits[:, 0].double().log_softmax(-1).amax(-1)

    with torch.no_grad():
        embedded = subject.run(batch, want=[EMBEDDING]).parts[EMBEDDING]
    slope = differentiate(subject, batch, [EMBEDDING], target, edits=edits)[EMBEDDING]
    return (slope * embedded).double().sum(-1).abs()


def _constant_weights(subject: Subject, batch: Batch) -> Float[Tensor, "example token"]:
    return _gradient(subject, batch, edits=dict.fromkeys(heat_sites(subject), torch.Tensor.detach))


def _without_each(subject: Subject, batch: Batch, words: int) -> Float[np.ndarray, "example word"]:
    """How far the predicted label's probability moves without each word; 0 where nothing else would be left."""
    if not isinstance(subject, Erases):
        raise NotSupported(f"{subject.id} has no short cut to its answers without each word, which is needed here.")
    found = np.zeros((len(batch), words))
    for part in subject.without_each(batch):
        example, word = part.example.cpu().numpy(), part.word.cpu().numpy()
        chances = part.logits[:, 0].double().softmax(-1).cpu().numpy()
        whole = np.zeros((len(batch), chances.shape[1]))
        whole[example[word < 0]] = chances[word < 0]
        gap = word >= 0
        label = whole.argmax(1)[example[gap]]
        found[example[gap], word[gap]] = np.abs(whole[example[gap], label] - chances[gap, label])
    return found


OF_TOKENS: dict[str, OfTokens] = {
    "attention": _attention,
    "gradient": _constant_weights,
    "gradient_through": _gradient,
}
