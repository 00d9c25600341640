"""A study in the terminal: a progress bar while models train, then each published number beside ours."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from heatcheck.cli import show
from heatcheck.cli.progress import LINES

if TYPE_CHECKING:
    from heatcheck.engine import Outcome
    from heatcheck.report.study_view import StudyView
    from heatcheck.results import StudyResult

COMPARED = {
    "inside": "inside the seed interval",
    "outside": "outside",
    "not comparable": "not comparable",
    "one seed": "one seed only",
    "in exact interval": "in our exact interval",
    "not in exact interval": "not in our exact interval",
    "chosen": "chosen among those tried",
}


def study_facts(found: "StudyResult") -> dict[str, Any]:
    """A study as JSON has it."""
    return {
        "study": found.name,
        "rows": [row.facts() for row in found.rows],
        "tasks": dict(found.tasks),
        "failed": dict(found.failed),
        "settings": dict(found.settings),
        "notes": list(found.notes),
    }


def study(found: "StudyResult") -> None:
    """Show the main published numbers beside ours and a few others; the page has the rest."""
    from heatcheck.report.studies import view_of_study

    for facts in found.tasks.values():
        if "stand in for" in (differs := str(facts.get("differs", ""))):
            typer.echo(f"heatcheck: {differs}. The numbers say nothing about that task.", err=True)
    view = view_of_study(found.name)
    # If no number of the paper is beside ours, a rerun's may be.
    of_paper = any(row.paper is not None for row in found.rows) or not any(row.rerun is not None for row in found.rows)
    beside = [row for row in found.rows if (row.paper if of_paper else row.rerun) is not None]
    compared = {id(row): row.statement if of_paper else row.rerun_statement for row in beside}
    words = _words(found, view, compared)
    shown = [row for row in found.rows if id(row) in words]
    rows = [
        [
            f"{row.task} {row.encoder} {row.attention}",
            f"{words[id(row)]}{f', {row.of_class}' if row.of_class else ''}",
            f"{_number(row.value)} [{_number(row.low)}, {_number(row.high)}]" if row.seeds > 1 else _number(row.value),
            _number(row.paper),
            _number(row.rerun),
            compared.get(id(row), ""),
        ]
        for row in shown
    ]
    seeds = sorted({row.seeds for row in shown if row.seeds > 1})
    over = f"the mean over {' or '.join(map(str, seeds))} seeds with its 95% interval" if seeds else "one seed"
    title = f"{found.paper}: ours is {over}"
    whose = f"the {'paper' if of_paper else view.rerun.word}'s number"
    show.table(["model", "quantity, class", "ours", "paper", view.rerun.word, whose], rows, title)
    said = Counter(COMPARED[row.comparison if of_paper else row.rerun_comparison] for row in beside)
    if said:
        here = sum(id(row) in compared for row in shown)
        typer.echo(f"This shows {here} published numbers; {said.total() - here} more are in table.csv.")
        typer.echo("All published numbers: " + ", ".join(f"{count} {what}" for what, count in said.most_common()) + ".")
    else:
        typer.echo("No published number can be compared with these models.")
    typer.echo(found.notes[0] if found.notes else "")
    for name, reason in found.failed.items():
        typer.echo(f"not run: {name} ({reason})")


def _words(found: "StudyResult", view: "StudyView", compared: Collection[int]) -> dict[int, str]:
    """The plain names of the rows to show, by their id: those of the view, or all if it names none."""
    from heatcheck.report.study_wording import quantity_name

    if not (view.shown or view.unpublished):
        return {id(row): quantity_name(row, (), view) for row in found.rows if not row.bin}
    named = {id(row): view.unpublished.get(row.quantity) for row in found.rows if not row.of_class and not row.bin}
    named |= {
        id(row): view.shown[row.quantity] for row in found.rows if id(row) in compared and row.quantity in view.shown
    }
    return {row: words for row, words in named.items() if words is not None}


def _number(value: float | None) -> str:
    """Two decimals, or as many as a small one needs.

    >>> _number(0.8125), _number(0.000525), _number(None)
    ('0.81', '0.000525', '')
    """
    return "" if value is None else f"{value + 0.0:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


@contextmanager
def models(*, shown: bool) -> Iterator[Callable[["Outcome", int, int], None]]:
    """A progress bar on standard error, one step per model; a line for each failed model."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    hidden = not (shown and console.is_terminal)
    last_line = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("models", total=None)

        def watch(outcome: "Outcome", done: int, total: int) -> None:
            nonlocal last_line
            if shown and hidden and time.monotonic() >= last_line + LINES:
                last_line = time.monotonic()
                console.print(f"heatcheck: {done} of {total} models done", highlight=False)
            progress.update(task, description=outcome.job.name, completed=done, total=total)
            if outcome.state == "failed":
                console.print(f"failed: {outcome.job.name}: {outcome.reason}", markup=False, highlight=False)

        yield watch
