"""Several audits side by side, as one self-contained page, as Markdown, or as numbers."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from heatcheck.engine import nulled, write_whole
from heatcheck.errors import UnknownName
from heatcheck.report.audit_figures import draw_comparison
from heatcheck.report.audited import by_the_commonest
from heatcheck.report.comparison import MOST, Comparison, Paired, compare
from heatcheck.report.data_files import Columns, as_csv, plain_json
from heatcheck.report.html import render
from heatcheck.report.markdown import escaped, opening
from heatcheck.report.markdown import table as markdown_table
from heatcheck.report.sections import CardLine, Evidence, card_line
from heatcheck.report.side_by_side import forests, same_texts, what_differs
from heatcheck.report.table import Table, pivot
from heatcheck.report.view import view_of
from heatcheck.report.wording import spaced
from heatcheck.results import Audit, HeatmapAudits, Line, headline_of
from heatcheck.results.written import MINUS, NOTHING, number


class Cell(NamedTuple):
    """A line of one model's card."""

    line: Line
    sign: str
    statistic: Evidence | None
    baseline: str  # what the statistic is compared with


class Row(NamedTuple):
    """A line of every model's card."""

    name: str
    question: str
    cells: list[Cell]
    apart: bool  # the first line that does not belong to the card proper

    @property
    def alike(self) -> bool:
        """Whether all cells with a statistic have the same one: a proof has another number than an estimate."""
        return len({cell.line.evidence[0].name for cell in self.cells if cell.line.evidence}) < 2


def write_comparison(audits: Mapping[str, Audit] | HeatmapAudits | Comparison, path: Path | str) -> Path:
    """Write 2 to 6 audits side by side, or any number of heatmaps; the file's suffix decides the format.

    `.html` is a page, `.md` the same without figures, `.json` and `.csv` its numbers.
    """
    path = Path(path)
    writers: dict[str, Callable[[Comparison], bytes]] = {
        ".html": _page,
        ".md": _markdown,
        ".json": lambda found: plain_json(comparison_facts(found)),
        ".csv": lambda found: as_csv(_columns(found)),
    }
    if path.suffix not in writers:
        raise UnknownName("format of a comparison", path.suffix, writers)
    write_whole(path, writers[path.suffix](audits if isinstance(audits, Comparison) else compare(audits)))
    return path


def card_rows(found: Comparison) -> list[Row]:
    """The cards, one row per line."""
    every = [[_cell(line) for line in audit.card.every_line] for audit in found.audits.values()]
    own = len(next(iter(found.audits.values())).card.lines)
    return [
        Row(cells[0].line.name, cells[0].line.question, list(cells), at == own)
        for at, cells in enumerate(zip(*every, strict=True))
    ]


def differing_table(found: Comparison) -> Table:
    """What differs, one column per model."""
    rows = [(f"{one.what}{'' if one.matters else ' (hardly matters)'}", *one.values) for one in found.differing]
    return Table("What differs", ("", *found.names), rows)


def lacking_table(found: Comparison) -> Table:
    """What some audits have and others lack."""
    rows = [(one.what, *one.values) for one in found.lacking]
    return Table("What some audits lack", ("", *found.names), rows)


def paired_table(found: Comparison) -> Table:
    """Each model minus the first, text by text."""
    cells = [(one.what, one.model, _said_pair(one)) for one in found.paired]
    return pivot(f"Minus {found.names[0]}, on the same texts", "per text", cells)


def comparison_facts(found: Comparison) -> dict[str, Any]:
    """The comparison as JSON has it."""
    return {
        **({} if found.heatmaps is None else {"answer": found.heatmaps.answer}),
        "models": {
            name: {
                "subject": audit.subject,
                "task": audit.task,
                "split": audit.split,
                "seed": audit.seed,
                "n": audit.n,
                "accuracy": audit.accuracy,
                "prior": audit.commonest[1] if audit.commonest else None,
                "card": {
                    line.name: {
                        "state": line.state,
                        "reason": line.reason,
                        "evidence": [m._asdict() for m in line.evidence],
                    }
                    for line in audit.card.every_line
                },
            }
            for name, audit in found.audits.items()
        },
        "comparable": found.comparable,
        "statement": found.statement,
        "differs": [{**one._asdict(), "values": _by_name(found, one.values)} for one in found.differing],
        "lacking": [{**one._asdict(), "values": _by_name(found, one.values)} for one in found.lacking],
        "paired": [
            {**one._asdict(), "difference": one.difference._asdict(), "minus": found.names[0]} for one in found.paired
        ],
        "not_paired": list(found.not_paired),
    }


def _by_name(found: Comparison, values: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(found.names, values, strict=True))


def _cell(line: Line) -> Cell:
    shown: CardLine = card_line(line)
    baseline = spaced(line.evidence[0].baseline) if line.evidence else ""
    return Cell(line, shown.sign, shown.statistic, baseline)


def _said_pair(one: Paired) -> str:
    found = one.difference
    known = math.isfinite(found.low) and math.isfinite(found.high)
    ends = f" [{_signed(found.low)}, {_signed(found.high)}]" if known else f" {NOTHING}"
    return f"{_signed(found.value)}{ends} (n = {found.n:,})"


def _signed(value: float) -> str:
    text = number(value)
    return text if text.startswith((MINUS, NOTHING)) or float(text.replace(",", "")) == 0 else f"+{text}"


