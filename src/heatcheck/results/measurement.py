"""One measured number, with its name, interval, sample size and baseline."""

from typing import NamedTuple

from heatcheck.engine import Facts


class Measurement(NamedTuple):
    """One number with what makes it readable. A matrix, a curve or a frontier is many rows with `by`."""

    name: str
    value: float
    low: float
    high: float
    n: int
    baseline: str  # the measurement it is read against, or "none: why"
    by: Facts  # {"pair": ["attention", "gradient"], "class": "positive"}
