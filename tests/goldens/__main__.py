"""The command line of `python -m tests.goldens`; the package's docstring says how to use it."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.goldens")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("parts", help="list what can be recorded")
    recording = commands.add_parser("record", help="run the parts and write what they give")
    recording.add_argument("out", type=Path)
    recording.add_argument("--only", default="", help="parts, comma-separated")
    recording.add_argument("--src", type=Path, default=ROOT / "src", help="of another checkout, to record that one")
    comparing = commands.add_parser("compare", help="list every difference of two recordings")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--all", action="store_true", help="every difference, not the first of each group")
    part = commands.add_parser("part", help="(inside) run one part in the folder one stands in")
    part.add_argument("name")
    part.add_argument("out", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.old, given.new, every=given.all)

    from .parts import PARTS, run_part

    if given.command == "parts":
        print("\n".join(PARTS))
    elif given.command == "part":
        given.out.write_text(json.dumps(run_part(given.name)))
    else:
        names = given.only.split(",") if given.only else list(PARTS)
        if unknown := [name for name in names if name not in PARTS]:
            parser.error(f"there is no part {unknown[0]!r}; `python -m tests.goldens parts` lists them.")
        return record(given.out, names, given.src.resolve())
    return 0


def record(out: Path, names: Sequence[str], source: Path) -> int:
    """Runs the parts one after the other; the file is written after each, so that one that is stopped loses little."""
    values: dict[str, Any] = {}
    seconds: dict[str, dict[str, float]] = {}
    for name in names:
        start, used = time.perf_counter(), _processor()
        found = _in_a_process(name, source)
        took = {"wall": time.perf_counter() - start, "processor": _processor() - used}
        seconds[name] = {clock: round(value, 1) for clock, value in took.items()}
        values |= {f"{name}/{path}": value for path, value in found.items()}
        out.write_text(json.dumps({"seconds": seconds, "values": values}, indent=1, ensure_ascii=False))
        said = found.get("error", f"{len(found):,} values")
        print(f"{name}: {said}, {took['processor']:.0f} s of processor, {took['wall']:.0f} s by the clock", flush=True)
    failed = [name for name in names if f"{name}/error" in values]
    used = sum(of_part["processor"] for of_part in seconds.values())
    print(f"{len(values):,} values in {used:.0f} s of processor: {out}" + (f"; FAILED: {failed}" if failed else ""))
    return 1 if failed else 0


def _processor() -> float:
    """Seconds that ended processes of ours have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(old: Path, new: Path, *, every: bool) -> int:
    """Says what differs in the parts that both have; exit code 1 if anything does."""
    from .comparing import differences, in_words

    one, other = (json.loads(path.read_text()) for path in (old, new))
    both = one["seconds"].keys() & other["seconds"].keys()
    for name in sorted(one["seconds"].keys() ^ other["seconds"].keys()):
        print(f"{name}: recorded in one of them only, not compared")
    values = [{path: v for path, v in side["values"].items() if path.split("/")[0] in both} for side in (one, other)]
    found = list(differences(*values))
    print("\n".join(in_words(found, every=every)))
    print(f"{len(values[0]):,} values of {len(both)} parts compared")
    return 1 if found else 0


def _in_a_process(name: str, source: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="goldens-") as scratch:
        here, out = Path(scratch) / "here", Path(scratch) / "found.json"
        here.mkdir()
        command = [sys.executable, "-m", "tests.goldens", "part", name, str(out)]
        ended = subprocess.run(command, cwd=here, env=_environment(source), capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return dict(json.loads(out.read_text()))
        print(ended.stderr, file=sys.stderr)
        last = ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"]
        return {"error": last[-1].replace(scratch, "SCRATCH")}


def _environment(source: Path) -> dict[str, str]:
    """One thread, no GPU, a wide terminal without colours, the code that is asked for, and the real corpora if any."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    kept |= dict.fromkeys(ONE_THREAD, "1")
    kept |= {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": "", "NO_COLOR": "1", "COLUMNS": "200"}
    if "HEATCHECK_DATA" in kept:
        kept["HEATCHECK_DATA"] = str(Path(kept["HEATCHECK_DATA"]).resolve())
    elif SHARED.is_dir():
        kept["HEATCHECK_DATA"] = str(SHARED)
    return kept


if __name__ == "__main__":
    sys.exit(main())
