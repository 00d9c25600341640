"""How many heads can go, and in which order: answers while more and more heads are removed, against random orders.

Nothing is retrained. Orders come from true effects, from estimates, from gates, or from anything else that ranks heads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.reference import Reference
from heatcheck.heads.removal import Answers
from heatcheck.heads.sets import remove_sets
from heatcheck.models import HasLayers

SHARES = tuple(round(0.05 * step, 2) for step in range(21))  # of all heads, removed
RANDOM_ORDERS = 20
RULE_OF_THREE = 3.0
FREE = 0.01  # of accuracy: a loss that is surely smaller is none
Order = Int[np.ndarray, "item 2"]  # layers and heads from 0, the first to go first


@dataclass(frozen=True)
class Curves:
    """Answers at each share of removed heads: by order [share example], and of random orders [draw share example]."""

    shares: tuple[float, ...]
    of: Mapping[str, Answers]
    random: Answers

    @property
    def mean_random(self) -> Float[np.ndarray, "removal example"]:
        """The share of random orders that are right, at each share of removed heads."""
        return np.asarray(self.random.right.mean(0))

    def area(self, order: str, *, generator: np.random.Generator, draws: int = 2000) -> stats.Interval:
        """How much more accurate this order is than random ones, mean over shares; above 0: it knows more."""
        gain = (self.of[order].right - self.mean_random).mean(0)
        return stats.bootstrap_interval(gain, generator=generator, draws=draws)

    def free_share(self, order: str, *, generator: np.random.Generator, draws: int = 2000) -> float:
        """The largest share of heads whose removal surely costs less than one point of accuracy."""
        whole = self.of[order].right[0]
        free = 0.0
        for share, right in zip(self.shares, self.of[order].right, strict=True):
            lost = stats.bootstrap_interval(whole - right, generator=generator, draws=draws)
            # If no answer changes there is nothing to resample: a share that was never seen in n is below 3 / n.
            high = lost.value + RULE_OF_THREE / lost.n if lost.low == lost.high else lost.high
            if high < FREE:
                free = share
        return free

    def interaction(
        self,
        order: str,
        removed: Order,
        effects: Float[np.ndarray, "layer head example"],
        share: float,
        *,
        generator: np.random.Generator,
        draws: int = 2000,
    ) -> stats.Interval:
        """The loss that a whole set adds, over the sum of what its heads add one by one; above 1: they stood in.

        Args:
            removed: the order itself.
            effects: the loss that each head's removal alone adds.
            share: which set of the order.
        """
        if share not in self.shares or share == 0:
            raise BadInput(f"share must be one of {', '.join(f'{one:g}' for one in self.shares[1:])}, not {share:g}.")
        place = self.shares.index(share)
        heads = removed[: number_of(share, len(removed))]
        together = self.of[order].loss[place] - self.of[order].loss[0]
        alone = effects[heads[:, 0], heads[:, 1]].sum(0)
        columns = np.stack([together, alone], axis=1)
        return stats.bootstrap_interval(columns, lambda m: m[:, 0] / m[:, 1], generator=generator, draws=draws)


def number_of(share: float, heads: int) -> int:
    """How many heads a share of them is."""
    return round(share * heads)


def prune(
    subject: HasLayers,
    examples: Sequence[Example],
    reference: Reference | None,
    orders: Mapping[str, Order],
    *,
    way: str = "zero",
    random: int = RANDOM_ORDERS,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
) -> Curves:
    """Remove more and more heads in each of these orders, and in random ones."""
    if not orders:
        raise BadInput("there is no order to prune in. Give at least one.")
    heads = next(iter(orders.values()))
    for name, order in orders.items():
        if sorted(map(tuple, order.tolist())) != sorted(map(tuple, heads.tolist())):
            raise BadInput(f"the order {name!r} does not name every head once. Give one that does.")
    drawn = [heads[stream(seed, "order of heads", number).permutation(len(heads))] for number in range(random)]
    every = [*orders.values(), *drawn]
    sets = np.stack([set_of(order[: number_of(share, len(order))], heads) for order in every for share in shares])
    found = remove_sets(subject, examples, sets, reference, way, seed=seed)
    by_order = Answers(*(values.reshape(len(every), len(shares), -1) for values in found))
    named = {name: Answers(*(values[place] for values in by_order)) for place, name in enumerate(orders)}
    return Curves(tuple(shares), named, Answers(*(values[len(orders) :] for values in by_order)))


def set_of(removed: Int[np.ndarray, "removal 2"], heads: Order) -> Bool[np.ndarray, "layer head"]:
    """These of all heads as a mask."""
    found = np.zeros(heads.max(0) + 1, dtype=bool)
    found[removed[:, 0], removed[:, 1]] = True
    return found


def least_first(values: Float[np.ndarray, "layer head"]) -> Order:
    """The order in which heads with the lowest values go first; ties go from the bottom up.

    >>> least_first(np.array([[0.3, 0.1], [0.2, np.nan]])).tolist()
    [[0, 1], [1, 0], [0, 0]]
    """
    heads = np.argwhere(~np.isnan(values))
    return heads[np.argsort(values[heads[:, 0], heads[:, 1]], kind="stable")]


def plain_orders(heads: Order) -> dict[str, Order]:
    """Orders that know nothing of the model: from the bottom up and from the top down."""
    upward = heads[np.lexsort((heads[:, 1], heads[:, 0]))]
    return {"bottom up": upward, "top down": upward[::-1].copy()}


def greedy_order(
    subject: HasLayers,
    examples: Sequence[Example],
    reference: Reference | None,
    heads: Order,
    *,
    way: str = "zero",
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _removed: None,
) -> Order:
    """At each step the heads go whose removal adds the least loss to what is gone already; effects are measured anew.

    This costs one pass per step and head that is left, so it is for a GPU or for few examples.
    """
    gone: list[list[int]] = []
    for before, after in pairwise(shares):
        step = number_of(after, len(heads)) - number_of(before, len(heads))
        left = [head for head in heads.tolist() if head not in gone]
        sets = np.stack([set_of(np.array([*gone, head]), heads) for head in left])
        added = remove_sets(subject, examples, sets, reference, way, seed=seed).loss.mean(-1)
        gone += [left[place] for place in np.argsort(added, kind="stable")[:step]]
        progress(len(gone))
    return np.array(gone)
