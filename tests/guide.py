"""CONTRIBUTING's examples as files: read out of the page, put into a copy of the house, or into a package."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
SHOWN = re.compile(r"^`([\w./]+)`\n\n(`{3,})(\w+)\n(.*?)^\2$", re.MULTILINE | re.DOTALL)
FILES = {path: text for path, _, kind, text in SHOWN.findall(GUIDE) if kind != "diff"}
DIFFS = {path: text for path, _, kind, text in SHOWN.findall(GUIDE) if kind == "diff"}


def write_house(folder: Path) -> None:
    """A copy of the code and its pages, with every file and every line of the guide."""
    for part in ("src/heatcheck", "docs/checks", "docs/studies"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in FILES.items():
        if path != "pyproject.toml":
            assert not (folder / path).exists(), path
            (folder / path).write_text(text)
    for path, diff in DIFFS.items():
        (folder / path).write_text(applied(diff, (folder / path).read_text()))


def applied(diff: str, text: str) -> str:
    """The text with the lines that a diff adds: its import first, then the one line among its neighbours."""
    imported, line = diff.split("@@\n")
    assert imported.startswith("+from heatcheck.")
    before = "".join(f"{row[1:]}\n" for row in line.splitlines() if not row.startswith("+"))
    assert text.count(before) == 1, f"the diff is of other code: {before}"
    after = "".join(f"{row[1:]}\n" for row in line.splitlines())
    return text.replace(before, after).replace("\nfrom heatcheck.", f"\n{imported[1:]}from heatcheck.", 1)


def added_lines(diff: str) -> list[str]:
    """The lines that a diff adds, without imports."""
    return [row[1:] for row in diff.splitlines() if row.startswith("+") and not row.startswith("+from ")]


def write_package(folder: Path) -> None:
    """The same files as a package, with the metadata of the guide; a view is called so beside its check or study."""
    inside = folder / "heatcheck_mine"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text('"""A package that adds to heatcheck."""\n')
    for path, text in FILES.items():
        place = Path(path)
        if place.parts[0] == "src":
            view = "_view" if "report" in place.parts else ""
            (inside / f"{place.stem}{view}{place.suffix}").write_text(text)
    (folder / "pyproject.toml").write_text(FILES["pyproject.toml"])
