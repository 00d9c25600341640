"""CONTRIBUTING's promises: what it shows is all that an addition takes, in the house or in a package of one's own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import guided
from guide import DIFFS, FILES, GUIDE, ROOT, added_lines, applied, write_house, write_package
from heatcheck.auditing import CardSettings
from made_up_lines import permutation
from voice import faults_of

# By the title of a section: how many files, and how many lines.
PROMISED = {
    "An encoder: one file and one line": (1, 1),
    "A task: one file and one line": (1, 1),
    "An explainer: one file and one line": (1, 1),
    "A check with table, figure and docs page: three files and one line": (3, 1),
    "A line of the card: one file and one line": (1, 1),
    "A study: four files and one line": (4, 1),
    "A package of your own: no line": (1, 0),
}


@pytest.mark.parametrize("title", PROMISED)
def test_a_section_shows_as_many_files_and_lines_as_it_says(title: str) -> None:
    words = re.split(r"^#{2,3} ", GUIDE, flags=re.MULTILINE)
    (section,) = (part for part in words if part.startswith(f"{title}\n"))
    files = [path for path in FILES if f"\n`{path}`\n" in section]
    lines = [line for path, diff in DIFFS.items() if f"\n`{path}`\n" in section for line in added_lines(diff)]
    assert (len(files), len(lines)) == PROMISED[title]


@pytest.mark.parametrize("path", DIFFS)
def test_the_diff_of_the_guide_is_of_the_code(path: str) -> None:
    text = (ROOT / path).read_text()
    assert len(applied(DIFFS[path], text).splitlines()) == len(text.splitlines()) + 2


def used(folder: Path, *options: str, packages: tuple[Path, ...]) -> Mapping[str, Any]:
    """What people find who use the additions (tests/guided.py), in a process that imports these packages first."""
    found = os.pathsep.join([*map(str, packages), *sys.path])
    environment = {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1", "COLUMNS": "240"}
    environment.pop("HEATCHECK_DATA", None)
    command = [sys.executable, guided.__file__, str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "skips" not in done.stderr, done.stderr
    return dict(json.loads(done.stdout))


def check_use(found: Mapping[str, Any]) -> None:
    assert found["accuracy"] > 0.9
    assert found["state"] in ("yes", "no", "unclear")
    assert found["order"].index("sharp") < found["order"].index("across models"), "which stands apart"
    assert found["explainers"] == ["attention", "gradient", "word_length"]
    assert found["report"] == [True, True, True]
    assert found["quantity"], "what the view registers is said"
    assert found["conditions"] == ["sharp"]
    assert found["study"] == [["planted_keyword", "q", 0.31, 2]]
    assert (found["study page"], found["study figures"]) == (True, 0)
    assert "share of shuffles that keep the answer" in found["shown"]
    names = {"checks": "top_share", "explainers": "word_length", "tasks": "weather", "studies": "mine2027"}
    for command, name in names.items():
        assert re.search(rf"^{name}\b", found["listed"][command], flags=re.MULTILINE)


@pytest.mark.slow
def test_the_files_and_lines_of_the_guide_are_all_that_the_house_needs(tmp_path: Path) -> None:
    write_house(tmp_path / "house")
    found = used(tmp_path, packages=(tmp_path / "house" / "src",))
    check_use(found)
    assert not any("from the package" in shown for shown in found["listed"].values())
    for page, title in (("checks/top_share.md", "# Weight on the heaviest words (`top_share`)"),):
        text = (tmp_path / "house" / "docs" / page).read_text()
        assert text.startswith(f"{title}\n")
        for part in ("Question", "What stays the same", "Paper", "Left out"):
            assert f"**{part}.**" in text


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip has installed the guide's package, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    write_package(folder / "source")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_same_files_in_a_package_need_no_line_whoever_is_imported_first(installed: Path, tmp_path: Path) -> None:
    found = used(tmp_path, "--package", packages=(installed,))
    check_use(found)
    assert found["not run"] == {}, "workers find the encoder too"
    assert len(found["retrained"]) >= 2
    assert found["both ways"] == {kind: ["package", "table"] for kind in guided.TABLES}
    assert all("from the package heatcheck-mine" in shown for shown in found["listed"].values())


def test_the_line_of_the_guide_speaks_plainly() -> None:
    file: dict[str, Any] = {}
    exec(FILES["src/heatcheck/auditing/lines/sharp.py"], file)
    settings = CardSettings()
    states = {}
    for bounds in ((0.1, 0.3), (0.7, 0.85), (0.85, 0.9)):
        line = file["judge_sharp"](permutation(evenness=bounds), settings)
        states[line.state] = line
        said = (line.question, line.sentence, line.reason, line.holds, line.cannot_see, line.advice)
        assert not [fault for text in said for fault in faults_of(text, "sharp", every_rule=True)]
    assert list(states) == ["yes", "unclear", "no"]
    assert states["unclear"].would_take > 0
    assert file["judge_sharp"](None, settings).reason == "heatcheck audit MODEL --checks permutation"
