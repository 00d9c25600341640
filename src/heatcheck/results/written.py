"""Formats numbers for people, the same way in tables, captions and terminals."""

import math
import re

import numpy as np

from heatcheck.results.measurement import Measurement

MINUS, NOTHING = "\N{MINUS SIGN}", "\N{EN DASH}"


def sentences(text: str) -> list[str]:
    """The sentences of a text, one by one; heatcheck's own name begins one in small letters.

    >>> sentences("It keeps 0.97 of it. heatcheck did not search. Why?")
    ['It keeps 0.97 of it.', 'heatcheck did not search.', 'Why?']
    """
    return re.split(r"(?<=[.!?]) (?=[A-Z]|heatcheck\b)", text)


def decimals(value: float, spec: str = ".3f") -> str:
    """As Python formats it, but with a true minus, none before 0, and a dash for what is no number.

    >>> decimals(-0.00012, ".5f"), decimals(-0.000001, ".5f"), decimals(1200.0, ",.0f"), decimals(float("nan"))
    ('−0.00012', '0.00000', '1,200', '–')
    """
    if not math.isfinite(value):
        return NOTHING
    text = format(value, spec)
    return text.replace("-", MINUS) if float(text.replace(",", "")) else text.lstrip("-")


def number(value: float) -> str:
    """
    >>> number(-0.0314), number(12.0), number(float("nan"))
    ('−0.031', '12.0', '–')
    """
    return decimals(value, ".3f" if abs(value) < 10 else ",.1f")


def fine(value: float) -> str:
    """Three decimals; a small weight keeps two digits that are not 0.

    >>> fine(0.0000234), fine(0.0035), fine(-0.25), fine(0.0)
    ('0.000023', '0.0035', '−0.250', '0.000')
    """
    if not 0 < abs(value) < 0.01:
        return number(value)
    return np.format_float_positional(float(f"{value:.2g}"), trim="-").replace("-", MINUS)


def as_clause(sentence: str) -> str:
    """A sentence without its capital and its full stop, to stand inside another one.

    >>> as_clause("A few tokens hold almost all the weight."), as_clause("JSD is large.")
    ('a few tokens hold almost all the weight', 'JSD is large')
    """
    words = sentence.removesuffix(".")
    is_name = words[1:2].isupper() or (words[1:2] == " " and words[0] != "A")
    return words if is_name else words[:1].lower() + words[1:]


def interval(measurement: Measurement) -> str:
    """
    >>> interval(Measurement("K", 0.5, 0.4, 0.6, 10, "random", {}))
    '[0.400, 0.600]'
    """
    if not (math.isfinite(measurement.low) and math.isfinite(measurement.high)):
        return NOTHING
    return f"[{number(measurement.low)}, {number(measurement.high)}]"


def shown(measurement: Measurement | None) -> str:
    """A table's cell: the value with its interval, a dash where nothing was measured.

    >>> shown(Measurement("K", 0.5, 0.4, 0.6, 10, "random", {})), shown(None)
    ('0.500 [0.400, 0.600]', '–')
    """
    return NOTHING if measurement is None else f"{number(measurement.value)} {interval(measurement)}"


def alone(measurement: Measurement | None) -> str:
    """The same without the interval.

    >>> alone(Measurement("K", 0.5, 0.4, 0.6, 10, "random", {})), alone(None)
    ('0.500', '–')
    """
    return NOTHING if measurement is None else number(measurement.value)


def in_brief(measurement: Measurement) -> str:
    """The value with the ends of its interval, for a sentence or a terminal.

    >>> in_brief(Measurement("K", -0.001, -0.11, 0.104, 10, "random", {}))
    '0.00 [-0.11, 0.10]'
    >>> in_brief(Measurement("N", 0.21, -math.inf, math.inf, 10, "random", {}))
    '0.21 (no interval)'
    """
    if not (math.isfinite(measurement.low) and math.isfinite(measurement.high)):
        return f"{measurement.value:.2f} (no interval)"
    parts = (measurement.value, measurement.low, measurement.high)
    value, low, high = (f"{round(part, 2) + 0.0:.2f}" for part in parts)  # no minus before 0
    return f"{value} [{low}, {high}]"
