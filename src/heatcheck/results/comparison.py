"""Audits of several models compared text by text: numbers only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from heatcheck.engine import stream
from heatcheck.results.audit import Audit
from heatcheck.stats import Interval, bootstrap_interval

ACCURACY = ("audit", "right")

IsCompared: TypeAlias = Callable[[str, str], bool]  # a check, and the name of a value that it keeps of each text


class Difference(NamedTuple):
    """A model minus the first one, text by text."""

    check: str
    name: str  # of the value in the result
    model: str
    difference: Interval
    common: int  # texts in both audits; `difference.n` of them have the value in both


class NotPaired(NamedTuple):
    """What could not be compared with the first model: one check, or all of them if none is named."""

    model: str
    check: str


def differences(
    audits: Mapping[str, Audit], is_compared: IsCompared, *, draws: int = 2000
) -> tuple[list[Difference], list[NotPaired]]:
    """Each other model minus the first, where both audits used the same texts and settings.

    Args:
        is_compared: whether models are compared by a value; each view of a check names those of its own.
    """
    (_, reference), *others = audits.items()
    found, refused = [], []
    for model, audit in others:
        if (audit.task, audit.split, audit.labels) != (reference.task, reference.split, reference.labels):
            refused.append(NotPaired(model, ""))
            continue
        unlike = [
            check
            for check in reference.results
            if check in audit.results and differing_settings([_chosen(one, check) for one in (reference, audit)])
        ]
        refused += [NotPaired(model, check) for check in unlike]
        values, of_first = (_per_text(one, is_compared, unlike) for one in (audit, reference))
        for key in of_first:
            if key in values and (one := _pair(key, model, of_first[key], values[key], draws)):
                found.append(one)
    order = {key: at for at, key in enumerate(_per_text(reference, is_compared, ()))}
    return sorted(found, key=lambda one: order[one.check, one.name]), refused


def differing_settings(chosen: Sequence[Mapping[str, Any]]) -> list[str]:
    """The settings that differ.

    >>> differing_settings([{"sizes": (1, 2), "draws": 50}, {"sizes": [1, 2], "draws": 60}])
    ['draws']
    """
    keys = dict.fromkeys(key for one in chosen for key in one)
    return [key for key in keys if unlike([one.get(key) for one in chosen])]


def unlike(values: Sequence[Any]) -> bool:
    """Whether these values differ; lists and tuples count as equal."""
    plain = [list(value) if isinstance(value, tuple) else value for value in values]
    return any(value != plain[0] for value in plain)


def _chosen(audit: Audit, check: str) -> Mapping[str, Any]:
    chosen: Mapping[str, Any] = audit.about.get("settings", {}).get(check, {})
    return chosen


def _pair(
    key: tuple[str, str], model: str, reference: Mapping[str, float], values: Mapping[str, float], draws: int
) -> Difference | None:
    common = [example for example in reference if example in values]
    apart = np.array([values[example] - reference[example] for example in common], dtype=np.float64)
    known = np.isfinite(apart)
    if not known.any():
        return None
    generator = stream(0, "comparison", model, *key)
    found = bootstrap_interval(apart, generator=generator, draws=draws, valid=known)
    return Difference(*key, model, found, len(common))


def _per_text(audit: Audit, is_compared: IsCompared, without: Sequence[str]) -> dict[tuple[str, str], dict[str, float]]:
    """The comparable values of each text, by id."""
    answered = [one for one in audit.examples if None not in (one.gold, one.predicted)]
    found = {ACCURACY: {one.id: float(one.predicted == one.gold) for one in answered}}
    for check, result in audit.results.items():
        for name, values in result.per_example.items():
            if check not in without and is_compared(check, name):
                found[check, name] = _by_id(result.examples, values)
    return found


def _by_id(examples: Sequence[str], values: Float[np.ndarray, " example"]) -> dict[str, float]:
    return dict(zip(examples, values.astype(np.float64).tolist(), strict=True))
