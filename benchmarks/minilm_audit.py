"""The audit of a fine-tuned MiniLM: seconds per check, and on request the same by another version.

    heatcheck train sst --model hf:PATH --set epochs=1 --out models/minilm
    python -m benchmarks.minilm_audit models/minilm --against ../older/src
    python -m benchmarks.minilm_audit models/minilm --device cuda --two-cores

Seconds per check are of the processor, on a GPU by the clock. Imports, the model's loading and the data's are outside.
`--against` names the source folder of another version, which audits the same examples in a process of its own; every
number that differs is listed. `--two-cores` audits them on two cores of the same machine too, with two workers of one
thread each, whose start is inside the clock.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from heatcheck.auditing.planning import plan_audit
from heatcheck.auditing.running import run_plan

SAME = 1e-6  # numbers that differ by less differ by rounding


def measure(
    model: Any,
    data: Any = "sst",
    *,
    examples: int = 100,
    device: str = "cpu",
    checks: str | None = None,
    workers: int = 0,
) -> dict[str, Any]:
    """Audit once: seconds by the clock and of the processor, in all; seconds per check; every number that was found."""
    plan = plan_audit(model, data, examples=examples, device=device, checks=checks)
    seconds: dict[str, float] = {}
    clock = time.process_time if device == "cpu" else time.perf_counter
    last = ["", clock()]

    def watch(check: str, *_: int) -> None:
        _finish(device)
        now = clock()
        seconds[last[0]] = seconds.get(last[0], 0.0) + now - last[1]
        last[:] = [check, now]

    started, began = time.perf_counter(), time.process_time()
    found = run_plan(plan, workers=workers, watch=watch)
    watch("")
    numbers = {
        f"{name} {m.name} {json.dumps(m.by, sort_keys=True)}": [m.value, m.low, m.high]
        for name, result in found.results.items()
        for m in result.measurements
    }
    return {
        "examples": len(plan.case.examples),
        "device": device,
        "seconds": time.perf_counter() - started,
        "processor_s": time.process_time() - began,
        "of_check": {check: of for check, of in seconds.items() if check},
        "card": {line.name: line.state for line in found.card.lines},
        "numbers": numbers,
        "not_run": dict(found.not_run),
    }


def differences(one: dict[str, Any], other: dict[str, Any], *, same: float = SAME) -> list[str]:
    """What differs between two audits: lines of the card, numbers that only one has, and numbers by more than `same`.

    >>> old, new = ({"card": {}, "numbers": {"K": [value, 0.0, 1.0]}} for value in (0.5, 0.6))
    >>> differences(old, new)
    ['K: [0.5, 0.0, 1.0] and [0.6, 0.0, 1.0]']
    """
    found = [
        f"{line}: {one['card'].get(line)} and {other['card'].get(line)}"
        for line in sorted({*one["card"], *other["card"]})
        if one["card"].get(line) != other["card"].get(line)
    ]
    for name in sorted({*one["numbers"], *other["numbers"]}):
        ours, theirs = one["numbers"].get(name), other["numbers"].get(name)
        if ours is None or theirs is None:
            found.append(f"{name}: only in one of them")
        elif not all(_alike(a, b, same) for a, b in zip(ours, theirs, strict=True)):
            found.append(f"{name}: {ours} and {theirs}")
    return found


def _alike(one: float, other: float, same: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other)) or abs(one - other) <= same


def _finish(device: str) -> None:
    """A GPU works on after the program has gone on: its work belongs to the check that asked for it."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _elsewhere(source: Path, options: list[str], **environment: str) -> dict[str, Any]:
    """The same audit in a process of its own, by the version in a source folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = [sys.executable, str(Path(__file__).resolve()), *options, "--out", str(out)]
        known = {**os.environ, "PYTHONPATH": str(source), **environment}
        subprocess.run(command, check=True, env=known, cwd=folder)
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Read the command line, audit, print, and compare if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of the model")
    parser.add_argument("--data", default="sst", help="task or file")
    parser.add_argument("--examples", type=int, default=100, help="number of examples")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=1, help="threads on the CPU")
    parser.add_argument("--checks", help="checks to run, separated by commas; by default those of an audit")
    parser.add_argument("--against", type=Path, help="source folder of another version")
    parser.add_argument("--two-cores", action="store_true", help="audit on two cores of this machine too, and compare")
    parser.add_argument("--workers", type=int, default=0, help="processes that share the audit")
    parser.add_argument("--out", type=Path, help="file for the result")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    how: dict[str, Any] = {"examples": chosen.examples, "checks": chosen.checks, "workers": chosen.workers}
    found = measure(chosen.model, chosen.data, device=chosen.device, **how)
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(found), encoding="utf-8")
    width = max(map(len, found["of_check"]))
    for check, seconds in sorted(found["of_check"].items(), key=lambda item: -item[1]):
        print(f"{check:{width}}  {seconds:8.2f} s")
    print(
        f"{found['examples']} examples on {found['device']}: {found['seconds']:.1f} s by the clock, "
        f"{found['processor_s']:.1f} s of the processor"
    )
    options = [str(Path(chosen.model).absolute()), "--data", chosen.data, "--examples", str(chosen.examples)]
    options += ["--checks", chosen.checks] if chosen.checks else []
    if chosen.two_cores:
        here, cores = Path(__file__).resolve().parents[1] / "src", os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(cores)[:2])  # which the other process inherits
        other = _elsewhere(here, [*options, "--workers", "2"], OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        os.sched_setaffinity(0, cores)
        found["faster"] = other["seconds"] / found["seconds"]
        print(f"two cores: {other['seconds']:.1f} s by the clock, {found['faster']:.1f} times as many")
        for same in (SAME, 1e-2):
            print(f"{len(differences(other, found, same=same))} numbers or lines differ by more than {same:g}")
    if chosen.against is not None:
        options += ["--device", chosen.device, "--threads", str(chosen.threads)]
        other = _elsewhere(chosen.against, options)
        found["ratio"] = other["processor_s"] / found["processor_s"]
        found["differences"] = differences(other, found)
        print(f"{chosen.against}: {other['processor_s']:.1f} s of the processor, {found['ratio']:.2f} times as many")
        print("\n".join(found["differences"]) or f"every number is the same within {SAME:g}")
    return found


if __name__ == "__main__":
    main()
