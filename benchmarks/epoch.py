"""A training epoch at length 180: reversing each text inside its length against packing the sequences."""

import statistics
import time
from dataclasses import asdict, replace

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heatcheck.data import Corpus, Example, Split
from heatcheck.engine import stream
from heatcheck.models import Classifier, Encoder, FlatClassifier
from heatcheck.training import TrainingSettings, build, epoch_batches, make_optimizer, plan_recipe
from heatcheck.training.losses import likelihood


class PackedBiLSTM(Encoder):
    """The textbook way, and the originals': sequences packed by their lengths."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__(features, hidden)
        self.lstm = nn.LSTM(features, hidden, batch_first=True, bidirectional=True)
        self.size = 2 * hidden

    def forward(self, embedded, valid):
        packed = pack_padded_sequence(embedded, valid.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=valid.shape[1])[0]


def packed_twin(subject: Classifier) -> Classifier:
    """The same classifier with the same weights and a packed encoder."""
    twin = FlatClassifier(subject.vocabulary, subject.labels, subject.settings)
    twin.encoder = PackedBiLSTM(subject.settings.embedding, subject.settings.hidden)
    weights = subject.state_dict()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    for name in names:
        weights[f"encoder.lstm.{name}"] = weights.pop(f"encoder.ahead.{name}")
        weights[f"encoder.lstm.{name}_reverse"] = weights.pop(f"encoder.behind.{name}")
    twin.load_state_dict(weights)
    return twin


def long_texts(examples: int, words: int) -> Corpus:
    """Zipf-distributed words, lengths spread about `words` as IMDB's are."""
    generator = stream(0, "benchmark", "epoch")
    spread = np.clip(generator.normal(words, words / 2, size=examples), 10, 2 * words).astype(int)
    texts = [" ".join(f"w{n % 10_000}" for n in generator.zipf(1.3, size=length)) for length in spread]
    made = tuple(Example(f"e{n}", text, label=n % 2) for n, text in enumerate(texts))
    # Nothing is chosen here, but a plan wants a split to choose on.
    splits = {"train": Split("train", made), "dev": Split("dev", made[:2])}
    return Corpus("long", ("no", "yes"), splits, tokens="spaces")


def one_epoch(subject: Classifier, corpus: Corpus, settings: TrainingSettings) -> tuple[float, float]:
    """Seconds, and the mean loss over the epoch."""
    optimizer = make_optimizer(subject, settings)
    batches = list(epoch_batches(corpus["train"].examples, settings, stream(0, "benchmark", "batches")))
    subject.train()
    total = 0.0
    start = time.perf_counter()
    for examples in batches:
        batch = subject.encode(examples)
        loss = likelihood(subject, subject.run(batch), batch, {}).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += float(loss.detach()) * len(examples)
    return time.perf_counter() - start, total / len(corpus["train"])


def measure(quick: bool = False) -> list[dict[str, object]]:
    examples, words, repetitions = (32, 40, 1) if quick else (256, 180, 3)
    corpus = long_texts(examples, words)
    recipe = plan_recipe(corpus, preset="jw-release", **({"hidden": 16, "embedding": 16} if quick else {}))
    settings = replace(TrainingSettings(**recipe.training), reduction="mean")
    recipe = replace(recipe, training=asdict(settings))
    ours, theirs, losses = [], [], []
    for _ in range(repetitions):  # interleaved, so that a busy moment hits both
        fresh = build(recipe, corpus)
        seconds, loss_packed = one_epoch(packed_twin(fresh), corpus, settings)
        theirs.append(seconds)
        seconds, loss = one_epoch(fresh, corpus, settings)
        ours.append(seconds)
        losses.append(abs(loss - loss_packed))
    plain_s, library_s = statistics.median(theirs), statistics.median(ours)
    return [
        {
            "name": "training epoch, BiLSTM + tanh",
            "size": f"{examples} texts of {words}",
            "plain_s": plain_s,
            "library_s": library_s,
            "ratio": plain_s / library_s,
            "equal": max(losses) < 1e-5,
            "threads": torch.get_num_threads(),
        }
    ]
