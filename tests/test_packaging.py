"""What a user installs: the wheel has every file that heatcheck reads, and importing it needs no POSIX."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

import without_posix

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "heatcheck"


def test_the_wheel_has_every_file_of_the_source(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("heatcheck/")}
        (about,) = (wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    here = {
        str(path.relative_to(SOURCE.parent))
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == here
    kinds = {Path(name).suffix for name in packed}
    assert {".py", ".jinja", ".css", ".js", ".html", ".csv", ".typed"} <= kinds, "the comparison is about something"
    for line in ("Project-URL: Changelog, ", "Classifier: Programming Language :: Python :: 3.11\n"):
        assert line in about


def test_no_classifier_promises_a_system_that_heatcheck_has_not_run_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [one for one in project["classifiers"] if one.startswith("Operating System")]


def test_importing_and_auditing_need_no_posix(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, without_posix.__file__]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    states = done.stdout.split()
    assert "hard" in states
    assert [path.name for path in tmp_path.iterdir()] == ["model"], "no lock and no half of a folder is left"
