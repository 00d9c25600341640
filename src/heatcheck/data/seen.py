"""Fingerprints of training examples: they recognise a text but do not reveal it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from heatcheck.data.example import Corpus, Example

SEEN = ("train", "dev")  # trained on; and used for choices, such as which epoch is kept


@dataclass(frozen=True)
class Seen:
    """Fingerprints of the examples in each split that a training run uses, sorted and distinct, 8 bytes each."""

    fingerprints: Mapping[str, Int[np.ndarray, " text"]]

    def split_of(self, examples: Sequence[Example]) -> list[str | None]:
        """The split that each of these examples was in; None for an example that the training run did not use.

        >>> from heatcheck.data import load_task
        >>> corpus = load_task("planted_keyword")
        >>> seen_in(corpus).split_of([corpus["dev"].examples[0], corpus["test"].examples[0]])
        ['dev', None]
        """
        asked = fingerprints(examples)
        found: list[str | None] = [None] * len(examples)
        for split in reversed(SEEN):  # what was in both counts as trained on
            for row in np.flatnonzero(np.isin(asked, self.fingerprints[split])).tolist():
                found[row] = split
        return found

    def joined(self, other: "Seen") -> "Seen":
        """All that either of two has seen."""
        return Seen({split: np.union1d(self.fingerprints[split], other.fingerprints[split]) for split in SEEN})


def seen_in(corpus: Corpus) -> Seen:
    """Fingerprints of all examples that a training run on this corpus sees."""
    examples = {split: corpus.splits[split].examples if split in corpus.splits else () for split in SEEN}
    return Seen({split: np.unique(fingerprints(of)) for split, of in examples.items()})


def fingerprints(examples: Iterable[Example]) -> Int[np.ndarray, " example"]:
    """A number for each example, made from its two texts alone.

    Neither the label nor the id counts, for a text that was trained on under another name was trained on. Nor do case
    and white space: a file that was saved again by another program is the same texts.
    """
    digests = [hashlib.sha256("\0".join(map(_plainly, (e.text, e.text_pair or ""))).encode()) for e in examples]
    return np.frombuffer(b"".join(digest.digest()[:8] for digest in digests), dtype="<i8").astype(np.int64)


def _plainly(text: str) -> str:
    return " ".join(text.casefold().split())
