"""Treated models beside untreated ones: a small table for a terminal, a page, Markdown, or numbers."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.engine import write_whole
from heatcheck.errors import UnknownName
from heatcheck.report.data_files import Columns, as_csv, plain_json
from heatcheck.report.figures.changes import changes_of
from heatcheck.report.figures.figure import Figure, declare
from heatcheck.report.html import render
from heatcheck.report.markdown import escaped, listed
from heatcheck.report.markdown import table as markdown_table
from heatcheck.report.table import Table
from heatcheck.results.treatments import MEANS, Difference, TreatedCell, TreatedRow, Treatments, treatments_facts
from heatcheck.results.written import NOTHING, decimals, sentences

TITLES = {  # line -> its heading, with the better direction
    "accuracy": "accuracy ↑",
    "points": "points: K ↑",
    "hard": "hard: q ↓",
    "context": "context: G ↑",
}
PANELS = {  # the same where there is more room
    "accuracy": "accuracy ↑",
    "points": "highlighted words matter: K ↑",
    "hard": "shuffles keep the answer: q ↓",
    "context": "weights help outside: G ↑",
}
LINES = {  # what the numbers are
    "accuracy": "accuracy: the share of test examples with the right answer",
    "points": "points (K): the effect of removing the highlighted words, from random words (0) to the best other "
    "method's (1)",
    "hard": "hard (q): the share of shuffles of the weights that keep the answer; lower means the weights matter more",
    "context": "context (G): how much of the gap between a bag of words and the model the weights close",
}


def brief_table(found: Treatments) -> Table:
    """Two rows of text per treatment: before → after, and whether it helped; it fits a terminal of 80 columns."""
    rows = [(row.name, *(_brief(row.cell(line)) for line in TITLES)) for row in found.rows]
    return Table("", ("treatment", *TITLES.values()), rows)


def whole_table(found: Treatments, caption: str = "") -> Table:
    """Every difference with its interval: from the untreated models, and from their temperature twins."""
    rows = [
        (row.name, line, *_values(cell), _ends(cell.change), _ends(cell.beyond), cell.word)
        for row in found.rows
        for line in TITLES
        for cell in [row.cell(line)]
    ]
    columns = ("treatment", "line", "before", "after", "twin", "after − before", "after − twin", "verdict")
    return Table(caption or f"{found.model}: {found.seeds} seeds, {found.examples} examples per audit", columns, rows)


BADGES = {"helps": "yes", "worse": "no", "seems better": "unclear", "no change seen": "not-found"}


class Verdict(NamedTuple):
    """A cell of the page's first table: before → after, and its badge."""

    numbers: str
    word: str
    badge: str


def verdicts(found: Treatments) -> list[tuple[str, list[Verdict]]]:
    """Each treatment with its verdicts, accuracy first."""
    return [
        (
            row.name,
            [Verdict(_numbers(cell), cell.word, BADGES.get(cell.word, "not-run")) for cell in map(row.cell, TITLES)],
        )
        for row in found.rows
    ]


def changes(found: Treatments) -> Figure | None:
    """The differences of all treatments with their intervals; None if nothing could be compared."""
    drawn = changes_of(found.rows, PANELS, lower_is_better="hard")
    caption = (
        "Further right is better in every panel (the axis of q is turned); an interval that includes the dashed line "
        "may be chance. A treatment helps if it is better than the untreated models and than weights that are merely "
        "as sharp. Intervals are 95%, over seeds and examples, and are not adjusted for the number of treatments; the "
        "verdicts are."
    )
    return None if drawn is None else declare("treatments-changes", "treat", caption, drawn)


def write_treatments(found: Treatments, path: Path | str) -> Path:
    """Write the comparison; the file's suffix decides the format: `.html`, `.md`, `.json` or `.csv`."""
    path = Path(path)
    writers: dict[str, Callable[[Treatments], bytes]] = {
        ".html": _page,
        ".md": lambda one: ("\n\n".join(_blocks(one)) + "\n").encode("utf-8", "replace"),
        ".json": lambda one: plain_json(treatments_facts(one)),
        ".csv": lambda one: as_csv(columns_of([one])),
    }
    if path.suffix not in writers:
        raise UnknownName("format of a comparison of treatments", path.suffix, writers)
    write_whole(path, writers[path.suffix](found))
    return path


