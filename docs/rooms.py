"""Draws the rooms and their allowed imports into CONTRIBUTING.md, or with --check fails where the drawing is old."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"(<!-- rooms -->\n```text\n).*?(```\n<!-- /rooms -->)", re.DOTALL)
FOR_ALL = {"errors", "axes", "version"}  # single files to the left of every room
MARK, NONE = "●", "·"


def drawing(may_import: dict[str, set[str]]) -> str:
    """Names go down the diagonal; a mark in a row is below the room that it may import. Then what each room is for."""
    rooms = [room for room in may_import if room not in FOR_ALL]
    widest = max(map(len, rooms)) + 2
    rows = [
        "".join(f"{MARK if other in may_import[room] else NONE}  " for other in rooms[:place]) + room
        for place, room in enumerate(rooms)
    ]
    jobs = [f"{room.ljust(widest)}{job_of(room)}" for room in rooms]
    return "\n".join([*rows, "", *jobs]) + "\n"


def job_of(room: str) -> str:
    """The first line of a room's own description."""
    said = ast.get_docstring(ast.parse((ROOT / "src" / "heatcheck" / room / "__init__.py").read_text())) or ""
    return said.splitlines()[0]


def main() -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    from rooms_table import MAY_IMPORT

    text = GUIDE.read_text()
    made = BLOCK.sub(lambda found: found[1] + drawing(MAY_IMPORT) + found[2], text)
    if made != text and "--check" in sys.argv:
        print("CONTRIBUTING.md has an old drawing of the rooms; run `make format`")
        return 1
    GUIDE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
