"""Does removing the largest weight matter more than removing another one? (Serrano & Smith's first two tests.)

Their other weight is random. Removing any one weight has a closed form, so heatcheck takes the mean over *every* choice
of the random one instead of a single draw. This adds no noise, and shows small differences between samplers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.special import bdtr, softmax

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import measured
from heatcheck.engine import Facts, stream
from heatcheck.results import Measurement

CORRECT, PUBLISHED = "correct", "as published"
CELLS = ("both", "top only", "random only", "neither")
PAIR_CELLS = ("both", "first only", "second only", "neither")
HIGHEST, LOWEST = "highest and second highest", "lowest and second lowest"
EDGES = (0.2, 0.4, 0.6, 0.8)  # for the difference of the two weights
BINS = ("Δα 0.0–0.2", "Δα 0.2–0.4", "Δα 0.4–0.6", "Δα 0.6–0.8", "Δα 0.8–1.0")
ROUNDING = 1e-12  # a smaller JSD counts as none


class SingleRemovals(NamedTuple):
    """The effect of removing each weight alone."""

    weights: Float[np.ndarray, "example token"]
    allowed: Bool[np.ndarray, "example token"]
    flips: Bool[np.ndarray, "example token"]  # the decision changes
    jsd: Float[np.ndarray, "example token"]  # of the output, in nats
    order: Int[np.ndarray, "example token"]  # the heaviest first

    @property
    def heaviest(self) -> Int[np.ndarray, " example"]:
        return self.order[:, 0]


def single_removals(
    weights: Float[np.ndarray, "example token"],
    allowed: Bool[np.ndarray, "example token"],
    own: Float[np.ndarray, "example label"],
    without: Float[np.ndarray, "example token label"],
    keys: Float[np.ndarray, "example token"] | None = None,
) -> SingleRemovals:
    """Effects from the logits with all weights and without each; among equal weights, the smallest key is heaviest."""
    before, after = (torch.from_numpy(softmax(logits, axis=-1)) for logits in (own[:, None], without))
    jsd = stats.jensen_shannon_nats(before.expand_as(after), after).numpy()
    flips = (without.argmax(-1) != own.argmax(-1)[:, None]) & allowed
    order = stats.best_first(stats.level_ties(weights, allowed), allowed, keys)
    return SingleRemovals(weights, allowed, flips, np.where(allowed, jsd, 0.0), order)


def chances(found: SingleRemovals, sampler: str) -> Float[np.ndarray, "example token"]:
    """The probability that a sampler draws each token as the random one; 0 for a text with one token.

    Correct: any token but the heaviest. As published: the code uses a random *rank* from the second to the last as a
    *position*, so it never draws the first token and may draw the heaviest.
    """
    if sampler == CORRECT:
        possible = found.allowed.copy()
        possible[np.arange(len(possible)), found.heaviest] = False
    else:
        possible = found.allowed & (found.allowed.cumsum(1) > 1)
    return np.asarray(possible / np.maximum(possible.sum(1, keepdims=True), 1))


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p-value of McNemar's test.

    >>> mcnemar(9, 1), mcnemar(0, 0)
    (0.021484375, 1.0)
    """
    n = first_only + second_only
    return min(1.0, 2 * float(bdtr(min(first_only, second_only), n, 0.5)))


def single_values(found: SingleRemovals) -> dict[str, Float[np.ndarray, " example"]]:
    """Values per example."""
    row = np.arange(len(found.weights))
    of_heaviest = {"flip:top": found.flips[row, found.heaviest] * 1.0, "jsd:top": found.jsd[row, found.heaviest]}
    of_samplers = {}
    for sampler in (CORRECT, PUBLISHED):
        chance = chances(found, sampler)
        of_samplers[f"flip:random:{sampler}"] = (chance * found.flips).sum(1)
        of_samplers[f"delta_js:{sampler}"] = of_heaviest["jsd:top"] - (chance * found.jsd).sum(1)
        of_samplers[f"delta_alpha:{sampler}"] = found.weights[row, found.heaviest] - (chance * found.weights).sum(1)
        of_samplers[f"same_place:{sampler}"] = chance[row, found.heaviest]
    return of_heaviest | of_samplers


