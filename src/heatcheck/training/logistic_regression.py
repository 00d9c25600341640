"""Log-odds of words: an L1-penalised, class-balanced logistic regression on a bag of words.

As in Jain & Wallace's released code (a follow-up, in neither paper): binary bags scaled to length 1, without stop
words, scikit-learn's C = 1. Its coefficients are the log-odds of a word. It keeps a few hundred words, so it is no
measure of how far words alone go: that is `bag_of_words.py`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array, hstack
from scipy.special import log_expit, log_softmax

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.errors import BadInput, MissingPackage

NOT_AN_OPTION = -1e4  # nats: a probability of 0 whose logarithm stays finite
STEPS = 1000  # at most; a thousand texts take about ten


@dataclass(frozen=True)
class LogisticRegression:
    """A fitted bag of words. Two labels are one regression, more are one against the rest for each.

    `log_odds` are of the words of the first text, nan for those not in the bag (stop words and special tokens).
    """

    vocabulary: Vocabulary
    log_odds: Float[np.ndarray, "word label"]
    of_question: Float[np.ndarray, "word label"] | None  # a second text's words are features of their own
    intercept: Float[np.ndarray, " label"]
    several: bool  # a decision for each label instead of one among them
    converged: bool
    texts_without_words: int  # among those it was fitted on

    @property
    def words(self) -> int:
        """How many words the penalty left in."""
        return int((np.nan_to_num(self.log_odds) != 0).any(1).sum())

    def log_probabilities(self, examples: Sequence[Example]) -> Float[np.ndarray, "example decision label"]:
        """As a classifier gives them: one decision among an example's options, or one for each label of several."""
        kept = np.isfinite(self.log_odds[:, 0])
        tables = [self.log_odds] if self.of_question is None else [self.log_odds, self.of_question]
        bags = _bags(self.vocabulary, examples, kept, segments=len(tables))
        votes = bags @ np.concatenate([table[kept] for table in tables]) + self.intercept
        if self.several:
            return np.stack([log_expit(-votes), log_expit(votes)], axis=-1)
        found = log_expit(votes)
        for row, example in enumerate(examples):
            if example.options is not None:
                found[row, np.setdiff1d(np.arange(found.shape[1]), example.options)] = NOT_AN_OPTION
        return np.asarray(log_softmax(found, axis=-1))[:, None]


def fit_logistic_regression(
    vocabulary: Vocabulary, labels: Sequence[str], examples: Sequence[Example], *, several: bool = False
) -> LogisticRegression:
    """The regression of these labels on these texts, cut into words as the vocabulary cuts them.

    >>> from heatcheck.data import build_vocabulary
    >>> texts = [Example("a", "a dull film", label=0), Example("b", "a lovely film", label=1)] * 20
    >>> words = build_vocabulary([example.text for example in texts])
    >>> found = fit_logistic_regression(words, ("negative", "positive"), texts)
    >>> [(word, float(odds[1].round())) for word, odds in zip(words.tokens[4:], found.log_odds[4:])]
    [('a', nan), ('dull', -4.0), ('film', 0.0), ('lovely', 4.0)]
    """
    kept = _in_bags(vocabulary)
    segments = 2 if any(example.text_pair is not None for example in examples) else 1
    bags = _bags(vocabulary, examples, kept, segments=segments)
    gold = gold_table(labels, examples)
    columns = [1] if len(labels) == 2 and not several else range(len(labels))
    coefficients = np.zeros((bags.shape[1], len(labels)))
    intercept = np.zeros(len(labels))
    converged = True
    for label in columns:
        coefficients[:, label], intercept[label], settled = _fit(bags, gold[:, label])
        converged &= settled
    if list(columns) == [1]:  # what speaks for one of two labels speaks against the other
        coefficients[:, 0], intercept[0] = -coefficients[:, 1], -intercept[1]
    tables = np.full((segments, len(vocabulary), len(labels)), np.nan)
    tables[:, kept] = coefficients.reshape(segments, int(kept.sum()), len(labels))
    empty = int((np.diff(bags.indptr) == 0).sum())
    of_question = tables[1] if segments == 2 else None
    return LogisticRegression(vocabulary, tables[0], of_question, intercept, several, converged, empty)


def _fit(bags: csr_array, gold: Bool[np.ndarray, " example"]) -> tuple[np.ndarray, float, bool]:
    """Coefficients, intercept, and whether the solver came to its end; of a label that all or none have, the prior."""
    share = (gold.sum() + 0.5) / (len(gold) + 1)
    if gold.all() or not gold.any() or not bags.nnz:
        return np.zeros(bags.shape[1]), float(np.log(share / (1 - share))), True
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression as Regression

    newer = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
    penalty: dict[str, Any] = {"l1_ratio": 1.0} if newer else {"penalty": "l1"}  # one thing under two names
    # liblinear was scikit-learn's default when this was published; like then, it penalises the intercept too.
    model = Regression(**penalty, solver="liblinear", class_weight="balanced", max_iter=STEPS, random_state=0, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is said in the result instead
        model.fit(bags, gold)
    return model.coef_[0], float(model.intercept_[0]), bool(model.n_iter_[0] < STEPS)


def _in_bags(vocabulary: Vocabulary) -> Bool[np.ndarray, " word"]:
    """The words that may be in a bag: no special token, no stop word."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError:
        raise MissingPackage("scikit-learn") from None
    kept = np.array([token.lower() not in ENGLISH_STOP_WORDS for token in vocabulary.tokens])
    kept[: len(SPECIAL)] = False
    return kept


def _bags(
    vocabulary: Vocabulary, examples: Sequence[Example], kept: Bool[np.ndarray, " word"], *, segments: int
) -> csr_array:
    """One row per example: which words its text has, then which its second text has, scaled to length 1."""
    place = np.cumsum(kept) - 1

    def has(texts: Sequence[str]) -> csr_array:
        numbers = [np.unique(np.array(vocabulary.look_up(text)[0], dtype=np.int64)) for text in texts]
        rows = [place[found[kept[found]]] for found in numbers]
        starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)  # liblinear takes no wider indices
        columns = np.concatenate(rows).astype(np.int32)
        return csr_array((np.ones(len(columns)), columns, starts), shape=(len(rows), int(kept.sum())))

    texts = [[e.text for e in examples], [e.text_pair or "" for e in examples]][:segments]
    bags: csr_array = hstack([has(of_segment) for of_segment in texts], format="csr")
    sizes = np.diff(bags.indptr)
    bags.data /= np.repeat(np.sqrt(np.maximum(sizes, 1)), sizes)
    return bags


def gold_table(labels: Sequence[str], examples: Sequence[Example]) -> Bool[np.ndarray, "example label"]:
    """Which example has which label."""
    gold = np.zeros((len(examples), len(labels)), dtype=bool)
    for row, example in enumerate(examples):
        if example.label is None:
            raise BadInput(
                f"the example {example.id} has no label. A logistic regression needs a label for every example."
            )
        gold[row, list(example.label) if isinstance(example.label, tuple) else example.label] = True
    return gold
