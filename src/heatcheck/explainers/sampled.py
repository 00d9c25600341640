"""Scores words for any model by Shapley values (sampled) and by LIME.

A word is present or masked (word_removal.py), never deleted: both methods need the text without any word, and a
text of no words cannot be read. The value of the game is the predicted label's probability. Words without a token do
not play. Each example has its own random stream, named by its id, so its scores are the same in any batch.

Which texts to read does not depend on what the model says to them. So those of many examples are drawn first and read
together; captum asks for one example's after the other. Draws and scores are captum's, to rounding.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.special import expit

from heatcheck.data import Example
from heatcheck.engine import seed_of
from heatcheck.explainers.probability import log_odds
from heatcheck.explainers.scores import Aim, ExplainAimed, WordScores, of_probability
from heatcheck.explainers.word_removal import mask
from heatcheck.models import Subject

ORDERS = 25  # orders of the words that a Shapley value averages over: captum's default
FEWEST_ORDERS = 5
# Texts read for one example, so that a long text costs no more than some hundred short ones. Shapley reads one a word
# and order: from 8 words on there are fewer orders, from 40 on FEWEST_ORDERS.
READ = 200
# LIME fits a line through its samples: five a word, as far as READ goes, and a ridge that holds where there are fewer.
LIME_PER_WORD = 5
LIME_FEWEST = 100
RIDGE = 1.0  # as in the authors' own
KERNEL_WIDTH = 0.25  # of the distance 1 - cos between the whole text and a sample, as in the authors' own
AT_ONCE = 64  # examples whose texts are read together


class Method(NamedTuple):
    """Which words are present in the texts to read, and the scores once it is known what each text is worth."""

    draw: Callable[[int, torch.Generator], Bool[np.ndarray, "text word"]]  # from the number of words that play
    score: Callable[[Bool[np.ndarray, "text word"], Float[np.ndarray, " text"]], Float[np.ndarray, " word"]]


def grown_texts(players: int, generator: torch.Generator) -> Bool[np.ndarray, "text word"]:
    """For each random order of the words: the text without any, then one word more at a time.

    >>> grown_texts(2, torch.Generator())[:3].astype(int).sum(1)
    array([0, 1, 2])
    """
    orders = int(np.clip(READ // players, FEWEST_ORDERS, ORDERS))
    drawn = np.stack([torch.randperm(players, generator=generator).numpy() for _ in range(orders)])
    since = drawn.argsort(1)  # the step at which each word comes
    present = since[:, None] < np.arange(players + 1)[:, None]
    return np.asarray(present.reshape(-1, players))


def shapley_values(
    present: Bool[np.ndarray, "text word"], worth: Float[np.ndarray, " text"]
) -> Float[np.ndarray, " word"]:
    """The mean gain as words are added one by one in random orders. Sums to value(all) - value(none)."""
    players = present.shape[1]
    steps = present.reshape(-1, players + 1, players)
    gains = np.diff(worth.reshape(-1, players + 1), axis=1)
    came = (steps[:, 1:] & ~steps[:, :-1]).argmax(2)  # the word that each step adds
    found = np.zeros(players)
    np.add.at(found, came, gains)
    return found / len(steps)


def random_texts(players: int, generator: torch.Generator) -> Bool[np.ndarray, "text word"]:
    """Texts of which each word is present with probability ½."""
    samples = int(np.clip(LIME_PER_WORD * players, LIME_FEWEST, READ))
    half = torch.full((1, players), 0.5)
    # One after the other, as captum draws them: torch's stream is another for many at once.
    return torch.cat([torch.bernoulli(half, generator=generator) for _ in range(samples)]).bool().numpy()


def lime_weights(
    present: Bool[np.ndarray, "text word"], worth: Float[np.ndarray, " text"]
) -> Float[np.ndarray, " word"]:
    """Coefficients of a ridge regression on which words are present; texts that lack fewer words count more."""
    x = present.astype(np.float64)
    near = np.sqrt(x.mean(1))  # the cosine between a row of zeros and ones and a row of ones
    weight = np.exp(-((1 - near) ** 2) / (2 * KERNEL_WIDTH**2))
    x -= np.average(x, axis=0, weights=weight)
    y = worth - np.average(worth, weights=weight)
    gram = x.T @ (weight[:, None] * x) + RIDGE * np.eye(x.shape[1])
    return np.asarray(np.linalg.solve(gram, x.T @ (weight * y)))


class _Game(NamedTuple):
    """The words of an example that play, and which of them are present in each text to read."""

    example: Example
    players: list[int]
    present: Bool[np.ndarray, "text word"]

    def texts(self) -> Iterator[Example]:
        words = np.array(self.players)
        for absent in ~self.present:
            yield mask(self.example, words[absent].tolist())


def _make(name: str, method: Method) -> ExplainAimed:
    def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
        return [
            scores
            for start in range(0, len(examples), AT_ONCE)
            for scores in together(subject, examples[start : start + AT_ONCE], seed, aim)
        ]

    def together(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> Iterator[np.ndarray]:
        games = [game(subject, example, seed) for example in examples]
        labels = aim.answers(subject, examples).argmax(1) if aim.label is None else np.full(len(examples), aim.label)
        # Orders share the text of no words and that of all, so each different one is read once.
        places: dict[tuple[int, tuple[int, ...]], int] = {}
        texts: list[Example] = []
        asked: list[list[int]] = []
        for number, one in enumerate(games):
            asked.append([])
            for text in one.texts():
                place = places.setdefault((number, text.masked), len(texts))
                if place == len(texts):
                    texts.append(text)
                asked[-1].append(place)
        logs = aim.answers(subject, texts)
        for one, rows, label in zip(games, asked, labels, strict=True):
            worth = expit(log_odds(logs[rows], np.full(len(rows), label), aim.scale))
            scores = np.full(len(one.example.words), np.nan)
            scores[one.players] = method.score(one.present, worth)
            yield scores

    def game(subject: Subject, example: Example, seed: int) -> _Game:
        players = sorted({word for word in subject.encode([example]).word[0].tolist() if word >= 0})
        drawn = method.draw(len(players), torch.Generator().manual_seed(seed_of(seed, name, example.id)))
        return _Game(example, players, drawn)

    return explain


shapley_sampling = of_probability(
    "shapley_sampling",
    "sampled Shapley values of the words; absent words are masked",
    _make("shapley sampling", Method(grown_texts, shapley_values)),
    signed=True,
    paper="Castro et al. 2009",
)
lime = of_probability(
    "lime",
    "coefficients of a linear model fitted to probabilities of texts with masked words",
    _make("lime", Method(random_texts, lime_weights)),
    signed=True,
    paper="Ribeiro et al. 2016",
)
