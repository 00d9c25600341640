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
    "f1:learned": "F1",
    "f1:uniform": "F1, trained with uniform weights",
    "guide_f1:uniform": "F1 of a guide with uniform weights",
    "guide_f1:learned": "F1 of a guide with weights of its own",
    "guide_f1:base": "F1 of a guide with the model's weights",
    "guide_f1:adversary": "F1 of a guide with an adversary's weights",
    "best:lambda": "λ of the best far adversary",
    "best:f1": "its F1",
    "best:tvd": "its TVD to the model",
    "best:jsd": "its JSD to the model",
}
# Shown although nobody published them: what the study is about.
UNPUBLISHED = {
    "f1:last": "F1, trained with the last state only",
    "accuracy:learned": "accuracy",
    "accuracy:uniform": "accuracy, trained with uniform weights",
    "accuracy:last": "accuracy, trained with the last state only",
    "N:retrained": "share of the score that needs attention",
    "jsd:seeds": "JSD between seeds",
    "tvd:seeds": "TVD between seeds",
    "J_excess": "JSD of an adversary no worse than a seed, above seeds",
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
    """The numbers that were published, each beside ours, and the few others to know; the page has the rest."""
    shown = [
        row
        for row in found.rows
        if (row.paper is not None and row.quantity in SHOWN)
        or (row.quantity in UNPUBLISHED and not row.of_class and not row.bin)
    ]
    rows = [
        [
            f"{row.task} {row.encoder} {row.attention}",
            f"{(SHOWN | UNPUBLISHED)[row.quantity]}{f', {row.of_class}' if row.of_class else ''}",
            f"{_number(row.value)} [{_number(row.low)}, {_number(row.high)}]" if row.seeds > 1 else _number(row.value),
            _number(row.paper),
            _number(row.rerun),
            row.statement,
        ]
        for row in shown
    ]
    seeds = sorted({row.seeds for row in shown if row.seeds > 1})
    over = f"the mean over {' or '.join(map(str, seeds))} seeds with its 95% interval" if seeds else "one seed"
    title = f"{found.paper}: ours is {over}"
    show.table(["model", "quantity, class", "ours", "paper", "rerun", "the paper's number"], rows, title)
    said = Counter(row.statement.partition(":")[0].partition(" (")[0] for row in found.rows if row.paper is not None)
    of_paper = sum(row.paper is not None for row in shown)
    typer.echo(f"{of_paper} of the numbers that were published; {sum(said.values()) - of_paper} more are in the table.")
    typer.echo("Of all: " + ", ".join(f"{count} {what}" for what, count in said.most_common()) + ".")
    typer.echo(found.notes[0] if found.notes else "")
    for name, reason in found.failed.items():
        typer.echo(f"not run: {name} ({reason})")


def _number(value: float | None) -> str:
    """Two decimals, or as many as a small one needs.

    >>> _number(0.8125), _number(0.000525), _number(None)
    ('0.81', '0.000525', '')
    """
    return "" if value is None else f"{value:.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


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
