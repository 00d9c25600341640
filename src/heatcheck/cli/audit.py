"""`heatcheck audit`: run the checks on a model, and write the answers as a report."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatcheck.cli.audit_heatmaps import HEATMAPS, run_heatmaps, show_heatmaps, write_heatmaps
from heatcheck.cli.fail_if import Condition, conditions, holding, lacking
from heatcheck.cli.options import (
    AsJson,
    DataDir,
    Device,
    Dtype,
    Engine,
    LabelColumn,
    MergeLabels,
    Settings,
    SkipBadRows,
    TextColumn,
    Units,
    Verbose,
    Workers,
    cluster_of,
    listed,
    pairs,
)
from heatcheck.cli.prompts import Against, Answer, Chat, Labels, Prompt, Score, Shots, asked
from heatcheck.cli.report import REPORTS, Figures, Format, check_figures, chosen_formats, write_formats
from heatcheck.errors import BadInput, MissingPackage

if TYPE_CHECKING:
    from heatcheck.auditing import Plan
    from heatcheck.data import Reading
    from heatcheck.engine import Outcome
    from heatcheck.models import Subject
    from heatcheck.results import Audit


TABLES = ("csv", "parquet", "json")


def audit(
    model: Annotated[
        list[str],
        typer.Argument(help="Model folder, hf:NAME or known:NAME@TASK. Several models count as seeds of one kind."),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="Task name or your own file.", show_default="the model's own task or file, read as for training"
        ),
    ] = None,
    checks: Annotated[
        str | None,
        typer.Option(
            help="Checks to run, comma-separated, or all; see `heatcheck checks`.",
            show_default="all except those that run only by name",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(help="Number of examples to sample.")] = 500,
    split: Annotated[
        str | None,
        typer.Option(
            help="Split to audit: train, dev, test or all. Every choice but test keeps the model's training rows.",
            show_default="test; for other data without splits, all rows that the model was not trained on",
        ),
    ] = None,
    heatmap: Annotated[
        str,
        typer.Option(
            help="Heatmap to audit: last_layer, layer:7, head:7.3 (counted from 1), an explainer such as rollout, or "
            "file:PATH (scores computed elsewhere)."
        ),
    ] = "last_layer",
    heatmaps: Annotated[
        str | None,
        typer.Option(help="Several heatmaps of one model, comma-separated, for one table and one report."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    setting: Settings = None,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Compare with retrained models: other seeds, no attention, adversaries."),
    ] = False,
    all_fits: Annotated[
        bool,
        typer.Option("--all-fits", help="With --refit: also train models that can no longer change an answer."),
    ] = False,
    train: Annotated[
        str | None,
        typer.Option(
            help="Task or file the model was trained on.", show_default="found by name, if it is on this machine"
        ),
    ] = None,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors the model started from, for --refit.")] = None,
    labels: Labels = None,
    prompt: Prompt = None,
    shots: Shots = None,
    chat: Chat = False,
    answer: Answer = None,
    against: Against = None,
    score: Score = "text",
    units: Units = "words",
    workers: Workers = 0,
    engine: Engine = "here",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINE=STATE",
            help="Line and state that exit with code 1, such as points=no; repeatable. "
            "`heatcheck checks` lists the lines and the checks that decide them.",
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINE=STATE",
            help="Line and the state it must have, such as points=yes; repeatable. "
            "Any other state exits with code 1, also unclear and not run.",
        ),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="List what would run and its cost, then stop.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="New folder for the audit.", show_default="heatcheck-out/audits/ID"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an audit that is already in --out, for example in CI.")
    ] = False,
    formats: Format = "html",
    tables: Annotated[
        str | None,
        typer.Option(help="Format of the tables: csv, parquet or json.", show_default="as --format, or csv"),
    ] = None,
    figures: Figures = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    skip_bad_rows: SkipBadRows = False,
    merge_labels: MergeLabels = False,
    data_dir: DataDir = None,
    device: Device = "auto",
    dtype: Dtype = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Test whether a model's heatmaps can be read as explanations.

    heatcheck runs the checks, prints the answer with its evidence, and writes a report.

    \b
    $ heatcheck audit models/mine
    $ heatcheck audit models/mine --data others.csv
    $ heatcheck audit models/mine --checks erasure --set erasure.sizes=1,2
    $ heatcheck audit hf:models/sst2 --data mine.csv --workers 2
    $ heatcheck audit models/mine --refit --workers 2 --fail-if points=no
    $ heatcheck audit models/seed0 models/seed1 models/seed2
    $ heatcheck audit hf:models/sst2 --data mine.csv --labels negative,positive
    $ heatcheck audit hf:models/lm --data mine.csv --prompt "{text} Good?" --labels bad=" no",good=" yes"
    $ heatcheck audit hf:models/sst2 --data mine.csv --heatmaps last_layer,layer:3,head:3.2,rollout
    $ heatcheck audit known:bystander_wrong@planted_contrast

    Ctrl-C ends an audit with the lines that are decided; a second Ctrl-C ends it at once. Run the same command again
    to resume: heatcheck keeps trained models and, with --workers, finished parts of the examples.
    """
    chosen = chosen_formats(formats)
    if tables is not None and tables not in TABLES:
        raise BadInput(f"--tables takes {', '.join(TABLES)}, not {tables!r}.")
    check_figures(figures)
    cluster = cluster_of(engine)
    if workers < 0:
        raise BadInput(f"--workers must be 0 or more, not {workers}.")
    for name, given in (("--vectors", vectors is not None), ("--all-fits", all_fits)):
        if given and not refit:
            raise BadInput(f"{name} works only together with --refit: add --refit.")
    unwanted, required = conditions(fail_if), conditions(require, "--require")

    from heatcheck.auditing import decided_by, made_up, plan_audit, plan_heatmaps
    from heatcheck.cli import show
    from heatcheck.data import Reading
    from heatcheck.models import load, shown_names
    from heatcheck.results import audit_facts
    from heatcheck.training import pick_device

    options: dict[str, Any] = {
        "checks": checks,
        "examples": examples,
        "split": split,
        "seed": seed,
        "settings": pairs(setting),
        "data_dir": data_dir,
        "refit": refit,
        "all_fits": all_fits,
        "train": train,
        "vectors": vectors,
        "units": units,
    }
    if heatmaps is not None:
        if heatmap != "last_layer":
            raise BadInput("--heatmap and --heatmaps exclude each other: name all heatmaps with --heatmaps.")
        if len(model) > 1:
            raise BadInput("--heatmaps compares heatmaps of one model: name one model.")
    if out is not None and out.exists():
        check_replaceable(out, overwrite=overwrite, several=heatmaps is not None)
    if out is not None and len(model) > 1:
        raise BadInput("--out names the folder of one audit: leave it out when you audit several models.")
    place = options["device"] = str(pick_device(device))
    reading = Reading(text_column, label_column, skip_bad_rows, merge_labels)
    how = asked(labels, prompt, shots, chat, answer=answer, against=against, score=score, reading=reading)
    loaded = [(load(name, device=place, dtype=dtype, **how), name) for name in model]
    shown = shown_names(model, [subject for subject, _ in loaded])
    read = [data_of(subject, name, data, reading, train=train) for subject, name in loaded]
    options["train"] = read_train(train, read, reading)
    # All audits are planned before the first one runs, so that an error about the last comes before any work.
    plans = [
        one
        for (subject, _), name, corpus in zip(loaded, shown, read, strict=True)
        for one in (
            [plan_audit(subject, corpus, name=name, heatmap=heatmap, **options)]
            if heatmaps is None
            else plan_heatmaps(subject, corpus, listed(heatmaps), name=name, **options)
        )
    ]
    if plan:
        show.plans(plans, workers=workers, as_json_too=json)
        return
    if heatmaps is not None:
        of_heatmaps = run_heatmaps(plans, workers=workers, cluster=cluster, shown=not json)
        place_of = write_heatmaps(of_heatmaps, plans, out, formats=chosen, tables=tables, figures=figures)
        show_heatmaps(of_heatmaps, place_of, as_json=json, verbose=verbose)
        _fail(list(of_heatmaps.audits.values()), unwanted, required)
        return
    audits, found = [], []
    for planned in plans:
        if remark := made_up(planned.case.fits):
            typer.echo(f"heatcheck: {remark}", err=True)
        audit_made, outcomes = run(planned, workers=workers, cluster=cluster, shown=not json, keep_interrupted=True)
        folder = write(audit_made, out, formats=chosen, tables=tables, figures=figures, made_with=decided_by(planned))
        audits.append(audit_made)
        found.append({"folder": str(folder), "report": made(folder), **audit_facts(audit_made)})
        found[-1]["interrupted"] = audit_made.interrupted or None
        found[-1]["fits"] = show.fits_facts(outcomes)
        if not json:
            show.card(audit_made, verbose=verbose)
            typer.echo(f"report: {made(folder)}" if made(folder) else f"tables: {folder}")
        if audit_made.interrupted:
            break
    if json:
        show.as_json(found[0] if len(found) == 1 else found)
    elif len(audits) > 1:
        show.across(audits)
    if audits[-1].interrupted:
        raise typer.Exit(130)
    _fail(audits, unwanted, required)


