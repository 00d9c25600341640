"""The plain side of the benchmarks, by the clock: each algorithm of benchmarks/published.py over all batches.

Where that would take minutes (leave-one-out and the search at IMDB's lengths), four whole batches spread evenly over
the lengths are timed, and the time is scaled by the tokens that the algorithm reads.
"""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks import published
from benchmarks.inputs import Setup, one_thread
from heatcheck.data import Batch
from heatcheck.engine import stream

PAIRS = list(combinations(("attention", "gradients", "leave-one-out"), 2))
TOY_STEPS = 20
ROUNDING = 1e-3  # of a probability after hundreds of chaotic steps; beyond it, a side is wrong


class Timed(NamedTuple):
    """Processor seconds over all texts (there is one thread, and the machine may be busy with others), and what was
    found, by example id; `share` of the work that was really done."""

    seconds: float
    found: dict[Any, Any]
    share: float = 1.0


def over_batches(
    of_batch: Callable[[Any], dict[str, Any]],
    batches: Sequence[Any],
    tokens: Callable[[Any], int],
    sample: Sequence[int] | None = None,
) -> Timed:
    """Over the batches of the sample, scaled to all by the tokens read."""
    chosen = batches if sample is None else [batches[place] for place in sample]
    found: dict[str, Any] = {}
    start = time.process_time()
    for batch in chosen:
        found.update(of_batch(batch))
    seconds = time.process_time() - start
    share = sum(map(tokens, chosen)) / sum(map(tokens, batches))
    return Timed(seconds / share, found, share)


@cache
def leave_one_out(setup: Setup) -> Timed:
    """Timed once, whoever asks."""

    def of_batch(batch: Batch) -> dict[str, Any]:
        return published.leave_one_out(setup.subject, batch)

    with one_thread():
        return over_batches(of_batch, setup.batches, tokens_without_each, setup.sample)


def tokens_without_each(batch: Batch) -> int:
    """Tokens that re-encoding reads: every text of the batch, a token shorter, for each position."""
    texts, longest = batch.valid.shape
    return texts * (longest - 1) * (longest - 2)


def same_removals(
    setup: Setup, plain: Mapping[str, np.ndarray], ours: Mapping[str, np.ndarray], allowed: float
) -> bool:
    """Whether ours agree with the plain side's within `allowed`, or float64 says that float32 cannot.

    A BiLSTM can be chaotic about a word: the plain side itself is then further off than that. Such a gap is judged by
    the truth: ours may be three times as far from it as the plain side is, and `allowed`.
    """
    doubtful = [name for name, theirs in plain.items() if np.abs(ours[name] - theirs).max() > allowed]
    if len(doubtful) > len(plain) / 10:
        return False  # no accident, and the judge is slow
    judge = copy.deepcopy(setup.subject).double()
    for example in (example for example in setup.examples if example.id in doubtful):
        truth = published.leave_one_out(judge, judge.encode([example]))[example.id]
        rounding = np.abs(plain[example.id] - truth)
        if rounding.max() > ROUNDING or (np.abs(ours[example.id] - truth) > allowed + 3 * rounding).any():
            return False
    return True


def permutation(setup: Setup, draw: published.Draw) -> dict[str, float]:
    """Medians of the sample with these draws, not timed: to compare both sides on the very same shuffles."""
    found: dict[str, float] = {}
    for place in setup.sample:
        encoded = published.encode(setup.subject, setup.batches[place])
        found.update(published.permutation(setup.subject, encoded, draw))
    return found


@cache
def battery(setup: Setup) -> dict[str, Timed]:
    """Every stage of the published battery; the two on weights start from the encoded batches."""
    subject, batches = setup.subject, setup.batches
    generator, noise = stream(0, "plain permutations"), torch.Generator().manual_seed(0)
    settings = {"steps": TOY_STEPS} if setup.toy else {}
    encoded: list[published.Encoded] = []

    def encode(batch: Batch) -> dict[str, Any]:
        encoded.append(published.encode(subject, batch))
        return published.attention(encoded[-1])

    def shuffle(of: published.Encoded) -> dict[str, Any]:
        return published.permutation(subject, of, lambda _, length: generator.permutation(length))

    def search(of: published.Encoded) -> dict[str, Any]:
        return published.adversarial(subject, of, noise, **settings)

    with one_thread():
        found = {
            "encoding": over_batches(encode, batches, _tokens),
            "gradients": over_batches(lambda batch: published.gradient_importance(subject, batch), batches, _tokens),
            "leave-one-out": leave_one_out(setup),
            "permutation": over_batches(shuffle, encoded, _tokens_encoded),
            "counterfactual": over_batches(search, encoded, _tokens_encoded, setup.sample),
        }
        return {**found, "correlations": _correlations(found)}


def _correlations(found: dict[str, Timed]) -> Timed:
    """Of the examples that every score is there for, scaled by their number."""
    names = list(found["leave-one-out"].found)
    scores = {
        "attention": {name: found["encoding"].found[name] for name in names},
        "gradients": {name: found["gradients"].found[name] for name in names},
        "leave-one-out": found["leave-one-out"].found,
    }
    start = time.process_time()
    taus = published.correlations(scores, PAIRS)
    share = len(names) / len(found["gradients"].found)
    return Timed((time.process_time() - start) / share, taus, share)


def _tokens(batch: Batch) -> int:
    return batch.valid.numel()


def _tokens_encoded(encoded: published.Encoded) -> int:
    return _tokens(encoded.batch)
