"""Michel et al.'s experiments on one classifier: orders in which heads can go, and how much one head per layer can do.

Orders are found on some labelled examples and tried on others. Nothing is retrained.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.proxy import estimate_each
from heatcheck.heads.pruning import (
    RANDOM_ORDERS,
    SHARES,
    Curves,
    Order,
    greedy_order,
    least_first,
    plain_orders,
    prune,
)
from heatcheck.heads.removal import remove_each
from heatcheck.heads.sets import remove_sets
from heatcheck.heads.where import LEVEL, adjusted_p
from heatcheck.models import HasLayers

HALF = 0.5  # of the heads, for the interaction
Each = Float[np.ndarray, "layer head example"]


class Singles(NamedTuple):
    """What each head's removal alone does to loss and accuracy on some examples."""

    loss: Each
    right: Each  # change of the share of right answers
    moved: Each
    whole: Float[np.ndarray, " example"]  # whether the whole model is right

    def counts(self) -> dict[str, int]:
        """Heads there are, and heads whose removal surely changes the loss or the accuracy, by direction."""
        found = {"heads": int((~np.isnan(self.loss).any(-1)).sum())}
        for name, values, worse in (("loss", self.loss, 1), ("accuracy", self.right, -1)):
            with np.errstate(invalid="ignore"):
                sure, sign = adjusted_p(values) <= LEVEL, np.sign(values.mean(-1)) * worse
            found |= {f"{name} worse": int((sure & (sign > 0)).sum()), f"{name} better": int((sure & (sign < 0)).sum())}
        return found


def remove_singly(subject: HasLayers, examples: Sequence[Example]) -> Singles:
    """Set each head's output to zero in turn; the examples must have labels."""
    require_labels(examples)
    removed = remove_each(subject, examples, None, ["zero"])
    without = removed.without["zero"]
    return Singles(
        removed.effect("zero"), without.right - removed.whole.right, without.moved, np.asarray(removed.whole.right)
    )


def find_orders(
    subject: HasLayers, examples: Sequence[Example], singles: Singles, *, greedy: int = 0
) -> dict[str, Order]:
    """Orders in which heads can go, the first to go first, as these examples suggest them.

    Args:
        singles: what each head's removal alone does on the same examples.
        greedy: examples for the order that measures anew after each step; 0 leaves it out.
    """
    importance = estimate_each(subject, examples, None, ["zero"]).importance
    best = least_first(singles.loss.mean(-1))
    orders = {
        "loss added": best,  # with its sign: heads whose removal lowers the loss go first
        "loss added, reversed": best[::-1].copy(),
        "answers moved": least_first(singles.moved.mean(-1)),
        "gradient (Michel)": least_first(importance.mean(-1)),
        **plain_orders(best),
    }
    if greedy:
        orders["greedy"] = greedy_order(subject, examples[:greedy], None, best)
    return orders


def try_orders(
    subject: HasLayers,
    examples: Sequence[Example],
    orders: Mapping[str, Order],
    singles: Singles,
    *,
    random: int = RANDOM_ORDERS,
    shares: Sequence[float] = SHARES,
) -> dict[str, Any]:
    """Accuracy and loss at each share of removed heads, by order, with the band of random orders, as plain JSON.

    Args:
        singles: what each head's removal alone does on these examples.
        random: how many random orders.
    """
    curves = prune(subject, examples, None, orders, random=random, shares=shares)
    found: dict[str, Any] = {"shares": list(shares)}
    found |= {name: _curve(curves, name, order, singles.loss) for name, order in orders.items()}
    of_random = curves.random.right.mean(-1)  # [draw share]
    low, high = np.quantile(of_random, [0.025, 0.975], axis=0)
    found["random"] = {
        "accuracy": of_random.mean(0).tolist(),
        "band": [low.tolist(), high.tolist()],
        "orders": len(of_random),
    }
    return found


def _curve(curves: Curves, name: str, order: Order, effects: Each) -> dict[str, Any]:
    generator = stream(0, "pruning", name)
    return {
        "accuracy": curves.of[name].right.mean(-1).tolist(),
        "loss": curves.of[name].loss.mean(-1).tolist(),
        "area": list(curves.area(name, generator=generator)),
        "free_share": curves.free_share(name, generator=generator),
        "interaction": list(curves.interaction(name, order, effects, HALF, generator=generator)),
    }


class OneLeft(NamedTuple):
    """Accuracy with one head left: in each layer alone, the others whole; and in all layers at once."""

    heads: tuple[int, ...]  # from 0, the one that is left in each layer
    by_layer: tuple[stats.Interval, ...]
    everywhere: stats.Interval


def leave_one(subject: HasLayers, found_on: Sequence[Example], examples: Sequence[Example]) -> OneLeft:
    """Leave one head in a layer: the one that alone keeps the loss smallest on `found_on`, tried on `examples`."""
    require_labels([*found_on, *examples])
    there = ~np.isnan(remove_each(subject, found_on[:1], None, ["zero"]).effect("zero")).any(-1)
    alone = np.argwhere(there)
    losses = remove_sets(subject, found_on, np.stack([_all_but(there, *head) for head in alone.tolist()]), None).loss
    best = [min(_of_layer(alone, losses.mean(-1), layer))[1] for layer in range(len(there))]
    by_layer = [_all_but(there, layer, head) for layer, head in enumerate(best)]
    right = remove_sets(subject, examples, np.stack([*by_layer, np.any(by_layer, axis=0)]), None).right
    intervals = [
        stats.bootstrap_interval(one, generator=stream(0, "one left", place)) for place, one in enumerate(right)
    ]
    return OneLeft(tuple(best), tuple(intervals[:-1]), intervals[-1])


def _of_layer(
    heads: Int[np.ndarray, "item 2"], losses: Float[np.ndarray, " item"], layer: int
) -> list[tuple[float, int]]:
    return [(float(loss), int(head)) for (of, head), loss in zip(heads.tolist(), losses, strict=True) if of == layer]


def _all_but(there: Bool[np.ndarray, "layer head"], layer: int, head: int) -> Bool[np.ndarray, "layer head"]:
    """All heads of a layer but one."""
    found = np.zeros_like(there)
    found[layer] = there[layer]
    found[layer, head] = False
    return found


def require_labels(examples: Sequence[Example]) -> None:
    """Raise if an example has no label: accuracy needs one."""
    for example in examples:
        if example.label is None:
            raise BadInput(f"example {example.id} has no label, and pruning measures accuracy. Add labels to the data.")
