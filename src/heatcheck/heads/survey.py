"""All heads of a model at a glance: how much each matters, where it looks, and which roles that gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.heads.looking import Looked, Place, look
from heatcheck.heads.reference import read_reference
from heatcheck.heads.removal import remove_each
from heatcheck.heads.roles import Role, patterns_of, roles_of, sink_rate
from heatcheck.heads.where import LEVEL, ROUNDING, Gaze, adjusted_p, gaze_shares
from heatcheck.models import Subject, require_layers

WAY = "mean"  # what takes a removed head's place: it stays what it is on average
OTHER = "other_text"  # or its weights on another text: does it matter where it looks?


class Effect(NamedTuple):
    """What the removal of a head does to the loss, in nats, with its interval over texts."""

    value: float
    low: float
    high: float
    adjusted_p: float  # over all heads (Benjamini and Hochberg)

    @property
    def matters(self) -> bool:
        """Whether the removal surely makes the loss larger."""
        return self.value > ROUNDING and self.adjusted_p <= LEVEL


@dataclass(frozen=True)
class Survey:
    """Effect, roles and pattern of each head."""

    looked: Looked
    effects: Mapping[Place, Effect]
    roles: Mapping[Place, Sequence[Role]]
    patterns: Mapping[Place, str]
    gaze: Mapping[Place, Gaze]  # of heads that matter: the share of the effect that is due to where they look
    reference: int  # texts that a head's mean is from

    @property
    def places(self) -> tuple[Place, ...]:
        return self.looked.places

    def with_roles(self, roles: Mapping[Place, Role]) -> "Survey":
        """The same survey with a further role of some heads, before their others."""
        more = {place: [roles[place], *own] if place in roles else own for place, own in self.roles.items()}
        return replace(self, roles=more)

    @property
    def sinks(self) -> dict[Place, float]:
        """The weight of each head on the first token."""
        return {place: float(v) for place, v in zip(self.places, self.looked.mean("sink"), strict=True)}

    def that_matter(self, at_most: int | None = None) -> list[Place]:
        """The heads that surely matter, the largest effect first."""
        found = [place for place in self.places if self.effects[place].matters]
        return sorted(found, key=lambda place: -self.effects[place].value)[:at_most]

    def facts(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        sinks = self.sinks
        measures = {name: self.looked.of(name) for name in self.looked.measures if self.looked.defined(name)}
        heads = [
            {
                **place._asdict(),
                "effect": {**self.effects[place]._asdict(), "matters": self.effects[place].matters},
                "where_it_looks": self._gaze_facts(place),
                "sink": sinks[place],
                "pattern": self.patterns[place],
                "roles": [role._asdict() for role in self.roles[place]],
                "measures": {
                    name: {"value": float(of.value[at]), "low": float(of.low[at]), "high": float(of.high[at])}
                    for name, of in measures.items()
                },
            }
            for at, place in enumerate(self.places)
        ]
        return {
            "texts": len(self.looked.examples),
            "reference_texts": self.reference,
            "removal": WAY,
            "causal": self.looked.causal,
            "sink_rate": sink_rate(self.looked),
            "uniform": {name: of.uniform for name, of in measures.items()},
            "heads": heads,
        }

    def _gaze_facts(self, place: Place) -> dict[str, Any] | None:
        found = self.gaze.get(place)
        return None if found is None else {**found.share._asdict(), "says": found.says}


def survey(subject: Subject, examples: Sequence[Example], reference: Sequence[Example], *, seed: int = 0) -> Survey:
    """Look at every head on some texts, and remove each in turn.

    Args:
        reference: other texts, which say what each head does on average.
    """
    deep = require_layers(subject, "a survey of its heads")
    looked = look(deep, examples, seed=seed)
    removed = remove_each(deep, examples, read_reference(deep, reference), (WAY, OTHER), seed=seed)
    gazes = gaze_shares(removed, generator=stream(seed, "heads", "gaze"))
    return Survey(
        looked=looked,
        effects=effects_of(looked.places, removed.effect(WAY), seed=seed),
        roles=roles_of(looked),
        patterns=patterns_of(looked),
        gaze={Place(found.layer + 1, found.head + 1): found for found in gazes},
        reference=len(reference),
    )


def effects_of(
    places: Sequence[Place], losses: Float[np.ndarray, "layer head example"], *, seed: int = 0, draws: int = 1000
) -> dict[Place, Effect]:
    """Mean effects with bootstrap intervals, and p-values of Student's t, adjusted over heads."""
    own = np.stack([losses[place.layer - 1, place.head - 1] for place in places], axis=1)  # [example item]
    n = len(own)
    mean = own.mean(0)
    if n == 1:
        return {place: Effect(float(value), -np.inf, np.inf, 1.0) for place, value in zip(places, mean, strict=True)}
    counts = stream(seed, "heads", "effects").multinomial(n, np.full(n, 1 / n), size=draws) / n
    low, high = np.quantile(counts @ own, [0.025, 0.975], axis=0)
    p = adjusted_p(losses)
    adjusted = [p[place.layer - 1, place.head - 1] for place in places]
    found = zip(places, mean, low, high, adjusted, strict=True)
    return {place: Effect(float(v), float(a), float(b), float(q)) for place, v, a, b, q in found}


def choose_texts(
    examples: Sequence[Example], texts: int, *, seed: int = 0, others: int = 64
) -> tuple[list[Example], list[Example]]:
    """Texts to look at and other texts for the reference, drawn by chance; never one in both."""
    if texts < 1:
        raise BadInput(f"--texts must be at least 1, not {texts}.")
    if len(examples) < 2:
        raise BadInput("a survey of heads needs two texts at least: one to look at, one for the mean. Give more texts.")
    order = stream(seed, "heads", "texts").permutation(len(examples)).tolist()
    most = min(texts, max(1, len(examples) - min(others, len(examples) // 2)))
    chosen, rest = order[:most], order[most : most + others]
    return [examples[at] for at in chosen], [examples[at] for at in rest]
