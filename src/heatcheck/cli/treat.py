"""`heatcheck treat`: train a model with treatments of its attention, and say which of them helped."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import (
    AsJson,
    DataDir,
    Device,
    Engine,
    LabelColumn,
    MergeLabels,
    Settings,
    SkipBadRows,
    TextColumn,
    cluster_of,
    pairs,
)
from heatcheck.cli.report import chosen_formats
from heatcheck.errors import BadInput, MissingPackage

if TYPE_CHECKING:
    from heatcheck.auditing.treating import TreatmentPlan
    from heatcheck.data import Corpus, Reading
    from heatcheck.models import Recipe
    from heatcheck.results.treatments import Treatments

FORMATS = ("html", "md", "json", "csv")


def treat(
    model: Annotated[
        str, typer.Argument(help="Folder of a model that heatcheck trained, or a task or file to train new models on.")
    ],
    data: Annotated[
        str | None,
        typer.Option(help="Task or file the model was trained on.", show_default="found by name"),
    ] = None,
    treatments: Annotated[
        str | None,
        typer.Option(
            help="Treatments, comma-separated, or all.", show_default="as many as take 10 minutes with --workers 2"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Models per treatment; fewer than 5 decide nothing.")] = 5,
    examples: Annotated[
        int | None, typer.Option(help="Examples per audit.", show_default="200; 100 of long texts")
    ] = None,
    setting: Settings = None,
    workers: Annotated[int, typer.Option(help="Number of parallel processes; 0 runs in this process.")] = 0,
    engine: Engine = "here",
    vectors: Annotated[Path | None, typer.Option(help="Word vectors that the model started from.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="List what would be trained and audited, then stop.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Output file.", show_default="heatcheck-out/treatments/ID.html"),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Output formats, comma-separated: html, md, json or csv.",
            show_default="the ending of --out, or html",
        ),
    ] = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    skip_bad_rows: SkipBadRows = False,
    merge_labels: MergeLabels = False,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Try treatments after which a heatmap may be readable.

    heatcheck trains the model with each treatment and without, with the same seeds. It audits them all, and prints
    which treatment helped and what it cost.

    \b
    $ heatcheck treat models/mine --data reviews.csv --workers 2
    $ heatcheck treat reviews.csv --workers 2
    $ heatcheck treat rotten_tomatoes --treatments all
    $ heatcheck treat models/mine --treatments entmax,tying --seeds 8

    Ctrl-C stops it; run the same command again to resume.
    """
    if workers < 0:
        raise BadInput(f"--workers must be 0 or more, not {workers}.")
    cluster, paths = cluster_of(engine), _files(out, formats)

    from heatcheck.auditing.treating import plan_treatments, run_treatments
    from heatcheck.cli import show, show_study
    from heatcheck.data import Reading
    from heatcheck.engine import content_id
    from heatcheck.results.treatments import treatments_facts
    from heatcheck.training import STORE

    reading = Reading(text_column, label_column, skip_bad_rows, merge_labels)
    recipe, corpus = _untreated(model, data, reading, data_dir=data_dir, vectors=vectors)
    planned = plan_treatments(
        recipe,
        corpus,
        treatments=treatments,
        seeds=seeds,
        examples=examples,
        settings=pairs(setting),
        vectors=vectors,
        device=device,
        model=Path(model).name,
    )
    if plan:
        _say_plan(planned, workers, as_json=json)
        return
    with show_study.models(shown=not json) as watch:
        found = run_treatments(planned, workers=workers, cluster=cluster, progress=watch)
    name = content_id({"treatments": planned.facts(), "tried": sorted(planned.treated)})
    written = _write(found, paths or [STORE / "treatments" / f"{name}.{one}" for one in _chosen(formats)])
    if json:
        show.as_json({"files": [str(path) for path in written], **treatments_facts(found)})
        return
    _say(found)
    for path in written:
        typer.echo(f"report: {path}")


