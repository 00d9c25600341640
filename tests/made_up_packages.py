"""Packages written by hand into a folder, as an installer would: a module, and metadata that name its additions."""

from collections.abc import Mapping
from pathlib import Path


def write_package(folder: Path, name: str, code: str, points: Mapping[str, Mapping[str, str]]) -> None:
    """`points` gives, by group, what the package adds: its name, and the name that the module has for it."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {module}:{value}\n" for key, value in added.items())
        for group, added in points.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