def _fail(audits: Sequence["Audit"], unwanted: Sequence[Condition], required: Sequence[Condition]) -> None:
    """Exit with code 1 if a condition of the user holds, or a requirement does not."""
    failed = {"--fail-if": holding(unwanted, audits), "--require": lacking(required, audits)}
    for option, said in failed.items():
        if said:
            typer.echo(f"heatcheck: {option}: {said}.", err=True)
    if any(failed.values()):
        raise typer.Exit(1)


def check_replaceable(out: Path, *, overwrite: bool, several: bool = False) -> None:
    """Refuse a folder that exists, unless it holds an audit (or several) and the user asked to replace it."""
    from heatcheck.results import AUDIT

    if not overwrite:
        raise BadInput(f"output folder {out} exists: choose another name with --out, delete it, or add --overwrite.")
    if not (out / (HEATMAPS if several else AUDIT)).is_file():
        raise BadInput(f"--overwrite replaces audits only, and {out} holds none: choose another name with --out.")


def run(
    planned: "Plan", *, shown: bool, workers: int = 0, cluster: str | None = None, keep_interrupted: bool = False
) -> tuple["Audit", list["Outcome"]]:
    """Run a planned audit, with a progress bar if `shown`. Returns the audit and the outcome of each training run.

    With `keep_interrupted`, Ctrl-C ends it with what is known by then.
    """
    from heatcheck.auditing import run_plan
    from heatcheck.cli.progress import watching

    with watching(planned, workers=workers, shown=shown) as watch:
        found = run_plan(
            planned,
            workers=workers,
            cluster=cluster,
            watch=watch.check,
            fitted=watch.fit,
            told=watch.tell,
            keep_interrupted=keep_interrupted,
        )
    return found, watch.outcomes


