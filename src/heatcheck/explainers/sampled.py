"""Scores words for any model by Shapley values (sampled) and by LIME, both through captum.

A word is present or masked (word_removal.py), never deleted: both methods need the text without any word, and a
text of no words cannot be read. The value of the game is the predicted label's probability. Words without a token do
not play. Each example has its own random stream, named by its id, so its scores are the same in any batch.
"""

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import expit
from torch import Tensor

from heatcheck.data import Example
from heatcheck.engine import seed_of
from heatcheck.errors import MissingPackage
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
AT_ONCE = 128  # texts in a batch
_ONE_STREAM = Lock()  # captum draws from torch's own stream, of which all threads have one

Worth = Callable[[Tensor], Tensor]  # presence [draw word] of the words that play, to what each such text is worth


def shapley_values(worth: Worth, players: int) -> Float[np.ndarray, " word"]:
    """The mean gain as words are added one by one in random orders. Sums to value(all) - value(none)."""
    try:
        from captum.attr import ShapleyValueSampling
    except ImportError:
        raise MissingPackage("captum") from None
    orders = int(np.clip(READ // players, FEWEST_ORDERS, ORDERS))
    found: Tensor = ShapleyValueSampling(worth).attribute(
        torch.ones(1, players), baselines=0.0, n_samples=orders, perturbations_per_eval=AT_ONCE
    )
    return np.asarray(found[0].double().numpy())


def lime_weights(worth: Worth, players: int) -> Float[np.ndarray, " word"]:
    """Coefficients of a ridge regression on which words are present; texts that lack fewer words count more."""
    try:
        from captum._utils.models.linear_model import SkLearnRidge
        from captum.attr import Lime
        from captum.attr._core.lime import get_exp_kernel_similarity_function
    except ImportError:
        raise MissingPackage("captum") from None
    samples = int(np.clip(LIME_PER_WORD * players, LIME_FEWEST, READ))
    explainer = Lime(
        worth,
        interpretable_model=SkLearnRidge(alpha=RIDGE),
        similarity_func=get_exp_kernel_similarity_function("cosine", kernel_width=KERNEL_WIDTH),
    )
    found: Tensor = explainer.attribute(
        torch.ones(1, players), baselines=0.0, n_samples=samples, perturbations_per_eval=AT_ONCE
    )
    return np.asarray(found[0].double().numpy())


def _make(name: str, play: Callable[[Worth, int], Float[np.ndarray, " word"]]) -> ExplainAimed:
    def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
        return [one(subject, example, seed, aim) for example in examples]

    def one(subject: Subject, example: Example, seed: int, aim: Aim) -> np.ndarray:
        batch = subject.encode([example])
        players = sorted({word for word in batch.word[0].tolist() if word >= 0})
        label = int(aim.answers(subject, [example])[0].argmax()) if aim.label is None else aim.label

        def worth(presence: Tensor) -> Tensor:
            absent = [np.flatnonzero(row).tolist() for row in (presence == 0).numpy()]
            texts = [mask(example, {players[number] for number in row}) for row in absent]
            logs = aim.answers(subject, texts)
            return torch.from_numpy(expit(log_odds(logs, np.full(len(texts), label), aim.scale)))

        scores = np.full(len(example.words), np.nan)
        with _ONE_STREAM, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_of(seed, name, example.id))
            scores[players] = play(worth, len(players))
        return scores

    return explain


shapley_sampling = of_probability(
    "shapley_sampling",
    "sampled Shapley values of the words; absent words are masked (captum)",
    _make("shapley sampling", shapley_values),
    signed=True,
    paper="Castro et al. 2009",
)
lime = of_probability(
    "lime",
    "coefficients of a linear model fitted to probabilities of texts with masked words (captum)",
    _make("lime", lime_weights),
    signed=True,
    paper="Ribeiro et al. 2016",
)
