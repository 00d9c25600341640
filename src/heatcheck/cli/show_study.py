"""How a study looks in a terminal: a bar while its models are made, then each published number beside ours."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from heatcheck.cli import show

if TYPE_CHECKING:
    from heatcheck.engine import Outcome
    from heatcheck.studies import StudyResult

SHOWN = {
    "score": "F1 or accuracy",
    "tau:attention|gradient": "τ(attention, gradient)",
    "tau:attention|leave_one_out": "τ(attention, leave-one-out)",
    "searched:0.05": "JSD the search finds, ε .05",
}


def study_facts(found: "StudyResult") -> dict[str, Any]:
    """What a program wants to know of a study."""
    return {
        "study": found.name,
        "rows": [row._asdict() for row in found.rows],
        "tasks": dict(found.tasks),
        "failed": dict(found.failed),
        "settings": dict(found.settings),
        "notes": list(found.notes),
    }


def study(found: "StudyResult") -> None:
    """The numbers that were published, each beside ours; the page has all the others."""
    rows = [
        [
            f"{row.task} {row.encoder} {row.attention}",
            f"{SHOWN[row.quantity]}{f', {row.of_class}' if row.of_class else ''}",
            f"{row.value:.2f} [{row.low:.2f}, {row.high:.2f}]" if row.seeds > 1 else f"{row.value:.2f}",
            f"{row.paper:.2f}" if row.paper is not None else "",
            f"{row.rerun:.2f}" if row.rerun is not None else "",
            row.statement,
        ]
        for row in found.rows
        if row.paper is not None and row.quantity in SHOWN
    ]
    seeds = sorted({row.seeds for row in found.rows})
    over = "one seed" if seeds == [1] else f"the mean over {' or '.join(map(str, seeds))} seeds with its 95% t interval"
    title = f"{found.paper}: ours is {over}"
    show.table(["model", "quantity, class", "ours", "paper", "rerun", "the paper's number"], rows, title)
    said = Counter(row.statement.partition(":")[0].partition(" (")[0] for row in found.rows if row.paper is not None)
    more = sum(said.values()) - len(rows)
    typer.echo(f"{len(rows)} of the numbers that were published; {more} more are in the table.")
    typer.echo("Of all: " + ", ".join(f"{count} {what}" for what, count in said.most_common()) + ".")
    typer.echo(found.notes[0] if found.notes else "")
    for name, reason in found.failed.items():
        typer.echo(f"not run: {name} ({reason})")


@contextmanager
def models(*, shown: bool) -> Iterator[Callable[["Outcome", int, int], None]]:
    """A bar on standard error, one step a model, with an estimate; a line for each that failed."""
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
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("models", total=None)

        def watch(outcome: "Outcome", done: int, total: int) -> None:
            progress.update(task, description=outcome.job.name, completed=done, total=total)
            if outcome.state == "failed":
                console.print(f"failed: {outcome.job.name}: {outcome.reason}", markup=False, highlight=False)

        yield watch