def _untreated(
    model: str, data: str | None, reading: "Reading", *, data_dir: Path | None, vectors: Path | None
) -> "tuple[Recipe, Corpus]":
    """The recipe of the untreated models, and the data they are trained on."""
    from heatcheck.cli.audit import data_of
    from heatcheck.data import is_task, load_task
    from heatcheck.models import load
    from heatcheck.training import plan_recipe

    if is_task(model) or Path(model).is_file():
        if data is not None:
            raise BadInput(f"{model} is data already: leave out --data, or name a trained model before it.")
        options = {} if is_task(model) else reading._asdict()
        corpus = load_task(model, data_dir=data_dir, **options)
        return plan_recipe(corpus, vectors=vectors), corpus
    subject = load(model, device="cpu")
    if subject.recipe is None:
        raise BadInput(f"{model} has no training recipe, so heatcheck cannot train it with a treatment.")
    given: Any = data_of(subject, model, data, reading)
    return subject.recipe, load_task(given, data_dir=data_dir)


def _chosen(formats: str | None) -> list[str]:
    return list(chosen_formats(formats or "html", FORMATS))


def _files(out: Path | None, formats: str | None) -> list[Path]:
    """The output files that the user names.

    >>> [str(path) for path in _files(Path("mine.md"), None) + _files(Path("mine"), "html,csv")]
    ['mine.md', 'mine.html', 'mine.csv']
    """
    chosen = _chosen(formats)
    if out is None:
        return []
    ending = out.suffix.lstrip(".")
    if ending and ending not in FORMATS:
        raise BadInput(f"--out must end in {', '.join(f'.{one}' for one in FORMATS)}, not .{ending}.")
    if formats is None:
        return [out if ending else out.with_suffix(".html")]
    return [out.with_suffix(f".{one}") for one in chosen]


def _write(found: "Treatments", paths: list[Path]) -> list[Path]:
    from heatcheck.report import write_treatments

    written = []
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            written.append(write_treatments(found, path))
        except MissingPackage as error:  # a compute node may lack the packages that draw
            typer.echo(f"heatcheck: no {path.name}: {error}", err=True)
    return written


def _say_plan(planned: "TreatmentPlan", workers: int, *, as_json: bool) -> None:
    """Say what would be trained and audited, and about how long it takes."""
    from heatcheck.cli import show
    from heatcheck.cli.progress import in_words

    fits, audits = len(planned.fits()), len(planned.audits())
    if as_json:
        counts = {"training runs": fits, "audits": audits, "seconds of one core": round(planned.seconds)}
        show.as_json({**planned.facts(), "treatments": list(planned.treated), **counts})
        return
    typer.echo(f"treatments: {', '.join(planned.treated)}")
    typer.echo(f"{fits} training runs and {audits} audits of {planned.examples} examples each")
    typer.echo(in_words(planned.seconds / max(1, workers)).removesuffix(" left"))
    for name, why in planned.not_applied.items():
        typer.echo(f"{name} does not apply: {why}")
    for what in planned.left_out.values():
        typer.echo(f"Not tried: {what}.")


def _say(found: "Treatments") -> None:
    """Print one table that fits a screen, the advice, and what was not judged or tried."""
    from heatcheck.cli import show
    from heatcheck.report import brief_table

    table = brief_table(found)
    show.table(table.columns, table.rows, f"{found.model}, untreated → treated: means of {found.seeds} seeds")
    typer.echo("↑ higher is better, ↓ lower is better. 'helps' beats the untreated model and equally sharp weights.")
    typer.echo(found.advice)
    if found.not_applied:
        typer.echo(f"These do not apply: {', '.join(found.not_applied)} (the report says why).")
    for what in found.left_out.values():
        typer.echo(f"Not tried: {what}.")
    for name, reason in found.failed.items():
        typer.echo(f"failed: {name}: {reason}", err=True)
