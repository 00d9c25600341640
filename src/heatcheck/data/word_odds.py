"""Log-odds of each word for each label, from counts in labelled texts; no model is trained.

ℓ_wk = log p(w|k) − log p(w): how much likelier a text of label k has the word than one whose label is drawn evenly.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import chdtrc, xlogy

from heatcheck import stats
from heatcheck.errors import BadInput

TIE = 1e-9  # sums that differ by less are the same
FALSE = 0.05  # the share of words, among those that are said to tell a label, that may do so by chance


@dataclass(frozen=True)
class WordOdds:
    """Smoothed log-odds of each word for each label, and how many texts of each label they were counted in."""

    place: Mapping[str, int]
    log_odds: Float[np.ndarray, "word label"]
    texts: Int[np.ndarray, " label"]
    telling: Bool[np.ndarray, " word"]  # its texts are surely spread over the labels otherwise than all texts are

    def readings(self) -> dict[str, "WordOdds"]:
        """Ways to read the same counts, by name: all log-odds, those of telling words, one vote of each telling word.

        Counts are noisy, and a text has many words that say nothing: their noise can drown the one word that does.

        >>> texts = [["good", "film"], ["bad", "film"]] * 50 + [["bad", "one"]]
        >>> odds = count_word_odds(texts, np.array([1, 0] * 50 + [0]), 2)
        >>> [read.of(["one", "good"]).round(1).tolist() for read in odds.readings().values()]
        [[[0.4, -0.7], [-3.9, 0.7]], [[0.0, 0.0], [-3.9, 0.7]], [[0.0, 0.0], [0.0, 1.0]]]
        """
        told = np.where(self.telling[:, None], self.log_odds, 0.0)
        votes = self.telling[:, None] & (np.arange(len(self.texts)) == self.log_odds.argmax(1)[:, None])
        return {
            "log-odds": self,
            "telling words": replace(self, log_odds=told),
            "votes of telling words": replace(self, log_odds=votes.astype(float)),
        }

    def of(self, words: Sequence[str]) -> Float[np.ndarray, "token label"]:
        """One row per word, in their order; zeros for a word that was never counted."""
        found = np.zeros((len(words), len(self.texts)))
        known = [(row, self.place[word]) for row, word in enumerate(words) if word in self.place]
        if known:
            rows, places = zip(*known, strict=True)
            found[list(rows)] = self.log_odds[list(places)]
        return found

    def choose(
        self, words: Sequence[str], weights: Float[np.ndarray, " token"], options: Iterable[int] | None = None
    ) -> int:
        """The label with the largest weighted sum of log-odds: argmax_k Σ_t α_t ℓ_tk, among `options` if given.

        A tie goes to the majority class of the counted texts; a label that no text has is chosen last.

        >>> odds = count_word_odds([["good"], ["bad"], ["bad", "film"]], np.array([1, 0, 0]), 2)
        >>> odds.choose(["good", "bad"], np.array([0.9, 0.1])), odds.choose(["unheard-of"], np.array([1.0]))
        (1, 0)
        """
        sums = np.where(self.texts > 0, weights.astype(np.float64) @ self.of(words), -np.inf)
        allowed = np.arange(len(sums)) if options is None else np.array(sorted(options))
        best = allowed[sums[allowed] >= sums[allowed].max() - TIE]
        return int(best[self.texts[best].argmax()])


def count_word_odds(
    texts: Sequence[Iterable[str]], gold: Int[np.ndarray, " example"], labels: int, *, smoothing: float = 0.5
) -> WordOdds:
    """Count in how many texts of each label a word occurs; a word that occurs twice in a text counts once.

    `smoothing` texts with the word are added to a label of average size, and to others in proportion: the same rate to
    each. So neither a word of no text nor one of every text speaks for the rarer label, whatever the labels' shares.

    >>> odds = count_word_odds([["good"], ["bad"], ["good", "film"], ["bad", "film"]], np.array([1, 0, 1, 0]), 2)
    >>> odds.of(["good", "film"]).round(2)
    array([[-1.1 ,  0.51],
           [ 0.  ,  0.  ]])
    """
    if len(texts) != len(gold) or not len(texts):
        raise BadInput(
            f"there are {len(texts)} texts and {len(gold)} labels. Give one label per text, and at least one text."
        )
    if not 0 < smoothing < np.inf:
        raise BadInput(f"the smoothing of word odds must be above 0, not {smoothing}.")
    place: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for text, label in zip(texts, gold.tolist(), strict=True):
        found = [place.setdefault(word, len(place)) for word in dict.fromkeys(text)]
        rows += found
        columns += [label] * len(found)
    counts = np.zeros((len(place), labels))
    np.add.at(counts, (np.array(rows, dtype=int), np.array(columns, dtype=int)), 1)
    of_label = np.bincount(gold, minlength=labels)
    seen = of_label > 0
    # p(w|k), but for a factor that all labels share.
    rate = counts[:, seen] / of_label[seen] + smoothing * seen.sum() / of_label.sum()
    table = np.zeros_like(counts)
    table[:, seen] = np.log(rate) - np.log(rate.mean(1, keepdims=True))
    differs = stats.benjamini_hochberg(_by_chance(counts[:, seen], of_label[seen])) <= FALSE
    return WordOdds(place, table, of_label, differs)


def _by_chance(
    counts: Float[np.ndarray, "word label"], of_label: Int[np.ndarray, " label"]
) -> Float[np.ndarray, " word"]:
    """The p-value of each word by the likelihood-ratio test: do as many texts of every label have it?"""
    if len(of_label) < 2:
        return np.ones(len(counts))
    expected = counts.sum(1, keepdims=True) / of_label.sum() * of_label
    without, expected_without = of_label - counts, of_label - expected
    # 0 · ln(0/0) is 0: a word of every text, whose texts without it are expected to be none.
    of_absent = xlogy(without, np.divide(without, expected_without, out=np.ones_like(without), where=without > 0))
    ratio = 2 * (xlogy(counts, counts / expected) + of_absent).sum(1)
    return np.asarray(chdtrc(len(of_label) - 1, np.maximum(ratio, 0.0)))
