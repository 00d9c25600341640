"""Kendall's τ-b with p-values: scipy's function row by row, against heatcheck's on all rows at once."""

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

from heatcheck.stats import kendall_tau

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def ragged_rows(examples: int, items: int, generator: np.random.Generator) -> Rows:
    """Two correlated scores an item; every other row cut to a random length, every tenth with ties."""
    x = generator.normal(size=(examples, items))
    y = x + generator.normal(size=(examples, items))
    x[::10], y[::10] = x[::10].round(1), y[::10].round(1)
    length = np.where(np.arange(examples) % 2, items, generator.integers(items // 2, items, size=examples))
    return x, y, np.arange(items) < length[:, None]


def plain(x: np.ndarray, y: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What everybody writes."""
    found = [scipy_stats.kendalltau(u[real], v[real]) for u, v, real in zip(x, y, valid, strict=True)]
    return np.array([row.statistic for row in found]), np.array([row.pvalue for row in found])


def seconds(function: Callable[..., Any], rows: Rows, repetitions: int) -> float:
    """Median time of a call."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function(*rows)
        times.append(time.perf_counter() - start)
    return median(times)


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """One row a size; times in seconds, `equal` says that τ and p agree to 1e-10 on every row."""
    examples, repetitions = (50, 2) if quick else (2000, 3)
    found = []
    for items in (20, 200):
        rows = ragged_rows(examples, items, np.random.default_rng(items))
        ours = kendall_tau(*rows)  # also compiles, before the clock starts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            correlation, p_value = plain(*rows)
        agree = (ours.correlation, correlation), (ours.p_value, p_value)
        plain_s = seconds(plain, rows, repetitions)
        library_s = seconds(kendall_tau, rows, 7 * repetitions)  # short calls are noisier
        found.append(
            {
                "name": "Kendall τ-b with p-values",
                "size": f"{examples} x {items}",
                "plain_s": plain_s,
                "library_s": library_s,
                "ratio": plain_s / library_s,
                "equal": all(np.allclose(a, b, rtol=0, atol=1e-10, equal_nan=True) for a, b in agree),
            }
        )
    return found


if __name__ == "__main__":
    for row in measure():
        print(row)
