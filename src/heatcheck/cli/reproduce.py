"""`heatcheck reproduce` and `heatcheck studies`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, DataDir, Device
from heatcheck.cli.report import chosen_formats
from heatcheck.errors import BadInput, MissingPackage, UnknownName

if TYPE_CHECKING:
    from heatcheck.results import StudyResult

KINDS = {".html": "page", ".csv": "table"}


def reproduce(
    study: Annotated[str, typer.Argument(help="A study's name; see `heatcheck studies`.")],
    tasks: Annotated[str | None, typer.Option(help="Comma-separated.", show_default="all that are here")] = None,
    encoders: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated; for jain2019, serrano2019 and pruthi2020.", show_default="all that the study has"
        ),
    ] = None,
    attentions: Annotated[
        str | None, typer.Option(help="Comma-separated; for jain2019.", show_default="tanh,dot")
    ] = None,
    shapes: Annotated[
        str | None,
        typer.Option(help="Flat or hierarchical models, comma-separated; for serrano2019.", show_default="flan,han"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="hf:NAME to fine-tune; for abnar2020, brunner2020, chefer2021 and kobayashi2020.",
            show_default="a small one from nothing",
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Models of each kind.", show_default="3 or 5, and more for sst")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(help="Test texts each model is audited on.", show_default="500")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="How models are trained: jw-release chooses the epoch on dev, jw-paper and wp on test.",
            show_default="the study's",
        ),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Pretrained word vectors: GloVe or word2vec text, or .npz.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Of each training.", show_default="as published")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Epochs without a better score before it stops.", show_default="never")
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Width of a direction; for vashishth2019.", show_default="the preset's")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Texts a step; pruthi2020 only.", show_default="32")] = None,
    strengths: Annotated[
        str | None,
        typer.Option(
            help="λ, comma-separated: of the adversaries of wiegreffe2019, of the penalty of pruthi2020, of the "
            "scores of sun2020.",
            show_default="the study's",
        ),
    ] = None,
    adversary_epochs: Annotated[
        int | None, typer.Option(help="Of each adversary, at most; for wiegreffe2019.", show_default="80")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(help="Adversaries of each λ; for wiegreffe2019.", show_default="1")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smoke run: few texts, one epoch, few seeds.")] = False,
    workers: Annotated[int, typer.Option(help="Models at once, each in a process of its own; 0: one here.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the study; what is there already is not run again.",
            show_default="heatcheck-out/studies/STUDY",
        ),
    ] = None,
    figures: Annotated[
        str | None, typer.Option(help="Save the figures too, comma-separated: svg, png, or csv for the numbers drawn.")
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Do a paper again: train what is missing, audit it, and set every number beside the published one.

    heatcheck reproduce jain2019 --tasks sst --encoders lstm,average --vectors glove.6B.300d.txt

    heatcheck reproduce wiegreffe2019 --tasks sst --vectors glove.6B.300d.txt

    heatcheck reproduce vashishth2019 --vectors glove.6B.300d.txt --workers 8

    heatcheck reproduce abnar2020 --model hf:distilbert-base-uncased --tasks sst

    heatcheck reproduce jain2019 --quick

    A run that was stopped goes on where it was when the same command is given again.
    """
    drawn = () if figures is None else chosen_formats(figures, ("svg", "png", "csv"), "--figures")

    from dataclasses import replace

    from heatcheck.cli import show, show_study
    from heatcheck.studies import STUDIES
    from heatcheck.training import STORE

    if study not in STUDIES:
        raise UnknownName("study", study, STUDIES)
    counts = {
        "seeds": seeds,
        "examples": examples,
        "epochs": epochs,
        "hidden": hidden,
        "batch_size": batch_size,
        "adversary_epochs": adversary_epochs,
        "restarts": restarts,
    }
    for name, number in counts.items():
        if number is not None and number < 1:
            raise BadInput(f"{_option(name)} must be at least 1, not {number}.")
    if workers < 0:
        raise BadInput(f"--workers is a number of processes, or 0 for none, not {workers}.")
    if vectors is not None and not vectors.is_file():
        raise BadInput(f"no vectors at {vectors}: give a GloVe or word2vec text file, or an .npz.")
    given: dict[str, Any] = {
        "tasks": _listed(tasks),
        "encoders": _listed(encoders),
        "attentions": _listed(attentions),
        "shapes": _listed(shapes),
        "preset": preset,
        "model": model,
        "vectors": None if vectors is None else str(vectors.absolute()),
        "patience": patience,
        "strengths": _strengths(strengths),
        **counts,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    chosen = STUDIES[study].quick if quick else STUDIES[study].settings()
    for name in changes:
        if not hasattr(chosen, name):
            known = ", ".join(_option(key) for key in given if hasattr(chosen, key))
            raise BadInput(f"{study} has no {_option(name)}; what it takes: {known}.")
    chosen = replace(chosen, **changes)
    folder = out or STORE / "studies" / (f"{study}-quick" if quick else study)
    with show_study.models(shown=not json) as watch:
        found = STUDIES[study].run(chosen, folder, data_dir=data_dir, device=device, workers=workers, progress=watch)
    pages = write(found, folder, figures=drawn)
    if json:
        show.as_json({"folder": str(folder), "files": [str(page) for page in pages], **show_study.study_facts(found)})
        return
    show_study.study(found)
    for page in pages:
        typer.echo(f"{KINDS.get(page.suffix, 'figure')}: {page}")


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _listed(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(","))


def _strengths(text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"--strengths takes comma-separated numbers, such as 0.0005,0.002, not {text!r}.") from None


def write(found: "StudyResult", folder: Path, *, figures: Sequence[str] = ()) -> list[Path]:
    """The page, the tidy table and the figures; a machine for computing may have nothing to draw with."""
    from heatcheck.report import write_study, write_study_figures, write_study_table
    from heatcheck.results import keep_study

    keep_study(found, folder)
    written = [write_study_table(found, folder / "table.csv")]
    try:
        written.insert(0, write_study(found, folder / "study.html"))
        for suffix in figures:
            written += write_study_figures(found, folder / "figures", suffix=suffix)
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
