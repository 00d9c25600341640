"""Where the check `counterfactual` measured: every tolerance ε, on every scale of the logits."""

from typing import NamedTuple

from heatcheck.report.shared_words import KINDS
from heatcheck.results import CheckResult, find_key, value_text


class Place(NamedTuple):
    """One ε on one scale of the logits."""

    logits: str
    epsilon: str  # as the names of the values have it

    def name(self, quantity: str) -> str:
        """
        >>> Place("published", "0.05").name("jsd")
        'jsd:published:0.05'
        """
        return f"{quantity}:{self.logits}:{self.epsilon}"

    @property
    def scale(self) -> str:
        """In words."""
        return KINDS.get(("logits", self.logits), self.logits)


def places(result: CheckResult) -> list[Place]:
    """Every place, in the order of the check; heatmaps and published figures use the first."""
    found = [of for of in map(find_key, result.per_example) if of is not None and of.name == "jsd"]
    return [Place(str(of.by["logits"]), value_text(of.by["epsilon"])) for of in found if "logits" in of.by]


def first_of_each_scale(result: CheckResult) -> list[Place]:
    """The first ε on each scale of the logits."""
    found: dict[str, Place] = {}
    for place in places(result):
        found.setdefault(place.logits, place)
    return list(found.values())


def is_beside(result: CheckResult, quantity: str) -> bool:
    """Whether this quantity is a baseline for a JSD of this check.

    An upper bound adds nothing to an exact optimum, and the floor of two words exists only for exact optima.
    """
    exact = result.facts.get("method") == "exact"
    return {"upper": not exact, "floor": exact}.get(quantity, True)
