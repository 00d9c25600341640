"""What the benchmarks of Jain & Wallace's algorithms run on: texts of two sizes, and models trained for a moment.

Words are Zipf-distributed as in real text. A few of them have a polarity and agree with the label more often than
not, so that a trained model has something to attend to: on an untrained one all weights are uniform, all gates half
open, and neither a search nor a tolerance has anything to do.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import torch

from heatcheck.data import Batch, Example, Vocabulary
from heatcheck.data.vocabulary import SPECIAL
from heatcheck.engine import stream
from heatcheck.models import Classifier, ClassifierSettings, FlatClassifier
from heatcheck.training import TrainingSettings, epoch_batches, make_optimizer

BATCH = 32
LABELS = ("negative", "positive")
WORDS = 10_000
OPINIONS = tuple(range(20, 60))  # ranks of the words with a polarity, even ones negative: not the commonest, not rare
LIKELY = 1 / np.arange(1, WORDS + 1)
LIKELY[list(OPINIONS)] = 0  # they stand only where an opinion does
LIKELY /= LIKELY.sum()


class Size(NamedTuple):
    """How many texts, and how long they are."""

    name: str
    texts: int
    mean: int
    shortest: int
    longest: int

    def __str__(self) -> str:
        return f"{self.name}: {self.texts} of ~{self.mean}"


SST = Size("SST-like", 500, 18, 6, 47)
IMDB = Size("IMDB-like", 500, 180, 10, 398)
TOY_SST = Size("SST-like", 40, 12, 6, 24)
TOY_IMDB = Size("IMDB-like", 40, 40, 10, 80)


@cache
def make_texts(size: Size, *purpose: str) -> tuple[Example, ...]:
    """Texts with a label; one word in eight is an opinion, and four opinions in five are the label's."""
    generator = stream(0, "benchmark", size.name, *purpose)
    made = []
    for number in range(size.texts):
        label = number % 2
        words = int(np.clip(generator.normal(size.mean, size.mean / 2), size.shortest, size.longest))
        ranks = generator.choice(WORDS, size=words, p=LIKELY)
        places = generator.permutation(words)[: max(1, words // 8)]
        agrees = generator.random(len(places)) < 0.8
        polarity = np.where(agrees, label, 1 - label)
        ranks[places] = generator.choice(OPINIONS[::2], size=len(places)) + polarity
        made.append(Example(f"{size.name}-{number}", " ".join(f"w{rank}" for rank in ranks), label=label))
    return tuple(made)


@cache
def trained(encoder: str, *, toy: bool = False, seed: int = 0) -> Classifier:
    """A classifier with tanh attention, trained on other texts of both sizes; about ten seconds for a BiLSTM."""
    embedding, hidden, short, long = (16, 16, 400, 10) if toy else (300, 128, 2000, 100)
    chosen = TrainingSettings(epochs=4, learning_rate=0.02) if toy else TrainingSettings(epochs=3, learning_rate=1e-3)
    vocabulary = Vocabulary((*SPECIAL, *(f"w{rank}" for rank in range(WORDS))), rule="spaces", lowercase=True)
    settings = ClassifierSettings(encoder=encoder, embedding=embedding, hidden=hidden, dropout=0.5)
    train = make_texts(SST._replace(texts=short), "train") + make_texts(IMDB._replace(texts=long), "train")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # dropout too
        subject = FlatClassifier(vocabulary, LABELS, settings)
        optimizer = make_optimizer(subject, chosen)
        for epoch in range(chosen.epochs):
            for examples in epoch_batches(train, chosen, stream(seed, "benchmark", "batches", epoch)):
                batch = subject.encode(examples)
                loss = torch.nn.functional.cross_entropy(subject.run(batch).logits[:, 0], batch.gold[:, 0])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
    return subject.eval()


@dataclass(frozen=True)
class Setup:
    """An encoder at a size. `toy` models are small: for the smoke test of the benchmarks."""

    encoder: str
    size: Size
    toy: bool = False

    @property
    def subject(self) -> Classifier:
        return trained(self.encoder, toy=self.toy)

    @property
    def examples(self) -> tuple[Example, ...]:
        return make_texts(self.size)

    @cached_property
    def batches(self) -> list[Batch]:
        """Of 32 texts, sorted by length: as published."""
        ordered = sorted(self.examples, key=lambda example: len(example.words))
        return [self.subject.encode(ordered[start : start + BATCH]) for start in range(0, len(ordered), BATCH)]

    @property
    def tolerance(self) -> float:
        """Of leave-one-out's states where the whole battery needs one: a BiLSTM on long texts. 0 is exact."""
        return 1e-4 if self.encoder == "lstm" and self.size.name == IMDB.name else 0.0

    @property
    def sample(self) -> list[int]:
        """Which batches to take where all would take minutes: at most four, evenly over the lengths."""
        return spread(len(self.batches), 4 if self.size.mean > 100 else len(self.batches))


def setups(encoders: Sequence[str], *, toy: bool) -> list[Setup]:
    """Each encoder at both sizes."""
    sizes = (TOY_SST, TOY_IMDB) if toy else (SST, IMDB)
    return [Setup(encoder, size, toy) for size in sizes for encoder in encoders]


def spread(many: int, few: int) -> list[int]:
    """This many places, evenly over all.

    >>> spread(16, 4)
    [2, 6, 10, 14]
    """
    return [int((place + 0.5) * many / few) for place in range(few)] if few < many else list(range(many))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch, and what there was afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
