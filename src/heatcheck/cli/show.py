"""How results look in a terminal, and as JSON on standard output."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from heatcheck.training import Fit


def as_json(facts: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None) -> None:
    """A table as wide as the terminal."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, box=None, pad_edge=False, header_style="bold", title_justify="left")
    for place, column in enumerate(columns):
        drawn.add_column(column, no_wrap=place == 0)  # a name must stay copyable
    for row in rows:
        drawn.add_row(*row)
    Console(markup=False, highlight=False).print(drawn)  # 'heatcheck[data]' is not markup


def fit_facts(fit: "Fit") -> dict[str, Any]:
    """What a program wants to know of a fit."""
    return {"folder": str(fit.folder), "id": fit.subject.id, "reused": fit.reused, "test": fit.test.facts()}


def fit_in_words(fit: "Fit") -> None:
    """A model's test scores beside the baseline that makes them readable."""
    test = fit.test
    rows = [["accuracy", f"{test.accuracy:.3f}", f"[{test.low:.3f}, {test.high:.3f}]", f"{test.majority:.3f}"]]
    if test.auc == test.auc:
        rows.append(["AUC", f"{test.auc:.3f}", "", "0.500"])
        rows.append([f"F1 ({fit.subject.labels[-1]})", f"{test.f1:.3f}", "", ""])
    table(["", "test", "95% interval", "always the commonest label"], rows, f"{test.n:,} test examples")
    recipe = fit.subject.recipe
    if recipe and recipe.training["select_split"] == "test":
        typer.echo("The kept epoch is the best on test, as was published: these scores are optimistic.")
    typer.echo(f"{'already there' if fit.reused else 'saved'}: {fit.folder}")
