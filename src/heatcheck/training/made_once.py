"""What fits on the same texts share, made once in a process: vocabulary, two regressions, a parent model's answers.

Nothing here is decided by a seed or a loss. It is kept by what does decide it, so that nothing stale is ever found, and
only the last few are kept.
"""

import threading
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Corpus, Seen, Vocabulary, build_vocabulary, read_vectors, seen_in, texts_of
from heatcheck.engine import Facts
from heatcheck.errors import MissingPackage
from heatcheck.models import Chooser, Classifier, Extraction, Recipe, Trainable, load_folder
from heatcheck.training.bag_of_words import BagOfWords, fit_bag_of_words
from heatcheck.training.encoded import Encoded
from heatcheck.training.evaluation import gold_of, score
from heatcheck.training.logistic_regression import LogisticRegression, fit_logistic_regression
from heatcheck.training.recorded import Recorded, record
from heatcheck.training.settings import TrainingSettings

MOST_LABELS = 20  # for which logistic regressions are fitted beside every model: seconds on IMDB
PENALTY = "L2"  # of the baseline; in folders of before it was L1, and the number was lower
Made = TypeVar("Made")


class Kept(Generic[Made]):
    """The last few things that were made, each by what decides it.

    >>> kept = Kept[int](most=2)
    >>> kept.get("a", lambda: 1), kept.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[Hashable, Made] = {}
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made for this key, or is now; what nobody asked for longest goes.

        Of several threads that want the same thing one makes it and the others wait; nobody waits for another thing.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._made:
                    self._made[key] = found = self._made.pop(key)  # the latest stands last
                    return found
            found = make()
            with self._lock:
                self._made[key] = found
                while len(self._made) > self._most:
                    gone = next(iter(self._made))
                    del self._made[gone]
                    self._making.pop(gone, None)
        return found

    def forget(self) -> None:
        """Forget everything."""
        with self._lock:
            self._made, self._making = {}, {}


class LogOdds(NamedTuple):
    """Log-odds of the words of a vocabulary, and the test scores of the regression that they come from."""

    facts: Facts
    of_words: Float[np.ndarray, "word label"]


_vocabularies: Kept[Vocabulary] = Kept(2)  # each with its cache of texts that it has looked up
_bags: Kept[Facts] = Kept(8)
_log_odds: Kept[LogOdds] = Kept(4)
_recorded: Kept[Recorded] = Kept(2)  # a recipe has at most two teachers
_encoded: Kept[Encoded] = Kept(32)  # on a GPU, where the splits of many corpora may be read side by side
_vectors: Kept[Tensor] = Kept(2)
_seen: Kept[Seen] = Kept(4)
_as_read: Kept[Corpus] = Kept(4)  # corpora of which a model reads a few words


def forget() -> None:
    """Forget all that is kept in this process."""
    for kept in (_vocabularies, _bags, _log_odds, _recorded, _encoded, _vectors, _seen, _as_read):
        kept.forget()


def encoded(subject: Classifier, corpus: Corpus, split: str) -> Encoded:
    """The texts of a split on the model's device."""
    settings = subject.settings
    reads = (subject.vocabulary, subject.labels, settings.segments, settings.label_wise, str(subject.device))
    return _encoded.get((corpus.reference, split, *reads), lambda: Encoded.of(subject, corpus[split].examples))


def word_vectors(path: Path | str, vocabulary: Vocabulary) -> Float[Tensor, "word feature"]:
    """The pretrained vectors of a vocabulary; the caller must not change them."""
    file = Path(path).stat()
    key = (str(path), file.st_mtime_ns, file.st_size, vocabulary)
    return _vectors.get(key, lambda: torch.from_numpy(read_vectors(path, vocabulary.tokens).matrix))


def seen_texts(corpus: Corpus) -> Seen:
    """Fingerprints of the texts that a training run on this corpus sees."""
    return _seen.get(corpus.reference, lambda: seen_in(corpus))


