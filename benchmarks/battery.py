"""Jain & Wallace's whole battery and its stages: as published, and as the library does it, on the same inputs.

The rows of `permutation` and `counterfactual` start, on both sides, from texts that have been encoded once. The whole
battery is everything: encoding, gradients, leave-one-out, correlations, permutation, counterfactual. It stands here
twice: for what the original gives, and for all that an audit adds to it (floors, nulls, three ε, standardised logits,
further explainers, intervals).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import plain_side
from benchmarks.inputs import Setup, one_thread, setups
from benchmarks.leave_one_out import EXACT, ROUGH
from benchmarks.library_side import run_library
from benchmarks.memory import peak_of_library
from benchmarks.plain_side import PAIRS, Timed
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.case import PUBLISHED
from heatcheck.engine import seed_of
from heatcheck.explainers import Scores
from heatcheck.stats import kendall_tau
from heatcheck.stats.shuffles import shuffled_weights

ENCODERS = ("lstm", "average")
TARGETS = {"permutation": 50, "counterfactual": 300}
BATTERY_TARGETS = {"lstm": 10, "average": 100}
MEMORY_GB = 2.0


def measure(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Rows of each stage and of the whole, for each encoder at each size; and the peak of the library's memory."""
    for setup in setups(ENCODERS, toy=quick):
        with one_thread():
            yield from _compare(setup)
    longest = setups(["lstm"], toy=quick)[-1]
    peak = peak_of_library(longest)
    yield {
        "name": "peak memory of the library's battery, lstm",
        "size": f"{longest.size}",
        "peak_gb": peak,
        "limit_gb": MEMORY_GB,
        "equal": peak < MEMORY_GB,
    }


def _compare(setup: Setup) -> list[dict[str, Any]]:
    run_library(Setup(setup.encoder, setup.size._replace(texts=4), setup.toy))  # compiles, before the clock starts
    plain = plain_side.battery(setup)
    case, library = run_library(setup)
    equal = {
        "gradients": _gradients_agree(case, plain["gradients"]),
        "leave-one-out": _removals_agree(setup, case, plain["leave-one-out"]),
        "correlations": _correlations_agree(setup, plain),
        "permutation": _permutations_agree(setup, case),
        "counterfactual": _never_smaller(case, plain["counterfactual"], library["counterfactual"]),
    }
    rows = [
        _row(setup, stage, plain[stage], library[stage], equal[stage], TARGETS.get(stage))
        for stage in ("gradients", "permutation", "counterfactual")
    ]
    published_s = sum(timed.seconds for timed in plain.values())
    sampled = min(timed.share for timed in plain.values())
    whole = Timed(published_s, {}, sampled)
    same = Timed(sum(timed.seconds for stage, timed in library.items() if stage != "shipped"), {})
    shared = sum(library[stage].seconds for stage in ("encoding", "gradients", "leave-one-out"))
    audit = Timed(shared + library["shipped"].seconds, {})
    stages = {"plain": _seconds(plain), "library": _seconds(library)}
    target = BATTERY_TARGETS[setup.encoder]
    more = {"stages": stages, "tolerance": setup.tolerance, "agree": equal}
    return [
        *rows,
        {**_row(setup, "whole battery", whole, same, all(equal.values()), target), **more},
        {**_row(setup, "whole battery, with all an audit adds", whole, audit, all(equal.values()), None), **more},
    ]


def _gradients_agree(case: Case, plain: Timed) -> bool:
    """The plain side multiplies in float32 only."""
    return all(
        np.allclose(ours, theirs, rtol=1e-3, atol=1e-7)
        for ours, theirs in _both(case.scores("gradient", PUBLISHED), plain)
    )


def _removals_agree(setup: Setup, case: Case, plain: Timed) -> bool:
    scores = case.scores("leave_one_out", PUBLISHED)
    ours = {name: row[valid] for name, row, valid in zip(scores.ids, scores.sizes(), scores.valid, strict=True)}
    return plain_side.same_removals(setup, plain.found, ours, ROUGH if setup.tolerance else EXACT)


def _both(scores: Scores, plain: Timed) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sizes over the words of each example that the plain side was run on."""
    row = {name: number for number, name in enumerate(scores.ids)}
    sizes = scores.sizes()
    return [(sizes[row[name], scores.valid[row[name]]], theirs) for name, theirs in plain.found.items()]


def _correlations_agree(setup: Setup, plain: dict[str, Timed]) -> bool:
    """Our τ and p-values of the plain side's own scores."""
    names = list(plain["leave-one-out"].found)
    scores = {"attention": plain["encoding"], "gradients": plain["gradients"], "leave-one-out": plain["leave-one-out"]}
    valid = np.arange(setup.size.longest) < np.array([[len(plain["gradients"].found[name])] for name in names])
    agree = []
    for a, b in PAIRS:
        x, y = np.zeros(valid.shape), np.zeros(valid.shape)
        x[valid] = np.concatenate([scores[a].found[name] for name in names])
        y[valid] = np.concatenate([scores[b].found[name] for name in names])
        ours = kendall_tau(x, y, valid)
        both = np.stack([ours.correlation, ours.p_value], axis=1)
        agree.append(np.allclose(both, plain["correlations"].found[a, b], rtol=0, atol=1e-10, equal_nan=True))
    return all(agree)


def _permutations_agree(setup: Setup, case: Case) -> bool:
    """The medians of the library's check, from the plain side under the library's very shuffles."""
    result = CHECKS["permutation"].measure(case, CHECKS["permutation"].settings(draws=1))
    ours = dict(zip(result.examples, result.per_example["delta"], strict=True))
    drawn = {}
    for example in case.examples:
        length = len(example.words)
        seed = np.array([seed_of(case.seed, "permutation", example.id)], dtype=np.uint64)
        places = shuffled_weights(np.arange(length, dtype=float)[None], np.ones((1, length), bool), seed, 100)
        drawn[example.id] = iter(places[0].astype(int))
    theirs = plain_side.permutation(setup, lambda name, _: next(drawn[name]))
    return all(abs(ours[name] - delta) < 1e-5 for name, delta in theirs.items())


def _never_smaller(case: Case, plain: Timed, library: Timed) -> bool:
    """ε-max JSD on every instance that was searched; the search's own arithmetic is float32."""
    ours = dict(zip((example.id for example in case.examples), library.found["found"], strict=True))
    return all(ours[name] >= searched - 1e-5 for name, searched in plain.found.items())


def _row(setup: Setup, name: str, plain: Timed, library: Timed, equal: bool, target: int | None) -> dict[str, Any]:
    return {
        "name": f"{name}, {setup.encoder}",
        "size": f"{setup.size}",
        "plain_s": plain.seconds,
        "library_s": library.seconds,
        "ratio": plain.seconds / library.seconds,
        "equal": bool(equal),
        "target": target,
        "timed_share": plain.share,  # of the plain side's work; the rest is scaled
        "threads": 1,
    }


def _seconds(stages: dict[str, Timed]) -> dict[str, float]:
    return {stage: timed.seconds for stage, timed in stages.items()}
