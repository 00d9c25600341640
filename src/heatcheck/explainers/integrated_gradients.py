"""Integrated gradients from zero embeddings: the gradient at several points of the way, each with its share of it."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.gradient import EMBEDDING
from heatcheck.explainers.probability import explained_labels, label_probability
from heatcheck.explainers.scores import Aim, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject
from heatcheck.models.contract.lengths import CountsTokens

STEPS = 50
AT_ONCE = 128  # steps of texts whose states are kept for the way back: all of a batch's are gigabytes of a transformer

MOST = 2**14  # tokens of a transformer likewise


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """Integrated gradients of the label's probability, along the straight path from zero embeddings to the text's."""
    places, shares = (torch.from_numpy(part) / 2 for part in np.polynomial.legendre.leggauss(STEPS))
    places = places + 0.5  # of Gauss and Legendre, on the way from 0 to 1

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        with torch.no_grad():
            run = subject.run(batch, want=[EMBEDDING])
        label = explained_labels(run.logits[:, 0], aim.label)
        embedded, total = run.parts[EMBEDDING], torch.zeros_like(run.parts[EMBEDDING])
        steps = max(_at_once(subject, batch) // len(batch), 1)
        with torch.backends.cudnn.flags(enabled=False):
            for start in range(0, STEPS, steps):
                at, share = places[start : start + steps].to(embedded), shares[start : start + steps].to(embedded)
                on_the_way = (at[:, None, None, None] * embedded).flatten(0, 1).requires_grad_()
                again = subject.run(batch.repeat(len(at)), edits={EMBEDDING: on_the_way})
                worth = label_probability(again, label.repeat(len(at)), aim.scale).sum()
                (gradient,) = torch.autograd.grad(worth, on_the_way)
                total += torch.einsum("s,s...->...", share, gradient.reshape(len(at), *embedded.shape))
        found: Tensor = total * embedded
        return found.sum(-1)

    return explain_tokens(subject, examples, score, batch_size=16, times=STEPS)


def _at_once(subject: Subject, batch: Batch) -> int:
    """How many texts go there and back together, each once for some of the steps."""
    if not isinstance(subject, CountsTokens):
        return AT_ONCE
    return max(len(batch), min(subject.tokens_at_once, MOST) // batch.valid.shape[1])


integrated_gradients = of_probability(
    "integrated_gradients",
    "integrated gradients from zero embeddings",
    explain,
    signed=True,
    paper="Sundararajan et al. 2017",
)
