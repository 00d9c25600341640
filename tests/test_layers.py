"""A room imports only from rooms to its left, deferred imports included."""

import ast
from pathlib import Path

import heatcheck

ROOMS = [
    {"errors", "axes", "card_lines"},
    {"stats"},
    {"engine"},
    {"data"},
    {"models"},
    {"training"},
    {"explainers"},
    {"checks"},
    {"auditing"},
    {"studies"},
    {"report"},
    {"serve"},
    {"cli"},
]
PLACE = {room: place for place, rooms in enumerate(ROOMS) for room in rooms}
SOURCE = Path(heatcheck.__file__).parent


def imported_rooms(source: str) -> set[str]:
    """Rooms of heatcheck that a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [node.module or ""]
            if node.module == "heatcheck":
                names = [f"heatcheck.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("heatcheck.")}
    return found


def test_imports_go_left():
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for other in imported_rooms(path.read_text()) - {room, "__version__"}:
            if PLACE[other] >= PLACE[room]:
                wrong.append(f"{path.relative_to(SOURCE)} imports {other}")
    assert not wrong


def test_every_room_is_placed():
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith(("_", "py.typed"))}
    assert rooms <= PLACE.keys()


def test_a_rightward_import_would_be_seen():
    assert imported_rooms("def f():\n    from heatcheck.cli import main") == {"cli"}
    assert imported_rooms("from heatcheck import cli") == {"cli"}
