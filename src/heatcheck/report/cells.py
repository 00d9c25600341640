"""Cells of tables: the number of a measurement, or of another measurement that belongs to the same row."""

from collections.abc import Callable, Sequence

from heatcheck.report.measurement_words import with_seen_ends
from heatcheck.results import Measurement
from heatcheck.results.written import NOTHING


def named(found: Sequence[Measurement], *names: str) -> list[Measurement]:
    """Measurements with these names, in this order."""
    return [m for name in names for m in found if m.name == name]


def with_interval(m: Measurement) -> str:
    """The number with its interval, if the interval has a visible width."""
    return with_seen_ends(m.name, m.value, m.low, m.high)


def same(
    found: Sequence[Measurement],
    name: str,
    as_of: Measurement,
    said_as: Callable[[Measurement], str] = with_interval,
) -> str:
    """The number of this name with the same facts as another measurement."""
    one = next((m for m in found if m.name == name and m.by == as_of.by and m.by), None)
    return NOTHING if one is None else said_as(one)


def beside(found: Sequence[Measurement], name: str, key: str, m: Measurement) -> str:
    """The number of this name with the same value of a key."""
    one = next((other for other in found if other.name == name and other.by.get(key) == m.by.get(key)), None)
    return NOTHING if one is None else with_interval(one)
