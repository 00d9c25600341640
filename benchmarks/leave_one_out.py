"""Leave-one-out: every shortened text encoded again, against what a gap leaves unchanged used again.

Both sides are of the same trained models. The plain side starts from encoded batches of tensors; ours starts from the
texts. A tolerance is measured where it pays, on the BiLSTM's long texts: how far any probability is from exact is a
column of its row, over all texts.
"""

import time
from functools import cache
from typing import Any

import numpy as np

from benchmarks import plain_side
from benchmarks.inputs import Setup, one_thread, setups
from heatcheck.explainers.leave_one_out import erase_each

ENCODERS = ("average", "cnn", "lstm")
TARGETS = {
    ("average", "SST-like"): 100,
    ("average", "IMDB-like"): 100,
    ("cnn", "SST-like"): 3,
    ("cnn", "IMDB-like"): 15,
    ("lstm", "SST-like"): 2,
    ("lstm", "IMDB-like"): 2,
}
TARGET_WITH_TOLERANCE = 6
# Largest difference of a probability without a tolerance, and with one (6e-5 was seen; a model trained elsewhere may be
# more sensitive).
EXACT, ROUGH = 1e-5, 1e-3
PATIENCE = 2.0  # seconds after which our side is not timed again

Removed = dict[str, np.ndarray]


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """One row an encoder and size; one more with a tolerance. `furthest` is the largest difference from plain."""
    rows = []
    with one_thread():
        for setup in setups(ENCODERS, toy=quick):
            erase_each(setup.subject, setup.examples[:4])  # compiles, before the clock starts
            plain = plain_side.leave_one_out(setup)
            seconds, exact = library(setup, 0.0)
            target = TARGETS[setup.encoder, setup.size.name]
            row = _row(setup, "leave-one-out", plain, seconds, _furthest(exact, plain.found), target, EXACT)
            rows.append({**row, "equal": plain_side.same_removals(setup, plain.found, exact, EXACT)})
            if setup.tolerance > 0:
                seconds, rough = library(setup, setup.tolerance)
                row = _row(
                    setup,
                    "leave-one-out, with a tolerance",
                    plain,
                    seconds,
                    _furthest(rough, exact),
                    TARGET_WITH_TOLERANCE,
                    ROUGH,
                )
                rows.append({**row, "tolerance": setup.tolerance})
    return rows


@cache
def library(setup: Setup, tolerance: float) -> tuple[float, Removed]:
    """Processor seconds of the quickest of a few runs, and what each word's probability changes, by example."""
    times: list[float] = []
    while not times or (not setup.toy and sum(times) < PATIENCE and len(times) < 20):
        start = time.process_time()
        found = erase_each(setup.subject, setup.examples, tolerance=tolerance)
        times.append(time.process_time() - start)
    return min(times), {e.id: np.abs(row) for e, row in zip(setup.examples, found, strict=True)}


def _furthest(ours: Removed, theirs: Removed) -> float:
    return max(float(np.abs(ours[name] - change).max()) for name, change in theirs.items())


def _row(
    setup: Setup,
    name: str,
    plain: plain_side.Timed,
    seconds: float,
    furthest: float,
    target: int,
    allowed: float,
) -> dict[str, Any]:
    return {
        "name": f"{name}, {setup.encoder}",
        "size": f"{setup.size}",
        "plain_s": plain.seconds,
        "library_s": seconds,
        "ratio": plain.seconds / seconds,
        "equal": furthest <= allowed,
        "furthest": furthest,
        "target": target,
        "timed_share": plain.share,  # of the plain side's work; the rest is scaled
        "threads": 1,
    }


if __name__ == "__main__":
    for row in measure():
        print(row)
