"""`heatcheck audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.options import AsJson, DataDir, Device, Settings, pairs
from heatcheck.errors import BadInput, MissingPackage

if TYPE_CHECKING:
    from heatcheck.auditing import Audit
    from heatcheck.models import Subject


def audit(
    model: Annotated[
        list[str], typer.Argument(help="A model's folder, or known:NAME@TASK; several are seeds of one kind.")
    ],
    data: Annotated[
        str | None,
        typer.Option(help="A task's name or your own file.", show_default="what the model was trained on"),
    ] = None,
    checks: Annotated[
        str | None,
        typer.Option(help="Comma-separated; see `heatcheck checks`.", show_default="all"),
    ] = None,
    examples: Annotated[int, typer.Option(help="How many examples to sample.")] = 500,
    split: Annotated[
        str | None,
        typer.Option(
            help="train, dev, test or all.",
            show_default="test; all rows of a file without splits that the model was not trained on",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
    setting: Settings = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what would run and what it would cost, and stop.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to make.", show_default="heatcheck-out/audits/ID"),
    ] = None,
    tables: Annotated[str, typer.Option(help="Format of the tables: csv, parquet or json.")] = "csv",
    figures: Annotated[
        str | None,
        typer.Option(help="Save the figures too: svg, png, or csv for the numbers drawn."),
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: AsJson = False,
) -> None:
    """Can this model's heatmap be read as an explanation? Runs the checks, prints the card, writes the report.

    heatcheck audit models/mine --data reviews.csv

    heatcheck audit models/mine --checks erasure --set erasure.sizes=1,2 --examples 200

    heatcheck audit known:bystander_wrong@planted_contrast

    heatcheck audit models/seed0 models/seed1 models/seed2
    """
    for name, value, known in (
        ("--tables", tables, ("csv", "parquet", "json")),
        ("--figures", figures, ("svg", "png", "csv")),
    ):
        if value is not None and value not in known:
            raise BadInput(f"{name} takes {', '.join(known)}, not {value!r}.")

    from heatcheck.auditing import plan_audit, run_plan
    from heatcheck.cli import show
    from heatcheck.models import load
    from heatcheck.training import pick_device

    options: dict[str, Any] = {
        "checks": None if checks is None else [name.strip() for name in checks.split(",")],
        "examples": examples,
        "split": split,
        "seed": seed,
        "settings": pairs(setting),
        "data_dir": data_dir,
    }
    if out is not None and out.exists():
        raise BadInput(f"output folder {out} exists: choose another name with --out, or delete it.")
    if out is not None and len(model) > 1:
        raise BadInput("--out names one audit's folder; with several models leave it out.")
    place = str(pick_device(device))
    loaded = [(load(name, device=place), name) for name in model]
    # All are planned before any runs, so that a complaint about the last comes before the work on the first.
    plans = [plan_audit(subject, data or data_of(subject, name), name=name, **options) for subject, name in loaded]
    if plan:
        show.plan(plans[0], as_json_too=json)
        return
    audits, folders = [], []
    for planned in plans:
        with show.checking(shown=not json) as watch:
            audits.append(run_plan(planned, watch=watch))
        folders.append(write(audits[-1], out, tables=tables, figures=figures))
        if not json:
            show.card(audits[-1])
            typer.echo(f"report: {folders[-1] / 'report.html'}" if made(folders[-1]) else f"tables: {folders[-1]}")
    if json:
        found = [
            {"folder": str(folder), "report": made(folder), **show.audit_facts(one)}
            for one, folder in zip(audits, folders, strict=True)
        ]
        show.as_json(found[0] if len(found) == 1 else found)
    elif len(audits) > 1:
        show.across(audits)


def made(folder: Path) -> str | None:
    """The path of the report, where there was something to draw it with."""
    report = folder / "report.html"
    return str(report) if report.is_file() else None


def data_of(subject: "Subject", model: str) -> str:
    """The task a subject was made for, by name."""
    from heatcheck.data import is_task

    task = subject.recipe.task.partition("@")[0] if subject.recipe else subject.id.rpartition("@")[2]
    if not is_task(task):
        raise BadInput(f"{model} was trained on {task!r}, which is not a task's name: give the file with --data.")
    return task


def write(found: "Audit", out: Path | None, *, tables: str = "csv", figures: str | None = None) -> Path:
    """Report and tables in a folder that appears whole; without a name, one named by what decides the audit."""
    import shutil

    from heatcheck.engine import content_id, whole_folder
    from heatcheck.report import write_figures, write_report, write_tables
    from heatcheck.training import STORE

    decides = [
        found.about["model id"],
        found.task,
        found.split,
        found.n,
        found.seed,
        found.about["settings"],
        found.about["card"],
    ]
    folder = out or STORE / "audits" / content_id({"audit": decides})
    if out is None and folder.is_dir():
        shutil.rmtree(folder)  # the same audit, made again
    with whole_folder(folder, resume=False) as scratch:
        try:
            write_report(found, scratch / "report.html")
        except MissingPackage as error:  # a machine for computing may have nothing to draw with
            typer.echo(f"heatcheck: no report, only tables: {error}", err=True)
        write_tables(found, scratch, suffix=tables)
        if figures:
            write_figures(found, scratch / "figures", suffix=figures)
    return folder