def columns_of(every: Sequence[Treatments]) -> Columns:
    """One row per task, treatment and line, for a CSV file; `value` is after − before, `beyond` is after − twin."""
    names = ("task", "treatment", "quantity", "verdict", "seeds", "examples", "before", "after", "twin")
    ends = ("value", "low", "high", "p", "beyond", "beyond_low", "beyond_high", "beyond_p")
    columns: Columns = {name: [] for name in (*names, *ends)}

    def add(task: str, row: TreatedRow, quantity: str, word: str, counts: tuple[int, int], *numbers: Any) -> None:
        values = (task, row.name, quantity, word, *counts, *map(_rounded, numbers))
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)

    for found in every:
        task = found.task.partition("@")[0]
        for row in found.rows:
            for cell in row.cells:
                means = (cell.before, cell.after, cell.twin)
                ends_of = (*(cell.change or (None,) * 4), *(cell.beyond or (None,) * 4))
                add(task, row, cell.line, cell.word, (cell.seeds, cell.examples), *means, *ends_of)
            before, after = row.evenness or (None, None)
            add(
                task, row, "evenness", "", (found.seeds, found.examples), before, after, row.twin_evenness, *(None,) * 8
            )
    return columns


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def _numbers(cell: TreatedCell) -> str:
    """Before → after."""
    before, after = (_short(value) for value in (cell.before, cell.after))
    return NOTHING if before == NOTHING else f"{before}→{after}"


def _brief(cell: TreatedCell) -> str:
    """Before → after, and the verdict; of the accuracy only a verdict that is a change."""
    numbers = _numbers(cell)
    if cell.line == "accuracy":
        return f"{numbers}\n{ {'helps': 'better', 'worse': 'worse'}.get(cell.word, '') }"
    return f"{numbers}\n{cell.word}"


def _short(value: float) -> str:
    """Two decimals without the zero before them.

    >>> _short(0.714), _short(-0.02), _short(1.0)
    ('.71', '−.02', '1.00')
    """
    return decimals(value, ".2f").replace("0.", ".", 1) if abs(value) < 1 else decimals(value, ".2f")


def _values(cell: TreatedCell) -> tuple[str, str, str]:
    """Before, after, and the twin's."""
    return decimals(cell.before), decimals(cell.after), decimals(math.nan if cell.twin is None else cell.twin)


def _ends(one: Difference | None) -> str:
    """A difference with its interval."""
    if one is None:
        return NOTHING
    value = decimals(one.value, "+.3f")
    if not (math.isfinite(one.low) and math.isfinite(one.high)):
        return value
    return f"{value} [{decimals(one.low, '+.3f')}, {decimals(one.high, '+.3f')}]"


def reasons(found: Treatments) -> list[str]:
    """Why cells were not judged, each once; what did not apply, what was left out and what failed."""
    said: dict[str, list[str]] = {}
    for row in found.rows:
        for cell in row.cells:
            if cell.why:
                said.setdefault(f"{cell.line}, {cell.word}: {cell.why}", []).append(row.name)
    lines = [f"{words} ({', '.join(names)})" for words, names in said.items()]
    lines += [f"{name} does not apply: {why}" for name, why in found.not_applied.items()]
    lines += [f"not tried: {what}" for what in found.left_out.values()]
    return lines + [f"failed: {name}: {why}" for name, why in found.failed.items()]


def said_of(row: TreatedRow) -> str:
    """A treatment in one line: what it is, how even its weights are, and what else to know."""
    even = "" if row.evenness is None else f" Evenness of the weights (1: all equal): {_even(row)}."
    note = f" {row.note[:1].upper()}{row.note[1:].rstrip('.')}." if row.note else ""
    return f"{row.name}: {row.about}.{even}{note}"


def _even(row: TreatedRow) -> str:
    before, after = row.evenness or (math.nan, math.nan)
    twin = "" if row.twin_evenness is None else f", temperature twin {decimals(row.twin_evenness, '.2f')}"
    return f"{decimals(before, '.2f')} before, {decimals(after, '.2f')} after{twin}"


def _blocks(found: Treatments) -> list[str]:
    return [
        f"# Which treatment makes this model’s heatmap easier to read: {escaped(found.model)}",
        escaped(found.advice),
        markdown_table(whole_table(found)),
        "## What the numbers are",
        listed(escaped(one) for one in LINES.values()),
        "## The verdicts",
        listed(f"**{word}**: {escaped(means)}" for word, means in MEANS.items()),
        "## The treatments",
        listed(escaped(said_of(row)) for row in found.rows),
        "## Not judged, not tried",
        listed(map(escaped, reasons(found))) or "Nothing.",
    ]


def _page(found: Treatments) -> bytes:
    figure = changes(found)
    headline, *rest = sentences(found.advice)
    facts = {
        "headline": headline,
        "rest": " ".join(rest),
        "found": found,
        "titles": PANELS,
        "verdicts": verdicts(found),
        "changes": figure,
        "table_of_all": whole_table(found),
        "lines": LINES,
        "means": MEANS,
        "treatments": [said_of(row) for row in found.rows],
        "reasons": reasons(found),
    }
    return render("treatments.html.jinja", facts, [figure] if figure else [])
