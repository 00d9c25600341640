"""About how long a comparison of treatments takes, and how many treatments fit into a few minutes."""

from collections.abc import Sequence

import numpy as np

from heatcheck.data import Corpus
from heatcheck.models import Recipe
from heatcheck.training import TrainingSettings

QUICK_SECONDS = 1000.0  # of one core, which a run without named treatments may take: under 10 minutes on two
WORDS_A_SECOND = 40_000.0  # that a small recurrent model is trained on, on one core
STOPS_AFTER = 0.5  # share of its epochs after which a training run usually stops
# An audit takes so many seconds, so many more per example, and so many more per pair of its words.
AUDIT, EXAMPLE, PAIR = 1.0, 0.007, 3e-6
TIMES = {"masked_words": 3.0, "orthogonal": 2.2, "tying": 1.4}  # an untreated training run's seconds


def seconds_of(recipe: Recipe, corpus: Corpus, treatments: Sequence[str], *, seeds: int, examples: int) -> float:
    """Seconds of one core, about: training runs of all seeds, and the audits of all models and twins."""
    words = mean_words(corpus)
    epochs = TrainingSettings(**recipe.training).epochs * STOPS_AFTER
    fit = len(corpus["train"]) * words * epochs / WORDS_A_SECOND
    audit = AUDIT + min(examples, len(corpus["test"])) * (EXAMPLE + PAIR * words**2)
    fits = 1.0 + sum(TIMES.get(name, 1.0) for name in treatments)
    return seeds * (fit * fits + audit * (1 + 2 * len(treatments)))


def mean_words(corpus: Corpus) -> float:
    """Mean length of the training texts."""
    return float(np.mean([len(example.words) for example in corpus["train"]]))


def affordable(recipe: Recipe, corpus: Corpus, treatments: Sequence[str], *, seeds: int, examples: int) -> list[str]:
    """As many of these treatments, in this order, as a quick run has time for; one at least."""
    chosen: list[str] = []
    for name in treatments:
        if chosen and seconds_of(recipe, corpus, [*chosen, name], seeds=seeds, examples=examples) > QUICK_SECONDS:
            break
        chosen.append(name)
    return chosen
