"""`heatcheck data import`: convert a published data set into a file of the data folder."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatcheck.cli.options import AsJson

if TYPE_CHECKING:
    from heatcheck.data.importing import Imported

data = typer.Typer(
    help="""Import a corpus from its original files.

    \b
    $ heatcheck data import sst trainDevTestTrees_PTB.zip

    The original may be a folder, an archive or a single file. `heatcheck data import --help` lists the options,
    such as --json. These corpora can be imported.

    \b
      20news_sports   20news-bydate.tar.gz; Jason Rennie's 20 Newsgroups page.
      ade             DRUG-AE.rel, ADE-NEG.txt; the ADE corpus (Gurulingappa et al.).
      adr_tweets      a CSV of tweet, label, exp_split; Twitter ADR, from its authors.
      ag_news         train.csv, test.csv; AG's corpus by Zhang, Zhao & LeCun.
      babi            tasks_1-20_v1-2.tar.gz; the bAbI page of Facebook AI Research.
      cnn_qa          cnn.tgz with questions/; DeepMind's question answering corpus.
      imdb_full       aclImdb_v1.tar.gz; Large Movie Review Dataset, Stanford AI.
      mimic_anemia    NOTEEVENTS.csv.gz, DIAGNOSES_ICD.csv.gz; MIMIC-III, PhysioNet.
      mimic_diabetes  the same, and CAML's three *_50_hadm_ids.csv.
      snli            snli_1.0.zip; Stanford NLP's SNLI page.
      sst             trainDevTestTrees_PTB.zip; Stanford NLP's sentiment page.
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@data.callback()
def _room() -> None:
    """Keep `import` a subcommand: typer would merge a single command into its group."""


@data.command("import")
def import_(
    task: Annotated[str, typer.Argument(help="Corpus to import: a name from `heatcheck data --help`.")],
    path: Annotated[Path, typer.Argument(help="Original files: a folder, an archive or a file.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Data folder for the result.", envvar="HEATCHECK_DATA", show_default="data"),
    ] = None,
    json: AsJson = False,
) -> None:
    """Convert an original corpus to a file of the data folder.

    heatcheck writes FOLDER/NAME.jsonl.gz, whole or not at all. It counts every record: as a row, or under the reason
    why it was excluded.

    \b
    $ heatcheck data import imdb_full aclImdb_v1.tar.gz --out data
    $ heatcheck data import mimic_anemia physionet/mimiciii/1.4
    """
    from heatcheck.cli import show
    from heatcheck.data.importing import import_task

    with _reading(shown=not json) as watch:
        found = import_task(task, path, out=out, watch=watch)
    show.as_json(_facts(found)) if json else _in_words(found)


def _facts(found: "Imported") -> dict[str, object]:
    """An import as JSON."""
    from heatcheck.data.importing import IMPORTERS

    return {
        "task": found.task,
        "tasks": IMPORTERS[found.task].tasks,
        "file": str(found.file),
        "read": found.read,
        "written": found.written,
        "excluded": found.excluded,
        "published": IMPORTERS[found.task].published or None,
    }


def _in_words(found: "Imported") -> None:
    """Print the records read, rows written and records excluded, beside the published size."""
    from heatcheck.data.importing import IMPORTERS

    importer = IMPORTERS[found.task]
    typer.echo(f"{found.read:,} records read, {sum(found.written.values()):,} rows written: {_sizes(found.written)}")
    for reason, count in found.excluded.items():
        typer.echo(f"excluded: {count:,} {reason}")
    if importer.published and importer.published != found.written:
        typer.echo(f"differs from the published size: {_sizes(importer.published)}")
    typer.echo(f"saved: {found.file}")
    typer.echo(f"next:  heatcheck train {importer.tasks[0]} --data-dir {found.file.parent}")


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{split} {count:,}" for split, count in sizes.items())


@contextmanager
def _reading(*, shown: bool) -> Iterator[Callable[[int], None]]:
    """A running count of records on standard error: a table of MIMIC-III takes minutes."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} records read"), TimeElapsedColumn())
    hidden = not (shown and console.is_terminal)  # a log file wants no bar
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        bar = progress.add_task("reading", total=None)
        yield lambda read: progress.update(bar, completed=read)
