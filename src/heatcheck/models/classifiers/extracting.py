"""A classifier that extracts a few words of each text and reads only those (FRESH; contract/extraction.py)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Corpus, Example, Split
from heatcheck.errors import NotSupported
from heatcheck.models.classifiers.flat import FlatClassifier
from heatcheck.models.classifiers.saliency import word_saliency
from heatcheck.models.contract.extraction import Extracted, Extraction, encode_extracted, read_of
from heatcheck.models.contract.response import Response
from heatcheck.models.contract.subject import NO_EDITS, Edits, Run, Subject, Tap, Want
from heatcheck.models.contract.trainable import Trainable

TOGETHER = 128  # texts whose words are chosen at once


class Chooser:
    """Chooses the words that a model reads. `support` is the model that chooses, if one does."""

    def __init__(self, extraction: Extraction, rule: str, support: Trainable | None = None) -> None:
        self.extraction, self.rule, self.support = extraction, rule, support

    def __call__(self, examples: Sequence[Example]) -> list[Extracted]:
        """What is read of each example."""
        chosen = self.extraction.choose(examples, self.rule, self._saliency)
        return [self.extraction.extract(one, words, self.rule) for one, words in zip(examples, chosen, strict=True)]

    def of_corpus(self, corpus: Corpus) -> Corpus:
        """The corpus as the model reads it: the same examples in the same order, each extracted."""
        return replace(corpus, splits={name: Split(name, self._all(split)) for name, split in corpus.splits.items()})

    def _all(self, split: Split) -> tuple[Example, ...]:
        order = sorted(range(len(split)), key=lambda place: len(split.examples[place].text))
        found: dict[int, Example] = {}
        for start in range(0, len(order), TOGETHER):
            places = order[start : start + TOGETHER]
            read = self([split.examples[place] for place in places])
            found.update(zip(places, (one.example for one in read), strict=True))
        return tuple(found[place] for place in range(len(split)))

    def _saliency(self, examples: Sequence[Example]) -> Float[np.ndarray, "example word"]:
        assert self.support is not None, "nobody chooses the words"
        return word_saliency(self.support, examples, self.extraction.by)


class ExtractingClassifier(FlatClassifier):
    """A classifier over whole texts that extracts words and reads nothing else, by construction.

    Its heatmap covers the whole text: its own attention over the words that it reads, and 0 for all others. A text with
    a word removed is a new text, from which words are extracted again.
    """

    chooser: Chooser
    without_each = None  # type: ignore[assignment]  # a word that goes may change the choice: no short cut exists

    @classmethod
    def of(cls, reader: FlatClassifier, chooser: Chooser) -> "ExtractingClassifier":
        """The same reader, behind what chooses its words; the weights are shared."""
        found = cls(reader.vocabulary, reader.labels, reader.settings, recipe=reader.recipe)
        for name, module in reader.named_children():
            setattr(found, name, module)
        found.log_odds, found.seen, found.called, found.chooser = reader.log_odds, reader.seen, reader.called, chooser
        return found.train(reader.training)

    @property
    def shown_rows(self) -> str:
        """What a reader of its heatmap must know."""
        return (
            f"The model reads {self.chooser.extraction.words}. It reads nothing else, by construction, so all other "
            "words have weight 0. Whatever chose the words has read the whole text."
        )

    def encode(self, examples: Sequence[Example]) -> Batch:
        return encode_extracted(super().encode, examples, self.chooser(examples))

    def readable(self, batch: Batch) -> Bool[Tensor, "example key"]:
        """The tokens that may have weight: those it reads."""
        return read_of(batch)

    def run(self, batch: Batch, *, edits: Edits = NO_EDITS, want: Want = ()) -> Run:
        return super().run(replace(batch, scored=read_of(batch)), edits=edits, want=want)

    def response(self, batch: Batch) -> Response:
        return super().response(replace(batch, scored=read_of(batch)))

    def _states(self, batch: Batch, tap: Tap) -> tuple[Tensor, Tensor | None]:
        states, question = super()._states(batch, tap)
        return states * batch.valid[..., None], question  # a word that is not read has no state, and no vote


def support_of(subject: Subject) -> Trainable | None:
    """The model that chooses the words that this one reads; None if there is none."""
    return subject.chooser.support if isinstance(subject, ExtractingClassifier) else None


def extracting(reader: object, chooser: Chooser) -> ExtractingClassifier:
    """Put a reader behind what chooses its words; raises NotSupported for models that cannot be."""
    if not isinstance(reader, FlatClassifier):
        raise NotSupported("only a classifier of heatcheck's own that attends to words can read extracted words alone.")
    return ExtractingClassifier.of(reader, chooser)
