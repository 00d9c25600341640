"""Models compared with the audited one by two distances: that of their answers (TVD) and of their weights (JSD)."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Measurement


class Candidate(NamedTuple):
    """One model with all its measurements."""

    by: Facts
    found: Mapping[str, Measurement]

    @property
    def point(self) -> Facts:
        """The model's facts and its numbers by name, as a study has them."""
        return {**self.by, **{name: m.value for name, m in self.found.items()}}


def candidates(result: CheckResult) -> list[Candidate]:
    """Every model that the check measured, in the order of the check."""
    found: dict[str, Candidate] = {}
    for m in result.measurements:
        if "model" in m.by:
            key = json.dumps(m.by, sort_keys=True, default=str)
            one = found.setdefault(key, Candidate(m.by, {}))
            found[key] = one._replace(found={**one.found, m.name: m})
    return list(found.values())


def farthest(result: CheckResult) -> Candidate | None:
    """The model whose JSD is J*: the most different one whose answers are as close as an honest seed's."""
    return next((one for one in candidates(result) if {"J_star", "jsd"} <= one.found.keys()), None)


def mean_of_seeds(points: Sequence[Facts], name: str) -> float:
    """The mean over honest seeds; NaN if there is none."""
    values = [float(point[name]) for point in points if point["model"] == "seed" and name in point]
    return sum(values) / len(values) if values else math.nan
