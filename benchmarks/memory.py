"""The most memory that the library's battery ever holds, in a process that runs nothing else."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.inputs import LABELS, Setup, one_thread, setups
from benchmarks.library_side import run_stages
from heatcheck.checks import Case
from heatcheck.models import load
from heatcheck.models.model_folder import save


def peak_of_library(setup: Setup) -> float:
    """Gigabytes, Python and torch themselves included."""
    with tempfile.TemporaryDirectory() as folder:
        save(setup.subject, Path(folder))
        command = [sys.executable, "-m", "benchmarks.memory", folder, "toy" if setup.toy else "whole"]
        root = Path(__file__).parent.parent
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main(folder: str, kind: str) -> None:
    """The whole battery of a BiLSTM on the longer texts, and all that an audit adds."""
    setup = setups(["lstm"], toy=kind == "toy")[-1]
    with one_thread():
        run_stages(Case(load(folder), setup.examples, labels=LABELS), setup.tolerance)
    # Not getrusage: its peak is also that of the process that started this one.
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(int(facts["VmHWM"].split()[0]) / 2**20)  # from kilobytes


if __name__ == "__main__":
    main(*sys.argv[1:])
