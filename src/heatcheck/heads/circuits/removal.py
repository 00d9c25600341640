"""What a set of heads costs when it is removed, beside as many random heads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.circuits.texts import ReadsIds
from heatcheck.heads.looking import Place
from heatcheck.heads.reference import read_reference
from heatcheck.heads.sets import remove_sets
from heatcheck.models import HasLayers

WAY = "mean"  # what takes a removed head's place: its mean output over other texts of the same kind


@dataclass(frozen=True)
class Cost:
    """The loss that removing heads adds, in nats, text by text."""

    whole: Float[np.ndarray, " example"]  # the loss with all heads
    chosen: Float[np.ndarray, " example"]  # added without these heads
    random: Float[np.ndarray, "draw example"]  # added without as many other heads
    reference: int  # texts that the mean outputs are of

    def of_chosen(self, seed: int = 0, draws: int = 2000) -> stats.Interval:
        """The loss that their removal adds; above 0 it costs something."""
        generator = stream(seed, "circuits", "cost")
        return stats.bootstrap_interval(self.chosen, generator=generator, draws=draws)

    def of_random(self) -> stats.Interval:
        """The same for as many random heads, with the spread of draws and of texts."""
        return stats.two_way_interval(self.random)

    def difference(self) -> stats.Interval:
        """How much more these heads cost than random ones; the claim is that this is above 0."""
        return stats.two_way_interval(self.chosen - self.random)

    @property
    def random_at_least(self) -> int:
        """How many of the random sets cost at least as much."""
        return int((self.random.mean(1) >= self.chosen.mean()).sum())


def cost_of(
    subject: HasLayers | ReadsIds,
    places: Sequence[Place],
    heads: Sequence[Place],
    examples: Sequence[Example],
    reference: Sequence[Example],
    *,
    draws: int = 20,
    seed: int = 0,
) -> Cost:
    """Remove a set of heads, and as many random ones of the others, so many times over.

    Each removed head hands on its mean output over the reference texts.

    Args:
        places: the heads in question.
        heads: all heads of the model.
    """
    sets = np.stack([mask_of((), heads), *_sets(places, heads, draws, seed)])
    known = read_reference(subject, reference)
    losses = remove_sets(subject, examples, sets, known, WAY, seed=seed).loss
    return Cost(losses[0], losses[1] - losses[0], losses[2:] - losses[0], len(reference))


def _sets(places: Sequence[Place], heads: Sequence[Place], draws: int, seed: int) -> list[np.ndarray]:
    others = [place for place in heads if place not in set(places)]
    if not places or len(others) < len(places):
        raise BadInput(
            f"{len(places)} of {len(heads)} heads cannot be compared with as many others. Choose at least one, and at "
            "most half."
        )
    found = [mask_of(places, heads)]
    for draw in range(draws):
        chosen = stream(seed, "circuits", "random set", draw).choice(len(others), len(places), replace=False)
        found.append(mask_of([others[at] for at in chosen], heads))
    return found


def mask_of(places: Sequence[Place], heads: Sequence[Place]) -> Bool[np.ndarray, "layer head"]:
    """These of all heads as a mask by layer and head."""
    found = np.zeros((max(one.layer for one in heads), max(one.head for one in heads)), dtype=bool)
    for place in places:
        found[place.layer - 1, place.head - 1] = True
    return found