def single_measurements(
    case: Case, found: SingleRemovals, kept: Bool[np.ndarray, " example"], draws: int
) -> Iterator[Measurement]:
    """Yield the four outcomes, the change of the output, and two fixed pairs of weights, over the kept examples."""
    values = single_values(found)
    top = values["flip:top"]
    for sampler in (CORRECT, PUBLISHED):
        random = values[f"flip:random:{sampler}"]
        of_cells = (top * random, top * (1 - random), (1 - top) * random, (1 - top) * (1 - random))
        for cell, shares in zip(CELLS, of_cells, strict=True):
            by = {"cell": cell, "sampler": sampler}
            yield from measured(case, "single", shares, kept, "none: the four cells add up to 1", by, draws)
        where = {"sampler": sampler}
        changes = values[f"delta_js:{sampler}"]
        yield from measured(
            case, "delta_js", changes, kept, "0: removing any other weight moves the output as much", where, draws
        )
        yield from _by_difference(case, found, kept, sampler, draws)
    same = values[f"same_place:{PUBLISHED}"]
    yield from measured(case, "same_place", same, kept, "0: a correct sampler", {}, draws)
    order = found.order
    last = np.maximum(found.allowed.sum(1) - 1, 1)
    row = np.arange(len(order))
    yield from _pair(case, found, kept, HIGHEST, order[:, 0], order[:, 1 if order.shape[1] > 1 else 0], draws)
    yield from _pair(case, found, kept, LOWEST, order[row, last], order[row, last - 1], draws)


def _by_difference(
    case: Case, found: SingleRemovals, kept: Bool[np.ndarray, " example"], sampler: str, draws: int
) -> Iterator[Measurement]:
    """Yield results by the difference of the two weights: ratios of means over texts."""
    row = np.arange(len(found.weights))
    chance = chances(found, sampler)
    lighter = found.weights[row, found.heaviest][:, None] - found.weights
    change = found.jsd[row, found.heaviest][:, None] - found.jsd
    place = np.digitize(lighter, EDGES)
    for number, title in ((None, ""), *enumerate(BINS)):
        here = chance * (place == number) if number is not None else chance
        by = {"sampler": sampler} | ({"bin": title} if title else {})
        weight = here.sum(1)
        among = kept & (weight > 0)
        if not among.any():
            continue
        wanted = {"delta_js_negative": (here * (change < -ROUNDING)).sum(1)}
        if title:
            wanted["delta_js"] = (here * change).sum(1)
        for name, part in wanted.items():
            interval = stats.bootstrap_interval(
                np.stack([part, weight], axis=1),
                lambda mean: np.asarray(mean[:, 0] / mean[:, 1]),
                generator=stream(case.seed, "bootstrap", name, sampler, title),
                draws=draws,
                valid=among,
            )
            baseline = (
                "½: either weight as often" if name == "delta_js_negative" else "0: any other weight moves it as much"
            )
            yield Measurement(name, *interval, baseline=baseline, by=by)


def _pair(
    case: Case,
    found: SingleRemovals,
    kept: Bool[np.ndarray, " example"],
    compared: str,
    first: Int[np.ndarray, " example"],
    second: Int[np.ndarray, " example"],
    draws: int,
) -> Iterator[Measurement]:
    """Yield which of two given weights flips the decision when it alone is removed."""
    row = np.arange(len(first))
    a, b = found.flips[row, first], found.flips[row, second]
    for cell, shares in zip(PAIR_CELLS, (a & b, a & ~b, ~a & b, ~a & ~b), strict=True):
        by = {"cell": cell, "compared": compared}
        yield from measured(case, "pair", shares * 1.0, kept, "none: the four cells add up to 1", by, draws)
    p = mcnemar(int((a & ~b & kept).sum()), int((~a & b & kept).sum()))
    tested: Facts = {"compared": compared, "mcnemar_p": round(p, 6)}
    more = a.astype(float) - b.astype(float)
    yield from measured(case, "pair_difference", more, kept, "0: both flip equally many decisions", tested, draws)
