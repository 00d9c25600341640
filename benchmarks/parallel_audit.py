"""A whole audit without retrained models: in one process, and with two workers of one thread each.

The clock covers what a user waits for after the plan: starting the workers, sending them the model, the checks, the
card. Both audits must agree to 1e-6 and have the same card. `python -m benchmarks.parallel_audit hf:FOLDER DATA 60`
takes a model and a data set of your own.
"""

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.inputs import one_thread
from benchmarks.transformer import make, sentences
from heatcheck.auditing import plan_audit, run_plan, shards
from heatcheck.data import Corpus, Split
from heatcheck.models import Subject
from heatcheck.results import Audit

WORKERS = 2
TARGET = 1.7
SAME = 1e-6
QUICK = {"agreement.explainers": "attention,leave_one_out", "agreement.shuffles": 2, "agreement.draws": 50}


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A transformer of MiniLM's shape with random weights; a tiny one, and one check, for a smoke test."""
    subject = make(*((2, 48, 4) if quick else (6, 384, 12)))
    texts = sentences(6 if quick else 60)
    told = tuple(replace(example, label=number % 2) for number, example in enumerate(texts))
    corpus = Corpus("made up", subject.labels, {"test": Split("test", told)})
    if quick:
        subject.network.double()  # such random weights leave margins so small that float32 rounds them visibly
        choices: dict[str, Any] = {"examples": 6, "checks": "agreement", "settings": QUICK}
        return [compare(subject, corpus, least=0.0, **choices)]
    return [compare(subject, corpus, examples=60)]


def compare(
    subject: Subject | str, data: Corpus | str, *, least: float | None = None, **choices: Any
) -> dict[str, Any]:
    """Times both audits; `least` is the number of seconds from which work is shared, if not the library's own."""
    own = shards.WORTH, shards.SMALL
    here, threads = Path.cwd(), os.environ.get("OMP_NUM_THREADS")
    with tempfile.TemporaryDirectory() as store, one_thread():
        os.chdir(store)  # where the shards are kept meanwhile
        os.environ["OMP_NUM_THREADS"] = "1"
        try:
            if least is not None:
                shards.WORTH = shards.SMALL = least
            (alone_s, alone), (together_s, together) = (_timed(subject, data, n, choices) for n in (0, WORKERS))
        finally:
            os.chdir(here)
            shards.WORTH, shards.SMALL = own
            if threads is None:
                del os.environ["OMP_NUM_THREADS"]
            else:
                os.environ["OMP_NUM_THREADS"] = threads
    return {
        "name": f"audit: one process, {WORKERS} workers",
        "size": f"{alone.n} texts",
        "plain_s": alone_s,
        "library_s": together_s,
        "ratio": alone_s / together_s,
        "target": TARGET if least is None else None,
        "equal": same(alone, together),
    }


def same(one: Audit, other: Audit) -> bool:
    """Whether two audits measured the same, to 1e-6, and have the same card."""
    states = [[(line.name, line.state) for line in audit.card.lines] for audit in (one, other)]
    if states[0] != states[1] or one.not_run != other.not_run or one.results.keys() != other.results.keys():
        return False
    measured = [
        np.array([(m.value, m.low, m.high) for found in audit.results.values() for m in found.measurements])
        for audit in (one, other)
    ]
    return measured[0].shape == measured[1].shape and np.allclose(*measured, rtol=0, atol=SAME, equal_nan=True)


def _timed(subject: Subject | str, data: Corpus | str, workers: int, choices: dict[str, Any]) -> tuple[float, Audit]:
    plan = plan_audit(subject, data, device="cpu", **choices)
    start = time.perf_counter()
    found = run_plan(plan, workers=workers)
    return time.perf_counter() - start, found


def main(model: str, data: str, examples: str) -> None:
    """Prints the row of one audit; a folder's path may be relative."""
    kind, colon, path = model.rpartition(":")
    found = f"{kind}{colon}{Path(path).absolute()}" if Path(path).is_dir() else model
    print(compare(found, data, examples=int(examples)))


if __name__ == "__main__":
    main(*sys.argv[1:])
