"""A smoke run of a study as a user starts one, and the study drawn again from its small results alone."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# A machine for computing has none of these packages. What a study needs of torch is imported once for all runs, which
# takes as long as a run; each is then a process of its own, which starts from there.
BARE = """
import json, os, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"altair", "beartype", "captum", "duckdb", "ray"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import heatcheck.studies, torch._dynamo
from heatcheck.cli import main
for line in sys.stdin:
    command, folder, said, complained = json.loads(line)
    run = os.fork()
    if run == 0:
        for at, stream in ((0, os.devnull), (1, said), (2, complained)):
            os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT), at)
        os.chdir(folder)
        sys.argv = ["heatcheck", *command]
        break
    print(os.waitstatus_to_exitcode(os.waitpid(run, 0)[1]), flush=True)
else:
    sys.exit()
main()
"""


@functools.cache
def _bare_machine() -> "subprocess.Popen[str]":
    """Told a command a line, it says each one's exit code; it ends with us."""
    machine = subprocess.Popen(
        [sys.executable, "-c", BARE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    atexit.register(machine.communicate)
    return machine


def smoke_run(study: str, folder: Path, *options: str) -> tuple[Path, dict[str, Any]]:
    """`heatcheck reproduce STUDY --quick` in a process of its own: its folder, and what it says as JSON."""
    command = ["reproduce", study, "--quick", "--device", "cpu", "--out", str(folder), "--json", *options]
    said, complained = (folder.parent / name for name in ("said.json", "complained.txt"))
    machine = _bare_machine()
    assert machine.stdin
    assert machine.stdout
    machine.stdin.write(json.dumps([command, str(folder.parent), str(said), str(complained)]) + "\n")
    machine.stdin.flush()
    assert machine.stdout.readline() == "0\n", complained.read_text() if complained.exists() else "no machine"
    return folder, json.loads(said.read_text())


def drawn_elsewhere(study: str, settings: Any, made: Path, elsewhere: Path, data: Path) -> tuple[Any, list[str], Path]:
    """What the study finds in a copy of the results, what became of each job, and where the copy is."""
    shutil.copytree(made / "results", elsewhere / "results")
    states: list[str] = []
    from heatcheck.studies import STUDIES, run_study

    def watch(outcome: Any, *_: int) -> None:
        states.append(outcome.state)

    found = run_study(STUDIES[study], settings, elsewhere, data_dir=data, progress=watch)
    return found, states, elsewhere
