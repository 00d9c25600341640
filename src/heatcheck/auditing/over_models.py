"""One measurement over several models of one kind, such as seeds: its mean, its interval, and each model's value."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from heatcheck.results import Audit, Measurement
from heatcheck.stats import Interval, t_interval


class OverModels(NamedTuple):
    """The mean over models with its Student t interval, and the value of each."""

    mean: Interval
    each: tuple[float, ...]


def over_models(audits: Iterable[Audit], name: Callable[[Measurement], str | None]) -> dict[str, OverModels]:
    """Measurements of one name over the models; `name` gives None for those that are not compared."""
    values: dict[str, list[float]] = {}
    for audit in audits:
        for found in audit.results.values():
            for m in found.measurements:
                if (called := name(m)) is not None:
                    values.setdefault(called, []).append(m.value)
    return {called: OverModels(t_interval(np.array(each)), tuple(each)) for called, each in values.items()}
