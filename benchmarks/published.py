"""Jain & Wallace's algorithms as plainly as they were published: what ours are measured against.

Written from the description of the experiments, each for one batch of 32 texts sorted by length, on the same
classifier. Nothing is made slower than a careful first version would be: no graph is kept where none is needed, and
the encoder reads without packed sequences, which is several times faster than the original there.
A result is a dictionary from an example's id to its values over content positions, or to its number.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Classifier, Site
from heatcheck.models.contract.weights import masked_softmax

EPSILON = 0.05  # total variation a counterfactual may cost, as in the released code
SHUFFLES = 100
TINY = 1e-10  # inside the published logarithms

Draw = Callable[[str, int], np.ndarray]  # an example's id and its number of positions to a permutation of them


def gradient_importance(subject: Classifier, batch: Batch) -> dict[str, np.ndarray]:
    """|embedding · d p / d embedding| with the weights detached: one forward pass with its graph, one backward.

    The published scores are then divided by their sum, which ranks cannot see.
    """
    embedding = Site("embedding")
    run = subject.run(batch, edits={Site("attention"): Tensor.detach}, want=[embedding])
    embedded = run.parts[embedding]
    (slope,) = torch.autograd.grad(_probability(run.logits).sum(), embedded)
    return _content(batch, (slope * embedded).sum(-1).abs().detach())


@torch.inference_mode()
def leave_one_out(subject: Classifier, batch: Batch) -> dict[str, np.ndarray]:
    """|p without position t − p|: position t deleted from every text of the batch, all encoded again, for each t.

    Where t lies beyond the end of a shorter text, what comes out for it is thrown away.
    """
    before = _probability(subject.run(batch).logits)
    change = torch.zeros(batch.scored.shape, dtype=before.dtype)
    for position in range(1, batch.scored.shape[1] - 1):  # between the start and the longest text's end mark
        after = _probability(subject.run(without(batch, position)).logits)
        change[:, position] = (after - before).abs()
    return _content(batch, change)


def without(batch: Batch, position: int) -> Batch:
    """The batch with one column deleted."""

    def cut(values: Tensor) -> Tensor:
        return torch.cat([values[:, :position], values[:, position + 1 :]], dim=1)

    return replace(
        batch,
        inputs={"tokens": cut(batch.inputs["tokens"])},
        valid=cut(batch.valid),
        scored=cut(batch.scored),
        word=cut(batch.word),
    )


def correlations(
    scores: Mapping[str, Mapping[str, np.ndarray]], pairs: list[tuple[str, str]]
) -> dict[tuple[str, str], np.ndarray]:
    """Kendall's τ-b and its p-value of each pair of scores, an example at a time."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns where all scores are tied
        for a, b in pairs:
            rows = [kendalltau(scores[a][name], scores[b][name]) for name in scores[a]]
            found[a, b] = np.array([(row.statistic, row.pvalue) for row in rows])
    return found


class Encoded(NamedTuple):
    """A batch after one forward pass: what the two algorithms on weights start from."""

    batch: Batch
    states: Tensor  # [B, L, H]
    weights: Tensor  # [B, L]
    before: Tensor  # [B], the probability of the second label


@torch.no_grad()  # not inference mode: the search differentiates through what is made here
def encode(subject: Classifier, batch: Batch) -> Encoded:
    """States, weights and probabilities."""
    state, weights = Site("state"), Site("attention")
    run = subject.run(batch, want=[state, weights])
    return Encoded(batch, run.parts[state], run.parts[weights][:, 0, 0], _probability(run.logits))


def attention(encoded: Encoded) -> dict[str, np.ndarray]:
    """The weights themselves."""
    return _content(encoded.batch, encoded.weights)


@torch.inference_mode()
def permutation(subject: Classifier, encoded: Encoded, draw: Draw, shuffles: int = SHUFFLES) -> dict[str, float]:
    """Median |Δp| over random permutations of each text's weights: attention and decoder run again for each."""
    batch, states, _, before = encoded
    lengths = batch.scored.sum(1).tolist()
    changes = []
    for _ in range(shuffles):
        weights = masked_softmax(subject.attention(states, None)[:, None], batch.scored)[:, 0, 0]
        order = torch.arange(weights.shape[1]).repeat(len(batch), 1)
        for row, (name, length) in enumerate(zip(batch.ids, lengths, strict=True)):
            order[row, 1 : 1 + length] = 1 + torch.from_numpy(draw(name, length))  # content stands behind the start
        context = torch.einsum("bl,blh->bh", weights.gather(1, order), states)
        changes.append((subject.output(context)[:, 0].sigmoid() - before).abs())
    return dict(zip(batch.ids, torch.stack(changes).double().quantile(0.5, dim=0).tolist(), strict=True))


def adversarial(
    subject: Classifier, encoded: Encoded, generator: torch.Generator, *, adversaries: int = 5, steps: int = 500
) -> dict[str, float]:
    """ε-max JSD: k weightings of each text searched for together by Adam, the last iterate judged.

    Minimised: Σ_i [ −JSD(α_i, α) + 500 max(0, |p_i − p| − 0.01) ] − 1/k² Σ_ij JSD(α_i, α_j). Among the k found and
    the model's own weights, the largest JSD of those with |p_i − p| ≤ ε.
    """
    batch, states, own, before = encoded
    masked = ~batch.scored[:, None]
    noise = torch.randn((len(batch), adversaries, own.shape[1]), generator=generator)
    uniform = -batch.scored.sum(1)[:, None, None].log()
    free = (uniform + 3 * noise).requires_grad_()
    optimizer = torch.optim.Adam([free], lr=0.01, amsgrad=True)

    def judge() -> tuple[Tensor, Tensor, Tensor]:
        weights = free.masked_fill(masked, -math.inf).softmax(-1)  # [B, k, L]
        contexts = (weights[..., None] * states[:, None]).sum(2)  # [B, k, L, H] to [B, k, H]
        change = (subject.output(contexts)[..., 0].sigmoid() - before[:, None]).abs()
        return weights, change, _jensen_shannon(weights, own[:, None])

    for _ in range(steps):
        weights, change, distance = judge()
        between = _jensen_shannon(weights[:, :, None], weights[:, None])  # [B, k, k]
        each = (500 * (change - 0.01).clamp(min=0) - distance).sum(1) - between.sum((1, 2)) / adversaries**2
        optimizer.zero_grad()
        each.sum().backward(inputs=[free])
        optimizer.step()
    with torch.no_grad():
        _, change, distance = judge()
        found = torch.where(change <= EPSILON, distance, 0.0).amax(1).clamp(min=0)  # the own weights: JSD 0
    return dict(zip(batch.ids, found.tolist(), strict=True))


def _probability(logits: Tensor) -> Tensor:
    """Of the second label, for each text: the sigmoid of the one output."""
    return logits[:, 0, 1].sigmoid()


def _jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    middle = ((p + q) / 2 + TINY).log()
    return (p * ((p + TINY).log() - middle) + q * ((q + TINY).log() - middle)).sum(-1) / 2


def _content(batch: Batch, values: Tensor) -> dict[str, np.ndarray]:
    """Each text's own values, without start, end and padding."""
    return {name: values[row, batch.scored[row]].double().numpy() for row, name in enumerate(batch.ids)}
