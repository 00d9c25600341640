"""Bag-of-words baseline: a logistic regression on word counts, trained beside every model.

The usual one: counts of the model's own words, scikit-learn's penalty (L2, C = 1), nothing balanced, scaled or left
out. Neither order nor attention is in it, so it says how far words alone go.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array, hstack
from scipy.special import log_softmax

from heatcheck.data import Example, Vocabulary
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.errors import MissingPackage
from heatcheck.training.logistic_regression import NOT_AN_OPTION, STEPS, gold_table


@dataclass(frozen=True)
class BagOfWords:
    """A fitted regression: one softmax over the labels or, where a text may have several, one for each label."""

    vocabulary: Vocabulary
    segments: int
    coefficients: Float[np.ndarray, "decision feature label"]
    intercept: Float[np.ndarray, "decision label"]
    converged: bool

    @property
    def words(self) -> int:
        """How many features it has: the words of the vocabulary, for each of two texts where there are two."""
        return int(self.coefficients.shape[1])

    def log_probabilities(self, examples: Sequence[Example]) -> Float[np.ndarray, "example decision label"]:
        """As a classifier gives them; only an example's options are answers to it."""
        counts = _counts(self.vocabulary, examples, self.segments)
        votes = np.stack([counts @ table for table in self.coefficients], axis=1) + self.intercept
        for row, example in enumerate(examples):
            if example.options is not None:
                votes[row][:, np.setdiff1d(np.arange(votes.shape[-1]), example.options)] = NOT_AN_OPTION
        found: Float[np.ndarray, "example decision label"] = log_softmax(votes, axis=-1)
        return found


def fit_bag_of_words(
    vocabulary: Vocabulary, labels: Sequence[str], examples: Sequence[Example], *, several: bool = False
) -> BagOfWords:
    """The regression of these labels on the words of these texts; with `several`, a yes-or-no decision for each label.

    >>> from heatcheck.data import build_vocabulary
    >>> texts = [Example("a", "a dull film", label=0), Example("b", "a lovely film", label=1)] * 20
    >>> words = build_vocabulary([example.text for example in texts])
    >>> found = fit_bag_of_words(words, ("negative", "positive"), texts)
    >>> np.exp(found.log_probabilities([Example("c", "lovely , lovely")])).round(1)
    array([[[0., 1.]]])
    """
    segments = 2 if any(example.text_pair is not None for example in examples) else 1
    gold = gold_table(labels, examples)
    counts = _counts(vocabulary, examples, segments)
    columns = [np.stack([~of, of], axis=1) for of in gold.T] if several else [gold]
    fits = [_fit(counts, of) for of in columns]
    coefficients, intercept = (np.stack([fit[part] for fit in fits]) for part in (0, 1))
    return BagOfWords(vocabulary, segments, coefficients, intercept, all(settled for _, _, settled in fits))


def _fit(counts: csr_array, gold: Bool[np.ndarray, "example label"]) -> tuple[np.ndarray, np.ndarray, bool]:
    """Coefficients [feature label], intercepts, and whether the solver came to its end.

    A label that no text has keeps about the probability of half a text among them all, whatever the words.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression as Regression
    except ImportError:
        raise MissingPackage("scikit-learn") from None

    met = np.flatnonzero(gold.any(0))
    coefficients = np.zeros((counts.shape[1], gold.shape[1]))
    intercept = np.full(gold.shape[1], np.log(0.5 / (len(gold) + 1)))
    if len(met) == 1 or not counts.nnz:  # nothing to tell apart, or nothing to tell it by
        intercept[met] = np.log(gold[:, met].mean(0))
        return coefficients, intercept, True
    model = Regression(max_iter=STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is said in the result instead
        model.fit(counts, gold[:, met].argmax(1))
    if len(met) == 2:  # scikit-learn has one output for two labels
        coefficients[:, met[1]] = model.coef_[0]
        intercept[met] = 0.0, model.intercept_[0]
    else:
        coefficients[:, met] = model.coef_.T
        intercept[met] = model.intercept_
    return coefficients, intercept, bool(model.n_iter_.max() < STEPS)


def _counts(vocabulary: Vocabulary, examples: Sequence[Example], segments: int) -> csr_array:
    """A row for each example: how often each word is in its text, then how often in its second text."""

    def counted(texts: Sequence[str]) -> csr_array:
        numbers = [np.array(vocabulary.look_up(text)[0], dtype=np.int32) - len(SPECIAL) for text in texts]
        known = [row[row >= 0] for row in numbers]
        starts = np.cumsum([0, *map(len, known)]).astype(np.int32)  # scikit-learn takes no wider indices
        shape = (len(texts), len(vocabulary) - len(SPECIAL))
        found = csr_array((np.ones(starts[-1]), np.concatenate(known), starts), shape=shape)
        found.sum_duplicates()
        return found

    texts = [[e.text for e in examples], [e.text_pair or "" for e in examples]][:segments]
    found: csr_array = hstack([counted(of_segment) for of_segment in texts], format="csr")
    return found
