"""The dial, a model that uses the word it attends to by a known share m (0 to 1), and how each statistic must follow m.

It must be weakly monotone in m, cover at least half of what theory says lies between the ends (a statistic that hardly
moves is monotone for free), and every line of the card may change its mind once.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, groupby
from math import log, sqrt
from typing import NamedTuple

from scipy.special import expit, logit

from heatcheck.results import CheckResult, Measurement

TASK = "planted_twins"
SHARES = tuple(round(0.1 * step, 1) for step in range(11))
ERRORS = 2.0  # standard errors that an inversion must exceed to count
COVERED = 0.5  # of the range between the ends in theory
NORMAL = 1.96  # half a 95% interval, in standard errors
EPSILON = 0.05  # of U and q
STANDARD = expit(2.0)  # the answer's probability at a standardised margin


class Statistic(NamedTuple):
    """Where it is found, which way it goes, and how far in theory: from vote size and number of tokens."""

    check: str
    name: str
    by: Mapping[str, object]
    rises: bool
    range: Callable[[float, float], float]


def _removed_by_chance(tokens: float) -> float:
    """How often the other cue is among the words that go after the attended one, when 1, 2 and 4 words go."""
    return 4 / 3 / (tokens - 1)


def _share_at_zero(tokens: float) -> float:
    """K where the attended cue is not used: below 0, for random removal hits the other cue more often."""
    at_random = 7 / 3 / tokens
    return (_removed_by_chance(tokens) - at_random) / (1 - at_random)


def _worst_case(epsilon: float) -> float:
    """U where all depends on the attended cue: it keeps so much of its weight that p falls by no more than ε."""
    kept = float(logit(STANDARD - epsilon)) / 2
    apart = kept * log(2 * kept / (1 + kept)) + (1 - kept) * log(2) + log(2 / (1 + kept))
    return apart / 2 / log(2)


# All weight on the attended cue: at m = 0 the weights change nothing, at m = 1 everything hangs on it.
STATISTICS: dict[str, Statistic] = {
    "K": Statistic("erasure", "K", {"operator": "deletion"}, True, lambda _, tokens: 1 - _share_at_zero(tokens)),
    "effect of erasure": Statistic(
        "erasure",
        "effect",
        {"operator": "deletion", "ranking": "attention"},
        True,
        lambda _, tokens: (STANDARD - 0.5) * (1 - _removed_by_chance(tokens)),
    ),
    "change by shuffling": Statistic("permutation", "delta", {}, True, lambda scale, _: float(expit(scale)) - 0.5),
    "change by uniform weights": Statistic(
        "necessity", "change", {"weights": "uniform"}, True, lambda _, tokens: STANDARD - float(expit(2 / tokens))
    ),
    "q": Statistic("permutation", "q", {}, False, lambda _, tokens: 1 - 1 / tokens),
    "U": Statistic("counterfactual", "U", {}, False, lambda _, __: 1 - _worst_case(EPSILON)),
}
CHECKS = tuple(dict.fromkeys(statistic.check for statistic in STATISTICS.values()))


class Reading(NamedTuple):
    """One statistic at one setting of the dial."""

    share: float
    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        return (self.high - self.low) / 2 / NORMAL


class Curve(NamedTuple):
    """One statistic over the whole dial, of one seed."""

    name: str
    seed: int
    readings: tuple[Reading, ...]
    covered: float  # of the range in theory, between the ends
    inversions: tuple[str, ...]  # beyond chance

    @property
    def good(self) -> bool:
        return not self.inversions and self.covered >= COVERED


def read_dial(results: Mapping[str, CheckResult]) -> dict[str, Measurement]:
    """The statistics in an audit of a dial."""
    found = {}
    for title, (check, name, by, _, _) in STATISTICS.items():
        # Those by class or bin are parts of the one wanted.
        (found[title],) = [
            m
            for m in results[check].measurements
            if m.name == name and not {"class", "bin"} & m.by.keys() and by.items() <= m.by.items()
        ]
    return found


def curve(name: str, seed: int, readings: Sequence[Reading], *, scale: float, tokens: float) -> Curve:
    """Holds a statistic against what is asked of it.

    >>> rising = [Reading(m, m, m - 0.02, m + 0.02) for m in (0.0, 0.5, 1.0)]
    >>> found = curve("K", 0, rising, scale=3.0, tokens=15.0)
    >>> found.good, round(found.covered, 2)
    (True, 0.93)
    """
    ordered = sorted(readings)
    statistic = STATISTICS[name]
    sign = 1 if statistic.rises else -1
    inversions = [
        f"m = {one.share:g} gives {one.value:.3f} and m = {other.share:g} gives {other.value:.3f}"
        for one, other in combinations(ordered, 2)
        if sign * (other.value - one.value) < -ERRORS * sqrt(one.error**2 + other.error**2) - 1e-9
    ]
    covered = sign * (ordered[-1].value - ordered[0].value) / statistic.range(scale, tokens)
    return Curve(name, seed, tuple(ordered), covered, tuple(inversions))


def changes_once(states: Sequence[str]) -> bool:
    """Whether no state comes back after another: a line changes its mind once at most, maybe through unclear.

    >>> changes_once(["no", "no", "unclear", "yes"]), changes_once(["no", "yes", "no"])
    (True, False)
    >>> changes_once(["no", "unclear", "no"])
    False
    """
    runs = [state for state, _ in groupby(states)]
    return len(runs) == len(set(runs))