def _page(found: Comparison) -> bytes:
    figures = draw_comparison(found.audits) if len(found.audits) <= MOST else []  # no more colours can be told apart
    facts = {
        **_headed(found),
        "names": found.names,
        "comparable": found.comparable,
        "statement": found.statement,
        "differing": differing_table(found),
        "lacking": lacking_table(found),
        "facts": _facts(found),
        "cards": card_rows(found),
        "answers": [(name, headline_of(audit.card)) for name, audit in found.audits.items()],
        "paired": paired_table(found),
        "not_paired": found.not_paired,
        "figures": [(view_of(figure.check).title, figure) for figure in figures],
        "forests": forests(found.audits),
        "texts": same_texts(found.audits),
    }
    return render("comparison.html.jinja", facts, figures)


def _headed(found: Comparison) -> dict[str, Any]:
    """What a page opens with: the question, and for heatmaps of one model the answer with a table."""
    number, of_one = len(found.names), found.heatmaps
    if of_one is None:
        asked = f"{number} models side by side: can their attention heatmaps be read as explanations?"
        differs = what_differs(found.audits)
        return {"asked": asked, "answer": "", "differs": differs, "table_of_heatmaps": None, "what": "model"}
    subject = next(iter(of_one.audits.values())).subject
    asked = f"{number} heatmaps of {subject}: which of them can be read?"
    return {
        "asked": asked,
        "answer": of_one.answer,
        "differs": what_differs(found.audits, "heatmaps"),
        "table_of_heatmaps": heatmap_table(of_one),
        "what": "heatmap",
    }


def heatmap_table(found: HeatmapAudits) -> Table:
    """One row per heatmap, one column per line of the card: its answer, and the number behind it."""
    audits = list(found.audits.values())
    first = audits[0]
    right = "" if first.accuracy is None else f"; accuracy {number(first.accuracy)}"
    right += f" ({by_the_commonest(first)})" if right and by_the_commonest(first) else ""
    lines = (*first.card.in_reading_order, *first.card.apart)
    rows = [(name, *(_answered(audit.card[line.name]) for line in lines)) for name, audit in found.audits.items()]
    caption = f"{first.n:,} of {first.available:,} examples{right}"
    return Table(caption, ("heatmap", *(line.question for line in lines)), rows)


def _answered(line: Line) -> str:
    return f"{line.badge} {line.strip.number}" if line.strip is not None and not line.moot else line.badge


def _facts(found: Comparison) -> list[dict[str, Any]]:
    """The facts of each audit: value and note per model."""
    audits = list(found.audits.values())
    texts = [(f"{a.n:,} of {a.available:,}", f"{a.task.partition('@')[0]}, split “{a.split}”") for a in audits]
    right = [
        (NOTHING if audit.accuracy is None else number(audit.accuracy), by_the_commonest(audit)) for audit in audits
    ]
    return [{"what": "examples", "cells": texts}, {"what": "accuracy on these examples", "cells": right}]


def _markdown(found: Comparison) -> bytes:
    headed = _headed(found)
    blocks = [f"# {len(found.names)} models side by side", f"**{escaped(headed['differs'])}**"]
    if found.heatmaps is not None:
        blocks = [f"# {escaped(headed['asked'])}", f"**{escaped(headed['answer'])}**"]
        blocks.append(markdown_table(headed["table_of_heatmaps"]))
    blocks += [block for name, audit in found.audits.items() for block in (f"## {escaped(name)}", *opening(audit.card))]
    blocks += ["## Can these numbers be compared?", escaped(found.statement)]
    for data in (differing_table(found), lacking_table(found)):
        if data.rows:
            blocks.append(markdown_table(data))
    blocks.append("## The cards")
    rows = [(row["what"], *(f"{value} ({note})" for value, note in row["cells"])) for row in _facts(found)]
    rows += [
        (f"{row.name}{'' if row.alike else ' (different statistics)'}", *map(_said_cell, row.cells))
        for row in card_rows(found)
    ]
    blocks.append(markdown_table(Table("Answer, statistic, 95% interval and n", ("", *found.names), rows)))
    blocks.append("## Differences, text by text")
    paired = paired_table(found)
    blocks.append(markdown_table(paired) if paired.rows else "Nothing can be compared text by text.")
    if found.not_paired:
        blocks.append(f"Not paired: {' '.join(map(escaped, found.not_paired))}")
    return ("\n\n".join(blocks) + "\n").encode("utf-8", "replace")


def _said_cell(cell: Cell) -> str:
    if cell.statistic is None:
        return f"{cell.sign} {cell.line.badge}"
    one = cell.statistic
    return (
        f"{cell.sign} {cell.line.badge}: {one.value} {one.interval}, {one.n}: {one.quantity}; baseline: {cell.baseline}"
    )


def _columns(found: Comparison) -> Columns:
    """One row per line of each card, then one row per paired difference."""
    keys = ("part", "name", "model", "minus", "state", "statistic", "value", "low", "high", "n", "baseline")
    rows: list[dict[str, Any]] = []
    for model, audit in found.audits.items():
        for line in audit.card.every_line:
            row = {"part": "card", "name": line.name, "model": model, "state": line.state}
            if line.evidence:
                m = line.evidence[0]
                row |= {**m._asdict(), "name": line.name, "statistic": m.name}
            rows.append(row)
    for one in found.paired:
        row = {"part": "paired", "name": f"{one.check}: {one.name}", "model": one.model, "minus": found.names[0]}
        rows.append({**row, "statistic": one.what, **one.difference._asdict(), "baseline": "0: no difference"})
    return {key: [nulled(row.get(key)) for row in rows] for key in keys}
