"""Which rooms a room may import, deferred imports included; and that drawing and the command line compute nothing."""

import ast
from pathlib import Path

import heatcheck

MODELS = {"data", "engine", "errors", "models", "stats", "version"}

# Every room, left to right, with all that it may import: another name here is a decision, not an accident.
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "axes": set(),
    "version": set(),
    "stats": {"errors"},
    "engine": {"errors"},
    "results": {"engine", "errors", "stats"},
    "data": {"engine", "errors", "stats"},
    "models": {"data", "engine", "errors"},
    "training": {"data", "engine", "errors", "models", "stats"},
    "explainers": {"data", "engine", "errors", "models", "stats", "training"},
    "checks": {"data", "engine", "errors", "explainers", "models", "results", "stats", "training"},
    "auditing": MODELS | {"checks", "explainers", "results", "training"},
    "studies": {"auditing", "checks", "data", "engine", "errors", "models", "results", "stats", "training"},
    "report": {"engine", "errors", "results", "stats"},
    "serve": MODELS | {"explainers", "training"},
    "cli": MODELS - {"stats"}
    | {"auditing", "checks", "explainers", "report", "results", "serve", "studies", "training"},
}
ARITHMETIC = {"report": {"Interval"}, "cli": set()}  # what those that show may take from `stats`: no function
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


def rooms_and_sources():
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in ("__init__", "__main__"):
            yield room, path.relative_to(SOURCE), path.read_text()


def test_a_room_imports_only_what_it_may():
    wrong = [
        f"{path} imports {other}"
        for room, path, source in rooms_and_sources()
        for other in imported_rooms(source) - {room}
        if other not in MAY_IMPORT[room]
    ]
    assert not wrong


def test_imports_go_left():
    """What a room may import stands before it, so that there is no circle."""
    rooms = list(MAY_IMPORT)
    assert all(rooms.index(other) < rooms.index(room) for room, others in MAY_IMPORT.items() for other in others)


def test_drawing_and_the_command_line_compute_nothing():
    taken = {
        f"{path} takes {alias.name}"
        for room, path, source in rooms_and_sources()
        if room in ARITHMETIC
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("heatcheck", "scipy")
        for alias in node.names
        if "stats" in f"{node.module}.{alias.name}".split(".") or (node.module or "").startswith("scipy")
        if alias.name not in ARITHMETIC[room]
    }
    assert not taken


def test_every_room_is_placed():
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith(("_", "py.typed"))}
    assert rooms <= MAY_IMPORT.keys()


def test_a_rightward_import_would_be_seen():
    assert imported_rooms("def f():\n    from heatcheck.cli import main") == {"cli"}
    assert imported_rooms("from heatcheck import cli") == {"cli"}
