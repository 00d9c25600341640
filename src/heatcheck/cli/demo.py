"""`heatcheck demo`."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from heatcheck.cli.options import AsJson


def demo(
    json: AsJson = False,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder to make.", show_default="heatcheck-out/fits/ID"),
    ] = None,
) -> None:
    """Train a BiLSTM with additive attention on real film reviews and evaluate it: about a minute on a laptop."""
    from heatcheck.cli import show
    from heatcheck.training import train

    fit = train("rotten_tomatoes", out=out, progress=not json)
    if json:
        show.as_json(show.fit_facts(fit))
        return
    typer.echo("A BiLSTM with additive attention, trained on one-sentence film reviews:\n")
    show.fit_in_words(fit)
    typer.echo(f"\nNext: python -c \"import heatcheck as hc; print(hc.load('{fit.folder}'))\"")
    typer.echo("      heatcheck train your.csv     (columns text and label)")
