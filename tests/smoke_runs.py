"""A smoke run of a study as a user starts one, and the study drawn again from its small results alone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# A machine for computing has none of these.
BARE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"altair", "beartype", "captum", "duckdb", "ray"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from heatcheck.cli import main
main()
"""


def smoke_run(study: str, folder: Path, *options: str) -> tuple[Path, dict[str, Any]]:
    """`heatcheck reproduce STUDY --quick` in a process of its own: its folder, and what it says as JSON."""
    command = ["reproduce", study, "--quick", "--device", "cpu", "--out", str(folder), "--json", *options]
    done = subprocess.run(
        [sys.executable, "-c", BARE, *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=folder.parent,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def drawn_elsewhere(study: Any, settings: Any, made: Path, elsewhere: Path, data: Path) -> tuple[Any, list[str], Path]:
    """What the study finds in a copy of the results, what became of each job, and where the copy is."""
    shutil.copytree(made / "results", elsewhere / "results")
    states: list[str] = []
    found = study.run(settings, elsewhere, data_dir=data, progress=lambda outcome, *_: states.append(outcome.state))
    return found, states, elsewhere
