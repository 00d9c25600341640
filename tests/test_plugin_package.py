"""A package of someone else's adds to heatcheck without a fork: installed for real, then used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import plugged_in
from made_up_packages import write_package

PACKAGE = Path(__file__).parent / "plugin_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed the package, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=seeing())
    assert done.returncode == 0, done.stderr
    return folder


def seeing(*folders: Path) -> dict[str, str]:
    """The environment of a process that finds these packages too."""
    found = os.pathsep.join([*map(str, folders), *sys.path])
    return {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


def heatcheck(*arguments: str, packages: tuple[Path, ...]) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "heatcheck", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=seeing(*packages))


def test_its_additions_are_used_like_ours_whoever_is_imported_first(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, plugged_in.__file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=seeing(installed))
    assert done.returncode == 0, done.stderr
    assert "skips" not in done.stderr
    found = json.loads(done.stdout)
    assert found["both ways"] == {group: ["package", "table"] for group in plugged_in.TABLES}, done.stderr
    assert found["accuracy"] > 0.9
    assert found["state"] != "not run"
    assert found["explainers"] == ["attention", "gradient", "word_length"]
    assert found["retrained"] >= 2
    assert found["not run"] == {}, "workers find the encoder too"
    assert found["order"].index("sharp") < found["order"].index("across models"), "which stands apart"
    assert found["page"] == [True, True]
    assert found["listed"] == ["word_length", "weather"], "with their package"


def test_listings_name_its_package_and_faulty_ones_are_skipped(installed: Path, tmp_path: Path) -> None:
    replacing = "from heatcheck.checks.gauge import gauge as permutation\n"
    write_package(tmp_path, "heatcheck-replacing", replacing, {"heatcheck.checks": {"permutation": "permutation"}})
    write_package(tmp_path, "heatcheck-broken", "import nowhere\n", {"heatcheck.checks": {"broken": "broken"}})
    done = heatcheck("checks", "--json", packages=(installed, tmp_path))
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["sharpness"]["package"] == "heatcheck-sharp"
    assert rows["sharpness"]["decides"] == ["sharp"]
    assert [name for name, row in rows.items() if "package" in row] == ["sharpness"]
    assert rows["permutation"]["paper"] == "Jain & Wallace 2019, Algorithm 2"
    assert done.stderr.splitlines() == [
        "heatcheck skips 'broken' (heatcheck.checks) from the package heatcheck-broken: it cannot be imported "
        "(ModuleNotFoundError: No module named 'nowhere').",
        "heatcheck skips 'permutation' (heatcheck.checks) from the package heatcheck-replacing: heatcheck has that "
        "name already.",
    ]
    assert done.returncode == 0
