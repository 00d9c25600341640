"""Which rooms a room may import, deferred imports included; and that drawing and the command line compute nothing."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import heatcheck
from heatcheck.checks import CHECKS
from heatcheck.studies import STUDIES
from rooms_table import MAY_IMPORT

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


def settings_given(source: str) -> list[str]:
    """What each `CheckResult(...)` of a file is given as its settings."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    of_results = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "CheckResult"]
    return [ast.unparse(word.value) for call in of_results for word in call.keywords if word.arg == "settings"]


def test_settings_hold_what_was_asked_for_and_nothing_that_was_found():
    given = {path.stem: settings_given(path.read_text()) for path in (SOURCE / "checks").glob("*.py")}
    assert {name: found for name, found in given.items() if found} == {name: ["asdict(settings)"] for name in CHECKS}


def test_no_setting_is_read_for_a_finding():
    """Whoever draws or judges reads as settings only what somebody can set."""
    can_be_set = {field.name for one in (*CHECKS.values(), *STUDIES.values()) for field in fields(one.settings)}
    can_be_set |= {"batch_size", "evaluated_on"}  # snell2021 sets these itself
    rooms = [path for room in ("auditing", "studies", "report", "cli") for path in (SOURCE / room).rglob("*.py")]
    read = {key for path in rooms for key in re.findall(r"\.settings(?:\.get\(|\[)[\"'](\w+)", path.read_text())}
    assert "operators" in read, "the pattern finds what is read"
    assert read <= can_be_set
