"""Writes the tables of numbers on the pages of studies from CSV files beside them; --check fails where one is old.

A table stands between two comments. The first says where its numbers come from:

* `<!-- table 2 -->`: the cells are those of table 2 in the page's own CSV (`jain2019.csv` beside `jain2019.md`).
  `--take` made that file once from the page as it stood, because the results of that run are no longer kept.
* `<!-- table mine2027.csv task=sst`, then a table as a template, then `-->`: `{pruned:gates:25}` becomes the number of
  that quantity with its interval. The file is the `table.csv` that `heatcheck reproduce` writes, kept beside the page.
  `{NAME|value .3 class=1}`: the number alone, with three decimals, of class 1. `paper`, `rerun`, `seeds`, `low`, `high`
  and `spread` are the other columns.
* `<!-- table treatments.csv task=sst each=treatment`: the same, and the template's last line is repeated for each
  treatment of these rows, whose name is `{treatment}`. `{points|verdict}` is a word. A missing number is a dash.
"""

import csv
import datetime
import re
import sys
from pathlib import Path

PAGES = [*sorted((Path(__file__).parent / "studies").glob("*.md")), Path(__file__).parent / "treatments.md"]
BLOCK = re.compile(r"<!-- table (?P<what>(?:(?!-->)[\s\S])*)-->\n+(?P<table>(?:\|.*\n)*)\n*<!-- /table -->\n")
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
NUMBER = re.compile(r"\d*\.\d")
PLACE = re.compile(r"\{([^{}|]+)(?:\|([^{}]*))?\}")
FIELDS = ("value", "low", "high", "seeds", "paper", "rerun", "spread")
OF_TREATMENTS = ("before", "after", "twin", "beyond", "beyond_low", "beyond_high")
WORDS = ("verdict", "state")
KEPT = "results no longer kept"


def cells_of(line: str) -> list[str]:
    """The cells of one line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def markdown(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its header."""
    header, *others = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows]
    return "\n".join([header, "|" + "---|" * len(rows[0]), *others]) + "\n"


def short(text: str, digits: int) -> str:
    """A number as pages write it: `.87`, `−.03`, `12.1`."""
    value = float(text)
    written = f"{value:.{digits}f}"
    if float(written) == 0:
        return f"{0:.{digits}f}".replace("0.", ".", 1)
    return re.sub(r"^(-?)0\.", r"\1.", written).replace("-", "\N{MINUS SIGN}")


def fill(template: str, rows: list[dict[str, str]], given: dict[str, str]) -> str:
    """A template with its places filled from the rows of a study's table."""

    each = given.pop("each", "")
    if each:
        kept = {name: value for name, value in given.items() if name != each}
        names = [row[each] for row in rows if all(row[name] == value for name, value in kept.items())]
        *above, last = template.splitlines()
        below = [
            fill(last.replace(f"{{{each}}}", name), rows, {**given, each: name, "dashes": "yes"})
            for name in dict.fromkeys(names)
        ]
        return "\n".join([*above, *below]) + "\n"
    dashes = bool(given.pop("dashes", ""))

    def number(found: re.Match[str]) -> str:
        words = (found[2] or "").split()
        digits = next((int(word[1:]) for word in words if re.fullmatch(r"\.\d", word)), 2)
        field = next((word for word in words if word in (*FIELDS, *OF_TREATMENTS, *WORDS)), "")
        wanted = {"quantity": found[1].strip(), **given, **dict(w.split("=", 1) for w in words if "=" in w)}
        fitting = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
        if len(fitting) != 1:
            raise SystemExit(f"{len(fitting)} rows have {wanted}: a place in a table needs exactly one.")
        row = fitting[0]
        if field in ("seeds", *WORDS):
            return row[field]
        if dashes and not row[field or "value"]:
            return "\N{EN DASH}"
        if field or not row["low"]:
            return short(row[field or "value"], digits) if row[field or "value"] else ""
        return f"{short(row['value'], digits)} [{short(row['low'], digits)}, {short(row['high'], digits)}]"

    return PLACE.sub(number, template)


def made(page: Path, what: str) -> str:
    """The table that a comment asks for."""
    head, _, template = what.strip().partition("\n")
    if not template:
        with page.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
            return markdown([row[1:] for row in csv.reader(file) if row[0] == head])
    name, *given = head.split()
    with (page.parent / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return fill(template.strip() + "\n", rows, dict(word.split("=", 1) for word in given))


def written(page: Path) -> str:
    """The page with all its tables as their files have them."""
    return BLOCK.sub(
        lambda found: f"<!-- table {found['what']}-->\n\n{made(page, found['what'])}\n<!-- /table -->\n",
        page.read_text(encoding="utf-8"),
    )


def typed(text: str) -> list[str]:
    """Tables of numbers that stand outside of every block: nothing keeps them in step."""
    return [table for table in TABLE.findall(BLOCK.sub("", text)) if NUMBER.search(table)]


def take(page: Path) -> None:
    """Move the typed tables of a page into its CSV, once."""
    path, number = page.with_suffix(".csv"), 0
    if path.exists() or not typed(page.read_text(encoding="utf-8")):
        return
    today = datetime.datetime.now(datetime.UTC).date()
    kept: list[list[str]] = [[KEPT, f"taken from {page.name} as it stood on {today}"]]

    def block(found: re.Match[str]) -> str:
        nonlocal number
        if not NUMBER.search(found[0]):
            return found[0]
        number += 1
        lines = found[0].splitlines()
        rows = [cells_of(line) for line in (lines[0], *lines[2:])]
        kept.extend([str(number), *row] for row in rows)
        return f"<!-- table {number} -->\n\n{markdown(rows)}\n<!-- /table -->\n"

    page.write_text(TABLE.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(kept)


def main() -> int:
    wrong = []
    for page in PAGES:
        if not page.is_file():
            continue
        if "--take" in sys.argv:
            take(page)
        text = page.read_text(encoding="utf-8")
        if typed(text):
            wrong.append(f"{page.name} has a table of numbers that no file makes")
        if written(page) != text:
            wrong.append(f"{page.name} is out of step with its CSV")
            if "--check" not in sys.argv:
                page.write_text(written(page), encoding="utf-8")
    if wrong and "--check" in sys.argv:
        print("\n".join(wrong) + "\nrun `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
