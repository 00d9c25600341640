"""A room imports only from rooms to its left, deferred imports included."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import heatcheck
from heatcheck.checks import CHECKS
from heatcheck.studies import STUDIES

ROOMS = [
    {"errors", "axes"},
    {"stats"},
    {"engine"},
    {"results"},
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
