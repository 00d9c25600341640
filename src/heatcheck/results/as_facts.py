"""Converts results of checks to plain facts and arrays, and back, so that they can be saved."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from heatcheck.engine import Facts
from heatcheck.results.check_result import CheckResult
from heatcheck.results.measurement import Measurement

NUMBER, TUPLE = "$number", "$tuple"  # keys that mark what JSON has no word for


def kept_facts(results: Mapping[str, CheckResult]) -> dict[str, Any]:
    """All of each result but the values of its examples, as JSON can hold it."""
    return {
        name: {
            "subject": result.subject,
            "holds": result.holds,
            "measurements": [kept_measurement(m) for m in result.measurements],
            "examples": list(result.examples),
            "excluded": dict(result.excluded),
            "settings": tagged(result.settings),
            "seed": result.seed,
            "not_run": dict(result.not_run),
            "facts": tagged(result.facts),
            "question": result.question,
            "paper": result.paper,
            "baseline": result.baseline,
        }
        for name, result in results.items()
    }


def kept_arrays(results: Mapping[str, CheckResult]) -> dict[str, np.ndarray]:
    """The values of each example, by the name of the check and of the quantity."""
    return {
        f"{name}/{quantity}": values
        for name, result in results.items()
        for quantity, values in result.per_example.items()
    }


def results_from(facts: Facts, arrays: Mapping[str, np.ndarray]) -> dict[str, CheckResult]:
    """What was kept; a KeyError, TypeError, ValueError or AttributeError where that is not what these are."""
    found = {}
    for name, of in facts.items():
        values = {key.removeprefix(f"{name}/"): a for key, a in arrays.items() if key.startswith(f"{name}/")}
        if any(array.shape != (len(of["examples"]),) for array in values.values()):
            raise ValueError(f"{name} has values of other examples than its own")
        found[name] = CheckResult(
            check=name,
            subject=of["subject"],
            holds=of["holds"],
            measurements=tuple(measurement_from(one) for one in of["measurements"]),
            examples=tuple(of["examples"]),
            per_example=values,
            excluded=of["excluded"],
            settings=untagged(of["settings"]),
            seed=of["seed"],
            not_run=of["not_run"],
            facts=untagged(of["facts"]),
            question=of["question"],
            paper=of["paper"],
            baseline=of["baseline"],
        )
    return found


def kept_measurement(m: Measurement) -> dict[str, Any]:
    """One seed has an interval from -inf to inf, and JSON has no word for either."""
    numbers = {key: _written(getattr(m, key)) for key in ("value", "low", "high")}
    return {**m._asdict(), **numbers, "by": tagged(m.by)}


def measurement_from(facts: Facts) -> Measurement:
    numbers = {key: float(facts[key]) for key in ("value", "low", "high")}
    return Measurement(**{**facts, **numbers, "by": untagged(facts["by"])})


def tagged(value: Any) -> Any:
    """The same in words that JSON has: NaN, the infinities and tuples are marked.

    >>> tagged({"bound": float("inf"), "sizes": (1, 2)})
    {'bound': {'$number': 'inf'}, 'sizes': {'$tuple': [1, 2]}}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {NUMBER: _written(value)}
    if isinstance(value, Mapping):
        return {key: tagged(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [tagged(item) for item in value]
        return {TUPLE: items} if isinstance(value, tuple) else items
    return value


def untagged(value: Any) -> Any:
    """
    >>> untagged(tagged({"bound": float("-inf"), "sizes": (1, [2])}))
    {'bound': -inf, 'sizes': (1, [2])}
    """
    if isinstance(value, Mapping):
        if value.keys() == {NUMBER}:
            return float(value[NUMBER])
        if value.keys() == {TUPLE}:
            return tuple(untagged(item) for item in value[TUPLE])
        return {key: untagged(item) for key, item in value.items()}
    return [untagged(item) for item in value] if isinstance(value, list) else value


def _written(number: float) -> float | str:
    return float(number) if math.isfinite(number) else str(float(number))
