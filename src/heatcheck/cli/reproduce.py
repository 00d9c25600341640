"""`heatcheck reproduce` and `heatcheck studies`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, DataDir, Device
from heatcheck.errors import BadInput, MissingPackage, UnknownName

if TYPE_CHECKING:
    from heatcheck.studies import StudyResult

KINDS = {".html": "page", ".csv": "table"}


def reproduce(
    study: Annotated[str, typer.Argument(help="A study's name; see `heatcheck studies`.")],
    tasks: Annotated[str | None, typer.Option(help="Comma-separated.", show_default="all that are here")] = None,
    encoders: Annotated[str | None, typer.Option(help="Comma-separated.", show_default="average,cnn,lstm")] = None,
    attentions: Annotated[str | None, typer.Option(help="Comma-separated.", show_default="tanh,dot")] = None,
    seeds: Annotated[int | None, typer.Option(help="Models of each kind.", show_default="3, and 5 for sst")] = None,
    examples: Annotated[
        int | None, typer.Option(help="Test texts each model is audited on.", show_default="500")
    ] = None,
    preset: Annotated[str, typer.Option(help="jw-release, or jw-paper: chosen on test, wider CNN.")] = "jw-release",
    vectors: Annotated[
        Path | None, typer.Option(help="Pretrained word vectors: GloVe or word2vec text, or .npz.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Of each training.", show_default="as published")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Epochs without a better dev score before it stops.", show_default="never")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke run: few texts, one epoch, one seed.")] = False,
    workers: Annotated[int, typer.Option(help="Models at once, each in a process of its own; 0: one here.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the study; what is there already is not run again.",
            show_default="heatcheck-out/studies/STUDY",
        ),
    ] = None,
    figures: Annotated[
        str | None, typer.Option(help="Save the figures too: svg, png, or csv for the numbers drawn.")
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Do a paper again: train what is missing, audit it, and set every number beside the published one.

    heatcheck reproduce jain2019 --tasks sst --encoders lstm,average --vectors glove.6B.300d.txt

    heatcheck reproduce jain2019 --quick

    A run that was stopped goes on where it was when the same command is given again.
    """
    if figures is not None and figures not in ("svg", "png", "csv"):
        raise BadInput(f"--figures takes svg, png, csv, not {figures!r}.")

    from dataclasses import replace

    from heatcheck.cli import show, show_study
    from heatcheck.studies import STUDIES
    from heatcheck.studies.jain2019 import QUICK, Settings
    from heatcheck.training import STORE

    if study not in STUDIES:
        raise UnknownName("study", study, STUDIES)
    for name, number in (("--seeds", seeds), ("--examples", examples), ("--epochs", epochs)):
        if number is not None and number < 1:
            raise BadInput(f"{name} must be at least 1, not {number}.")
    if workers < 0:
        raise BadInput(f"--workers is a number of processes, or 0 for none, not {workers}.")
    if vectors is not None and not vectors.is_file():
        raise BadInput(f"no vectors at {vectors}: give a GloVe or word2vec text file, or an .npz.")
    lists = {"tasks": tasks, "encoders": encoders, "attentions": attentions}
    changes: dict[str, Any] = {
        key: tuple(v.strip() for v in text.split(",")) for key, text in lists.items() if text is not None
    }
    given = {"seeds": seeds, "examples": examples, "epochs": epochs, "patience": patience}
    changes |= {key: value for key, value in given.items() if value is not None}
    changes |= {"preset": preset, "vectors": None if vectors is None else str(vectors.absolute())}
    chosen = replace(QUICK if quick else Settings(), **changes)
    folder = out or STORE / "studies" / (f"{study}-quick" if quick else study)
    with show_study.models(shown=not json) as watch:
        found = STUDIES[study].run(chosen, folder, data_dir=data_dir, device=device, workers=workers, progress=watch)
    pages = write(found, folder, figures=figures)
    if json:
        show.as_json({"folder": str(folder), "files": [str(page) for page in pages], **show_study.study_facts(found)})
        return
    show_study.study(found)
    for page in pages:
        typer.echo(f"{KINDS.get(page.suffix, 'figure')}: {page}")


def write(found: "StudyResult", folder: Path, *, figures: str | None = None) -> list[Path]:
    """The page, the tidy table and the figures; a machine for computing may have nothing to draw with."""
    from heatcheck.report import write_study, write_study_figures, write_study_table

    written = [write_study_table(found, folder / "table.csv")]
    try:
        written.insert(0, write_study(found, folder / "study.html"))
        if figures:
            written += write_study_figures(found, folder / "figures", suffix=figures)
    except MissingPackage as error:
        typer.echo(f"heatcheck: no page, only the table: {error}", err=True)
    return written


def studies(json: AsJson = False) -> None:
    """List the studies: the paper each does again, and its tasks."""
    from heatcheck.cli import show
    from heatcheck.studies import STUDIES

    if json:
        keys = ("name", "paper", "about", "tasks")
        show.as_json([{key: getattr(one, key) for key in keys} for one in STUDIES.values()])
        return
    rows = [[one.name, f"{one.paper}\n{one.about}\ntasks: {', '.join(one.tasks)}"] for one in STUDIES.values()]
    show.table(["study", "what it does again"], rows)