def made(folder: Path) -> str | None:
    """The path of the first report in a folder; None if only tables were written."""
    there = [folder / name for name in REPORTS.values() if (folder / name).is_file()]
    return str(there[0]) if there else None


def data_of(
    subject: "Subject",
    model: str,
    data: str | None = None,
    reading: "Reading | None" = None,
    *,
    train: str | None = None,
) -> Any:
    """The data to audit on: a task's name, a file, or a corpus read with the user's options.

    Without `data`, the data the model was trained on. The model's own file is read as it was for training.
    """
    from heatcheck.data import AS_IT_IS, is_task, load_task
    from heatcheck.training import own_corpus, read_as_remembered

    reading = reading or AS_IT_IS
    if data is None and subject.id.startswith("hf:"):
        raise BadInput(f"{model} does not record its training data: name the data with --data.")
    task = subject.recipe.task if subject.recipe else subject.id.rpartition("@")[2]
    name = data or task.partition("@")[0]
    if is_task(name):
        return name
    if data is None:
        return own_corpus(task, Path(model), reading)
    if reading != AS_IT_IS:
        return load_task(data, trainable=data == train, **reading._asdict())
    if (corpus := read_as_remembered(data, task, Path(model))) is None:
        return data
    if corpus.source is not None:
        typer.echo(f"heatcheck: {data} is read as it was for training: {corpus.source.reading.options}", err=True)
    return corpus


def read_train(train: str | None, read: Sequence[Any], reading: "Reading") -> Any:
    """The training data named with --train, read with the user's options; a task stays a name."""
    from heatcheck.data import AS_IT_IS, is_task, load_task

    if reading != AS_IT_IS and train is not None and not is_task(train):
        return load_task(train, **reading._asdict())
    if reading != AS_IT_IS and all(isinstance(one, str) and is_task(one) for one in read):
        load_task(read[0], **reading._asdict())  # raises: a task has no columns to choose
    return train


def write(
    found: "Audit",
    out: Path | None,
    *,
    formats: Collection[str] = ("html",),
    tables: str | None = None,
    figures: str | None = None,
    made_with: Mapping[str, Any] | None = None,
) -> Path:
    """Write an audit with its reports and tables into a folder that appears whole or not at all.

    Without `out`, the folder's name is a hash of what decides the audit.
    """
    from heatcheck.auditing import save_audit

    beside = [tables] if tables else [] if {"csv", "parquet"} & set(formats) else ["csv"]

    def draw(folder: Path) -> None:
        try:
            write_formats(found, folder, formats=formats, tables=beside, figures=figures)
        except MissingPackage as error:  # a compute node may lack the packages that draw
            typer.echo(f"heatcheck: no report, only tables: {error}", err=True)
            write_formats(found, folder, formats=[one for one in formats if one != "html"], tables=beside)

    return save_audit(found, out, made_with=made_with, beside=draw)
