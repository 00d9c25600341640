"""Clark et al.'s probe: how much syntax do all heads together hold? One weight per head and direction, fitted on train.

p(head of i is j) ∝ exp Σ_k (w_k A_k[i,j] + u_k A_k[j,i]). The unlabelled attachment score (UAS) on test stands beside
the same probe on distances alone, the same probe on an untrained twin, and always choosing a neighbour. The probe is
trained on weights between words, so those of its own sentences are kept: some hundred sentences, no corpus.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck import stats
from heatcheck.data.treebank import Sentence
from heatcheck.engine import check_time, stream
from heatcheck.heads.measures import of_words
from heatcheck.heads.parsed import shares_in_words
from heatcheck.heads.syntax import gold_of
from heatcheck.heads.untrained import untrained
from heatcheck.models import HasLayers, Subject, require_layers

REACH = 10  # words; farther ones share a distance
STEPS = 60  # of the optimiser; the loss is convex
PENALTY = 1e-3  # on squared weights
Features = Callable[[Sentence], Float[Tensor, "word word column"]]


class Probed(NamedTuple):
    """UAS on test of the probe and of its baselines; heads of words that are neither root nor punctuation."""

    attention: stats.Interval
    distance: stats.Interval
    untrained: tuple[float, ...]  # one per seed
    previous: float  # always the word before
    following: float  # always the word after


class Fitted(NamedTuple):
    """A probe's weights, one per feature."""

    weights: Float[Tensor, " column"]

    def guess(self, features: Float[Tensor, "word word column"]) -> Tensor:
        """The most probable head of each word."""
        return _others(features @ self.weights).argmax(-1)


def probe(
    subject: Subject, train: Sequence[Sentence], test: Sequence[Sentence], *, seeds: int = 1, seed: int = 0
) -> Probed:
    """Fit the probe on train and score it on test; the sentences must be `aligned`."""
    deep = require_layers(subject, "the probe")
    scores = {
        name: score(fit_probe(features, train), features, test, seed)
        for name, features in (("attention", attention_features(deep)), ("distance", distance_features))
    }
    of_twins = []
    for number in range(seeds):
        features = attention_features(untrained(deep, number))
        of_twins.append(score(fit_probe(features, train), features, test, seed).value)
    gold = gold_of(test)
    place = np.arange(gold.head.shape[1])
    counted = gold.head >= 0
    beside = [float((gold.head == place + way)[counted].mean()) for way in (-1, 1)]
    return Probed(scores["attention"], scores["distance"], tuple(of_twins), *beside)


def attention_features(subject: HasLayers) -> Features:
    """Weights between the words of a sentence, of every head, in both directions."""

    @torch.inference_mode()
    def features(sentence: Sentence) -> Float[Tensor, "word word column"]:
        batch = subject.encode([sentence.example])
        words = shares_in_words(batch, most=len(sentence.words))
        found = subject.run(batch, want={site: lambda weights: of_words(weights, words) for site in subject.sites})
        maps = torch.cat([found.parts[site][0] for site in subject.sites]).permute(1, 2, 0).cpu()
        return torch.cat([maps, maps.transpose(0, 1)], dim=-1).clone()

    return features


def distance_features(sentence: Sentence) -> Float[Tensor, "word word column"]:
    """Which distance lies between two words, as one of 2·REACH + 1 columns."""
    place = torch.arange(len(sentence.words))
    apart = (place - place[:, None]).clamp(-REACH, REACH) + REACH
    return torch.nn.functional.one_hot(apart, 2 * REACH + 1).float()


def fit_probe(features: Features, sentences: Sequence[Sentence]) -> Fitted:
    """The weights with the largest likelihood of the sentences' heads, less a small penalty."""
    gold = gold_of(sentences)
    rows, targets = [], []
    for sentence, heads in zip(sentences, gold.head, strict=True):
        check_time()
        counted = np.flatnonzero(heads >= 0)
        if len(counted):
            rows.append(features(sentence)[counted])
            targets.append((torch.from_numpy(counted), torch.from_numpy(heads[counted])))
    weights = torch.zeros(rows[0].shape[-1], requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=STEPS, line_search_fn="strong_wolfe")
    many = sum(len(of) for of, _ in targets)

    def loss() -> Tensor:
        optimiser.zero_grad()
        total = torch.zeros(())
        for row, (own, target) in zip(rows, targets, strict=True):
            total = total + torch.nn.functional.cross_entropy(_others(row @ weights, own), target, reduction="sum")
        found = total / many + PENALTY * weights.square().sum() / len(weights)
        found.backward()  # type: ignore[no-untyped-call]  # torch's
        return found

    optimiser.step(loss)  # type: ignore[no-untyped-call]  # torch's
    return Fitted(weights.detach())


def score(fitted: Fitted, features: Features, sentences: Sequence[Sentence], seed: int = 0) -> stats.Interval:
    """The share of heads that are found, with a bootstrap interval over sentences."""
    gold = gold_of(sentences)
    counts = []
    for sentence, heads in zip(sentences, gold.head, strict=True):
        counted = heads[: len(sentence.words)] >= 0
        right = fitted.guess(features(sentence)).numpy() == heads[: len(sentence.words)]
        counts.append((float((right & counted).sum()), float(counted.sum())))
    generator = stream(seed, "heads", "probe")
    return stats.bootstrap_interval(np.array(counts), _ratio, generator=generator, draws=1000)


def _ratio(means: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
    return np.asarray(means[:, 0] / means[:, 1])


def _others(logits: Float[Tensor, "row key"], own: Tensor | None = None) -> Float[Tensor, "row key"]:
    """No word is its own head. `own` is the number of each row's word; None: rows are all words."""
    place = torch.arange(len(logits)) if own is None else own
    return logits.masked_fill(torch.nn.functional.one_hot(place, logits.shape[1]).bool(), -torch.inf)
