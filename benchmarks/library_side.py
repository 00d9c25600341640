"""The library's side of the benchmarks, by the clock: what the published battery gives, through public functions."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks import leave_one_out, published
from benchmarks.inputs import LABELS, Setup
from benchmarks.plain_side import PAIRS, Timed
from heatcheck.checks import CHECKS, Case
from heatcheck.checks.permutation import shuffled_logits
from heatcheck.explainers import find_explainer, of_readout, pad_scores
from heatcheck.explainers.leave_one_out import erase_each
from heatcheck.stats import kendall_tau

SHIPPED = ("agreement", "permutation", "counterfactual")
EXPLAINERS = {"attention": "attention", "gradients": "gradient", "leave-one-out": "leave_one_out"}
PATIENCE = 3.0  # seconds after which it is not timed again


def run_library(setup: Setup) -> tuple[Case, dict[str, Timed]]:
    """The median of a few runs, each on a case that knows nothing yet; and the last of these cases."""
    runs: list[dict[str, Timed]] = []
    start = time.perf_counter()
    while not runs or (not setup.toy and len(runs) < 5 and time.perf_counter() - start < PATIENCE):
        case = Case(setup.subject, setup.examples, labels=LABELS)
        # What takes a minute is timed once, whoever asks.
        removed = leave_one_out.library(setup, setup.tolerance) if setup.tolerance else None
        runs.append(run_stages(case, setup.tolerance, removed))
    return case, {
        stage: Timed(median(run[stage].seconds for run in runs), last.found) for stage, last in runs[-1].items()
    }


def run_stages(
    case: Case, tolerance: float, removed: tuple[float, dict[str, np.ndarray]] | None = None
) -> dict[str, Timed]:
    """What the published battery gives, each stage through the library's own functions; then the checks as shipped.

    `removed` is leave-one-out, where it has been timed already.
    """
    ids = [example.id for example in case.examples]

    def removals() -> Timed:
        if removed is None:
            clock = _timed(lambda: erase_each(case.subject, case.examples, tolerance=tolerance))
            found = clock.found["found"]
        else:
            clock, found = Timed(removed[0], {}), [removed[1][name] for name in ids]
        # Where the checks look for it: a case would run it without a tolerance.
        case._scores["leave_one_out"] = pad_scores(find_explainer("leave_one_out"), case.examples, found)
        return clock

    def correlations() -> None:
        scores = {name: case.scores(explainer) for name, explainer in EXPLAINERS.items()}
        for a, b in PAIRS:
            kendall_tau(scores[a].sizes(), scores[b].sizes(), scores[a].valid & scores[b].valid)

    def permutation() -> np.ndarray:
        logits, own = shuffled_logits(case, published.SHUFFLES), case.own_logits
        before = expit(own[:, 1] - own[:, 0])[:, None]
        return np.median(np.abs(expit(logits[..., 1] - logits[..., 0]) - before), axis=1)

    def counterfactual() -> np.ndarray:
        return of_readout(case.readout, ids, epsilon=published.EPSILON).jsd[:, 0]

    def shipped() -> None:
        for name in SHIPPED:
            CHECKS[name].measure(case, CHECKS[name].settings())

    return {
        "encoding": _timed(lambda: case.readout),
        "gradients": _timed(lambda: case.scores("gradient")),
        "leave-one-out": removals(),
        "correlations": _timed(correlations),
        "permutation": _timed(permutation),
        "counterfactual": _timed(counterfactual),
        "shipped": _timed(shipped),
    }


def _timed(function: Callable[[], Any]) -> Timed:
    start = time.process_time()
    found = function()
    return Timed(time.process_time() - start, {"found": found})
