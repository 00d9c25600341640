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
    study: Annotated[str, typer.Argument(help="Study name; see `heatcheck studies`.")],
    tasks: Annotated[
        str | None, typer.Option(help="Tasks, comma-separated.", show_default="all on this machine")
    ] = None,
    encoders: Annotated[
        str | None,
        typer.Option(
            help="Encoders, comma-separated (jain2019, serrano2019, pruthi2020).", show_default="all of the study"
        ),
    ] = None,
    attentions: Annotated[
        str | None, typer.Option(help="Attention types, comma-separated (jain2019).", show_default="tanh,dot")
    ] = None,
    shapes: Annotated[
        str | None,
        typer.Option(
            help="Model shapes, comma-separated: flan (flat) or han (hierarchical); serrano2019.",
            show_default="flan,han",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Hugging Face model to fine-tune, as hf:NAME (abnar2020, brunner2020, chefer2021, kobayashi2020).",
            show_default="a small one, trained from scratch",
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of models per kind.", show_default="3 or 5, more for sst")
    ] = None,
    examples: Annotated[int | None, typer.Option(help="Test examples per model.", show_default="500")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Training preset: jw-release chooses the epoch on dev, jw-paper and wp on test.",
            show_default="the study's own",
        ),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Pretrained word vectors: a GloVe or word2vec text file, or .npz.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs per training run.", show_default="as published")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Epochs without improvement before training stops.", show_default="no early stop")
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Hidden size per direction (vashishth2019).", show_default="the preset's")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Batch size (pruthi2020).", show_default="32")] = None,
    strengths: Annotated[
        str | None,
        typer.Option(
            help="Values of λ, comma-separated: for the adversaries (wiegreffe2019), the penalty (pruthi2020) or the "
            "attention scores (sun2020).",
            show_default="the study's own",
        ),
    ] = None,
    adversary_epochs: Annotated[
        int | None, typer.Option(help="Most epochs per adversary (wiegreffe2019).", show_default="80")
    ] = None,
    restarts: Annotated[int | None, typer.Option(help="Adversaries per λ (wiegreffe2019).", show_default="1")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short trial run: few examples, one epoch, few seeds.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Number of parallel processes; 0 runs in this process.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the study; finished models in it are not run again.",
            show_default="heatcheck-out/studies/STUDY",
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(help="Formats of separate figure files, comma-separated: svg, png, or csv (plotted numbers)."),
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Reproduce a paper's numbers.

    heatcheck trains the models that are missing, audits them, and shows every number beside the published one.

    \b
    $ heatcheck reproduce jain2019 --quick
    $ heatcheck reproduce jain2019 --tasks sst --vectors glove.6B.300d.txt
    $ heatcheck reproduce vashishth2019 --vectors glove.6B.300d.txt --workers 8
    $ heatcheck reproduce abnar2020 --tasks sst --model hf:distilbert-base-uncased

    If a run stops early, run the same command again to resume.
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
        raise BadInput(f"--workers must be 0 or more, not {workers}.")
    if vectors is not None and not vectors.is_file():
        raise BadInput(f"no vectors at {vectors}: name a GloVe or word2vec text file, or an .npz file.")
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
            raise BadInput(f"{study} does not take {_option(name)}: choose from {known}.")
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
    """Write the page, the table and the figures; only the table if the packages that draw are missing."""
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
    """List the papers that heatcheck can reproduce.

    Run one with `heatcheck reproduce STUDY`.
    """
    from heatcheck.cli import show
    from heatcheck.studies import STUDIES

    if json:
        keys = ("name", "paper", "about", "tasks")
        show.as_json([{key: getattr(one, key) for key in keys} for one in STUDIES.values()])
        return
    rows = [[one.name, f"{one.paper}\n{one.about}\ntasks: {', '.join(one.tasks)}\n"] for one in STUDIES.values()]
    show.table(["study", "paper, question and tasks"], rows)
