"""Names for what a head does, each by a written rule on its measures: a role is given only where it is sure.

A rule compares a measure with a threshold, and with what uniform weights give on the same texts. The interval's lower
end must be above both. Thresholds come from the papers where these have one.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck.heads.looking import Looked, Place, Values

SINK = 0.3  # Gu et al.
VERTICAL, DIAGONAL, BLOCK = 0.4, 0.4, 0.2  # of pattern classes; measured on made-up maps in the tests
BROAD = 0.9  # of the entropy of uniform weights


class Rule(NamedTuple):
    """A role: the measure that shows it, and how large that must be."""

    role: str
    measure: str
    threshold: float
    about: str  # what the measure is, as a share of something
    beyond: float = 0.0  # so much above uniform weights at least


RULES = (
    Rule("previous token", "top at -1", 0.9, "of queries look most at the token before"),  # Voita et al.
    Rule("next token", "top at +1", 0.9, "of queries look most at the token after"),  # Voita et al.
    Rule("same token", "top at +0", 0.9, "of queries look most at themselves"),
    Rule("mostly previous token", "mass at -1", 0.5, "of the weight lies on the token before"),  # Clark et al.
    Rule("mostly next token", "mass at +1", 0.5, "of the weight lies on the token after"),  # Clark et al.
    Rule("sink", "sink", SINK, "of the weight lies on the first token"),
    Rule("special tokens", "special", 0.6, "of the weight lies on special tokens"),  # Clark et al.
    Rule("punctuation", "punctuation", 0.4, "of the weight lies on punctuation", 0.2),
    Rule("rare words", "rare word", 0.5, "of words look most at the rarest word they see", 0.1),  # Voita et al.
)


class Role(NamedTuple):
    """A role that a head has, with the number that shows it."""

    role: str
    value: float
    low: float
    high: float
    uniform: float  # the same number for uniform weights
    about: str

    def __str__(self) -> str:
        return f"{self.role}: {self.value:.2f} {self.about} (uniform weights: {self.uniform:.2f})"


def roles_of(looked: Looked) -> dict[Place, list[Role]]:
    """The roles that each head surely has; none for most heads."""
    found = by_rules(looked, RULES)
    for place, role in _broad(looked):
        found[place].append(role)
    return found


def by_rules(looked: Looked, rules: Iterable[Rule]) -> dict[Place, list[Role]]:
    """The roles that these rules surely give each head."""
    found: dict[Place, list[Role]] = {place: [] for place in looked.places}
    for rule in rules:
        values = looked.of(rule.measure)
        for at in np.flatnonzero(_sure(values, rule)):
            ends = float(values.low[at]), float(values.high[at])
            named = {one.role for one in found[looked.places[at]]}
            if rule.role.removeprefix("mostly ") not in named:
                role = Role(rule.role, float(values.value[at]), *ends, values.uniform, rule.about)
                found[looked.places[at]].append(role)
    return found


def _sure(values: Values, rule: Rule) -> np.ndarray:
    if not np.isfinite(values.value).any():
        return np.zeros(len(values.value), dtype=bool)
    return np.asarray(values.low > max(rule.threshold, values.uniform + rule.beyond))


def _broad(looked: Looked) -> Iterator[tuple[Place, Role]]:
    """Heads whose weights are nearly uniform."""
    entropy = looked.of("entropy")
    for place, value, low, high in zip(looked.places, entropy.value, entropy.low, entropy.high, strict=True):
        if low > BROAD * entropy.uniform:
            about = "nats of entropy, nearly that of uniform weights"
            yield place, Role("broad", float(value), float(low), float(high), entropy.uniform, about)


def patterns_of(looked: Looked) -> dict[Place, str]:
    """Kovaleva et al.'s class of each head's map, from features: no one has labelled these maps.

    `vertical`: one column holds much of the weight. `diagonal`: much lies within one token of the query. `block`: much
    more lies within the query's own text than uniform weights would put there (pairs of texts only). Else `mixed`.
    """
    vertical, diagonal = looked.mean("column"), looked.mean("diagonal")
    excess = np.zeros(len(looked.places))
    if looked.defined("within segment"):
        within = looked.of("within segment", draws=2)
        excess = np.nan_to_num(within.value - within.uniform)
    found = zip(looked.places, vertical, diagonal, excess, strict=True)
    return {place: pattern_class(float(v), float(d), float(b)) for place, v, d, b in found}


def pattern_class(vertical: float, diagonal: float, block: float = 0.0) -> str:
    """The class of a map with these features.

    >>> pattern_class(0.8, 0.1), pattern_class(0.5, 0.5), pattern_class(0.1, 0.1)
    ('vertical', 'vertical + diagonal', 'mixed')
    """
    if vertical >= VERTICAL:
        return "vertical + diagonal" if diagonal >= DIAGONAL else "vertical"
    if diagonal >= DIAGONAL:
        return "diagonal"
    return "block" if block >= BLOCK else "mixed"


def sink_rate(looked: Looked, threshold: float = SINK) -> float:
    """The share of heads that put more than this on the first token (Gu et al.)."""
    found: Float[np.ndarray, " head"] = looked.mean("sink")
    return float((found > threshold).mean())
