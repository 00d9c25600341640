"""Packages that add to heatcheck and are wrong: each is named in a sentence and skipped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from made_up_packages import write_package


def heatcheck(*arguments: str, packages: Path) -> subprocess.CompletedProcess:
    found = os.pathsep.join([str(packages), *sys.path])
    environment = {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    command = [sys.executable, "-m", "heatcheck", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_faulty_packages_are_named_and_skipped(tmp_path: Path) -> None:
    replacing = "from heatcheck.checks.gauge import gauge as permutation\nmine = permutation._replace(name='mine')\n"
    points = {"heatcheck.checks": {"permutation": "permutation", "mine": "mine"}}
    write_package(tmp_path, "heatcheck-replacing", replacing, points)
    write_package(tmp_path, "heatcheck-broken", "import nowhere\n", {"heatcheck.checks": {"broken": "broken"}})
    done = heatcheck("checks", "--json", packages=tmp_path)
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["mine"]["package"] == "heatcheck-replacing"
    assert [name for name, row in rows.items() if "package" in row] == ["mine"]
    assert rows["permutation"]["paper"] == "Jain & Wallace 2019, Algorithm 2"
    assert done.stderr.splitlines() == [
        "heatcheck skips 'broken' (heatcheck.checks) from the package heatcheck-broken: it cannot be imported "
        "(ModuleNotFoundError: No module named 'nowhere').",
        "heatcheck skips 'permutation' (heatcheck.checks) from the package heatcheck-replacing: heatcheck has that "
        "name already.",
    ]
    assert done.returncode == 0
