"""Voita et al.'s experiment on one classifier: gates at several penalties, how many heads stay, and how well they do.

Beside each model with learned gates stand sets of as many heads that nothing was learned for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.heads.gates import GateSettings, learn_gates
from heatcheck.heads.pruning import Order, set_of
from heatcheck.heads.sets import remove_sets
from heatcheck.models import HasLayers

PENALTIES = (0.04, 0.08, 0.16, 0.32)


class Point(NamedTuple):
    """One learned set of gates: its penalty and seed, which heads stay, and the accuracy on test."""

    penalty: float
    seed: int
    weights: bool  # whether the model's weights learned too
    log_a: Float[np.ndarray, "layer head"]
    kept: Bool[np.ndarray, "layer head"]
    accuracy: stats.Interval

    def facts(self) -> dict[str, Any]:
        """The point as plain JSON; heads count from 0."""
        return {
            "weights": self.weights,
            "penalty": self.penalty,
            "seed": self.seed,
            "kept": int(self.kept.sum()),
            "heads": np.argwhere(self.kept).tolist(),
            "accuracy": self.accuracy.value,
            "low": self.accuracy.low,
            "high": self.accuracy.high,
        }


def learn_frontier(
    subject: HasLayers,
    train: Sequence[Example],
    test: Sequence[Example],
    *,
    penalties: Sequence[float] = PENALTIES,
    seeds: int = 3,
    weights: Sequence[bool] = (False, True),
    settings: GateSettings | None = None,
    progress: Callable[[Point], None] = lambda _point: None,
) -> list[Point]:
    """Learn gates on train for each penalty and seed, with fixed weights and with weights that learn; score on test."""
    found = []
    for learns in weights:
        for penalty in penalties:
            for seed in range(seeds):
                chosen = replace(settings or GateSettings(), penalty=penalty, weights=learns)
                gated = learn_gates(subject, train, chosen, seed=seed)
                right = stats.bootstrap_interval(gated.accuracy(test), generator=stream(seed, "gates", f"{penalty:g}"))
                kept = np.nan_to_num(gated.gates) > 0
                found.append(Point(penalty, seed, learns, gated.log_a, kept, right))
                progress(found[-1])
    return found


def as_many(
    subject: HasLayers,
    test: Sequence[Example],
    sizes: Sequence[int],
    orders: Mapping[str, Order],
    *,
    random: int = 20,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Accuracy on test with so many heads left, nothing learned: the last heads of each order, and random ones.

    Args:
        sizes: how many heads are left, one number per result.
        orders: the first head to go first.
        random: how many random orders; their mean is reported.
    """
    heads = next(iter(orders.values()))
    drawn = [heads[stream(seed, "order of heads", number).permutation(len(heads))] for number in range(random)]
    once = sorted(set(sizes))
    every = [*orders.values(), *drawn]
    sets = np.stack([set_of(order[: len(order) - size], heads) for order in every for size in once])
    right = remove_sets(subject, test, sets, None).right.mean(-1).reshape(len(every), len(once))
    rows = dict(zip(orders, right, strict=False)) | {"random": right[len(orders) :].mean(0)}
    return {name: [float(of[once.index(size)]) for size in sizes] for name, of in rows.items()}