def vocabulary_of(corpus: Corpus, training: TrainingSettings) -> Vocabulary:
    """The words of the training texts."""

    def make() -> Vocabulary:
        return build_vocabulary(
            texts_of(corpus["train"]),
            min_documents=training.min_documents,
            rule=corpus.tokens,
            lowercase=training.lowercase,
            # Answers out of the passage are words of it, and must be told apart however rare they are.
            always=corpus.labels if any(example.options for example in corpus["train"]) else (),
        )

    return _vocabularies.get((corpus.reference, training.min_documents, training.lowercase), make)


def add_log_odds(subject: Classifier, corpus: Corpus) -> dict[str, Any]:
    """Fit a logistic regression on the same texts, give the model its log-odds, and return its scores.

    Returns the reason instead if it is not fitted. Only recipes that need log-odds raise an error then.
    """
    recipe = subject.recipe
    imposed = recipe is not None and recipe.impose is not None and recipe.impose["weights"] == "log_odds"
    needed = imposed or (recipe is not None and recipe.loss["name"] == "log_odds_regularised")
    if len(corpus.labels) > MOST_LABELS and not needed:
        return {"not_fitted": f"there are more than {MOST_LABELS} labels"}
    several = subject.settings.label_wise

    def make() -> LogOdds:
        found = fit_logistic_regression(subject.vocabulary, subject.labels, corpus["train"].examples, several=several)
        facts = {
            **_scored(subject, corpus, found),
            "words": found.words,
            "converged": found.converged,
            "texts_without_words": found.texts_without_words,
        }
        return LogOdds(facts, found.log_odds)

    try:
        found = _log_odds.get((corpus.reference, subject.vocabulary, subject.labels, several), make)
    except MissingPackage as error:
        if needed:
            raise
        return {"not_fitted": str(error)}
    subject.log_odds = torch.from_numpy(found.of_words).float().to(subject.device)
    return dict(found.facts)


def bag_of_words(
    subject: Trainable, vocabulary: Vocabulary, corpus: Corpus, *, several: bool = False
) -> dict[str, Any]:
    """Test scores of a bag-of-words baseline on these words, or the reason why it was not fitted."""
    if len(corpus.labels) > MOST_LABELS:
        return {"not_fitted": f"there are more than {MOST_LABELS} labels"}

    def make() -> Facts:
        found = fit_bag_of_words(vocabulary, subject.labels, corpus["train"].examples, several=several)
        return {
            **_scored(subject, corpus, found),
            "words": found.words,
            "penalty": PENALTY,
            "converged": found.converged,
        }

    try:
        return dict(_bags.get((corpus.reference, vocabulary, subject.labels, several), make))
    except MissingPackage as error:
        return {"not_fitted": str(error)}


def _scored(subject: Trainable, corpus: Corpus, found: BagOfWords | LogisticRegression) -> Facts:
    tested = corpus["test"].examples
    return score(found.log_probabilities(tested), gold_of(subject, tested)).facts()


def chooser_of(recipe: Recipe, corpus: Corpus, store: Path, device: str) -> Chooser | None:
    """What chooses the words that a recipe's model reads; None if the model reads whole texts."""
    if recipe.extract is None:
        return None
    extraction = Extraction(**recipe.extract)
    parent = extraction.parent
    return Chooser(extraction, corpus.tokens, None if parent is None else load_folder(store / parent, device=device))


def as_read(chooser: Chooser, corpus: Corpus, store: Path) -> Corpus:
    """The corpus with only the words that a model reads."""
    extraction = chooser.extraction
    by = "" if extraction.parent is None else _identity(store / extraction.parent)
    return _as_read.get((corpus.reference, extraction, by), lambda: chooser.of_corpus(corpus))


def record_parents(recipe: Recipe, corpus: Corpus, store: Path, device: str) -> dict[str, Recorded]:
    """What each parent says of every example of the task."""
    wanted = {name: (corpus.reference, device, _identity(store / name)) for name in recipe.teachers}
    examples = [example for split in corpus.splits.values() for example in split]

    def said(name: str) -> Recorded:
        return record(load_folder(store / name, device=device), examples)

    return {name: _recorded.get(key, partial(said, name)) for name, key in wanted.items()}


def _identity(folder: Path) -> Hashable:
    """Which folder it is, and of which moment: one that was made anew is another."""
    written = folder.stat()
    return str(folder.absolute()), written.st_ino, written.st_mtime_ns
