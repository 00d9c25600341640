"""What is public is what `__all__` says, and importing heatcheck costs nothing."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import heatcheck

SOURCE = Path(heatcheck.__file__).parent
ROOMS = [
    "stats", "engine", "results", "data", "models", "training", "explainers", "checks", "auditing", "studies", "report",
    "cli",
]  # fmt: skip


def test_all_names_resolve_and_are_the_lazy_ones():
    assert heatcheck.__all__ == sorted(heatcheck._ROOM_OF)
    for name in heatcheck.__all__:
        assert getattr(heatcheck, name) is not None
        assert name in dir(heatcheck)


def test_no_function_shares_its_name_with_a_room():
    """Or importing the room would put a module where the function was."""
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    assert not rooms & set(heatcheck.__all__)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'latest'"):
        _ = heatcheck.latest


def public_names(room):
    """What a room's `__init__` defines, or takes from its own files."""
    names = set()
    body = ast.parse((SOURCE / room / "__init__.py").read_text()).body
    for node in [*body, *(lazy for block in body if isinstance(block, ast.If) for lazy in block.body)]:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"heatcheck.{room}"):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_exports_what_it_lists(room):
    module = importlib.import_module(f"heatcheck.{room}")
    listed = module.__all__
    tables = [value for value in vars(module).values() if isinstance(value, dict)]
    in_a_table = {name for name in public_names(room) if any(getattr(module, name) in t.values() for t in tables)}
    assert set(listed) == public_names(room) - (in_a_table - set(listed))
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_importing_heatcheck_does_not_import_torch():
    code = "import sys, heatcheck, heatcheck.cli; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
