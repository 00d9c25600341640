"""`heatcheck reproduce` and `heatcheck studies`: run a published study again, and list the studies."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from heatcheck.cli.options import AsJson, DataDir, Device
from heatcheck.cli.options import Settings as Set
from heatcheck.cli.packages import source, source_facts
from heatcheck.cli.report import chosen_formats
from heatcheck.errors import BadInput, MissingPackage, UnknownName

if TYPE_CHECKING:
    from heatcheck.results import StudyResult
    from heatcheck.studies import Study

KINDS = {".html": "page", ".csv": "table"}
# Options of earlier versions, each for some of the studies; they are settings now.
ONCE_OPTIONS = (
    "adversary-epochs",
    "attentions",
    "batch-size",
    "encoders",
    "epochs",
    "examples",
    "hidden",
    "model",
    "patience",
    "preset",
    "restarts",
    "shapes",
    "strengths",
    "vectors",
)


class Reproduce(TyperCommand):
    """The command, with a hint for options of earlier versions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for place, word in enumerate(args):
            option, equals, value = word.partition("=")
            if option.removeprefix("--") in ONCE_OPTIONS and option.startswith("--"):
                value = value if equals else next(iter(args[place + 1 :]), "VALUE")
                key = option.removeprefix("--").replace("-", "_")
                raise BadInput(f"reproduce has no option {option}: use --set {key}={value}.")
        return super().parse_args(ctx, args)


def reproduce(
    study: Annotated[str, typer.Argument(help="Study name; see `heatcheck studies`.")],
    tasks: Annotated[
        str | None, typer.Option(help="Tasks, comma-separated.", show_default="all on this machine")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Number of models per kind.", show_default="the study's own")
    ] = None,
    set: Set = None,  # noqa: A002 - the option's name
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
    `heatcheck studies STUDY` lists what --set can change.

    \b
    $ heatcheck reproduce jain2019 --quick
    $ heatcheck reproduce jain2019 --tasks sst --set vectors=glove.6B.300d.txt
    $ heatcheck reproduce vashishth2019 --set vectors=glove.6B.300d.txt --set patience=10 --workers 8
    $ heatcheck reproduce abnar2020 --tasks sst --set model=hf:distilbert-base-uncased

    If a run stops early, run the same command again to resume.
    """
    drawn = () if figures is None else chosen_formats(figures, ("svg", "png", "csv"), "--figures")

    from heatcheck.cli import show, show_study
    from heatcheck.studies import change_settings, run_study
    from heatcheck.training import STORE

    chosen = find_study(study)
    if workers < 0:
        raise BadInput(f"--workers must be 0 or more, not {workers}.")
    given = {"tasks": tasks, "seeds": None if seeds is None else str(seeds)}
    changes = changes_of(set or [], {key: value for key, value in given.items() if value is not None})
    settings = change_settings(chosen, chosen.quick if quick else chosen.settings(), changes)
    folder = out or STORE / "studies" / (f"{study}-quick" if quick else study)
    with show_study.models(shown=not json) as watch:
        found = run_study(chosen, settings, folder, data_dir=data_dir, device=device, workers=workers, progress=watch)
    pages = write(found, folder, figures=drawn)
    if json:
        show.as_json({"folder": str(folder), "files": [str(page) for page in pages], **show_study.study_facts(found)})
        return
    show_study.study(found)
    for page in pages:
        typer.echo(f"{KINDS.get(page.suffix, 'figure')}: {page}")


def find_study(name: str) -> "Study":
    """A study by its name; an unknown name lists the known ones."""
    from heatcheck.studies import STUDIES

    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    return STUDIES[name]


def changes_of(pairs: Sequence[str], options: dict[str, str]) -> dict[str, str]:
    """The settings to change, each given once: as KEY=VALUE, or by an option of its own.

    >>> changes_of(["epochs=3"], {"tasks": "sst"})
    {'tasks': 'sst', 'epochs': '3'}
    """
    changes = dict(options)
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not {pair!r}.")
        if key in options:
            raise BadInput(f"--{key} and --set {key}= both set {key}: leave one out.")
        if key in changes:
            raise BadInput(f"--set {key}= is given twice: leave one out.")
        changes[key] = value
    return changes


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


def studies(
    study: Annotated[
        str | None, typer.Argument(help="Study whose settings to list.", show_default="all studies")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the papers that heatcheck can reproduce, or the settings of one.

    Run one with `heatcheck reproduce STUDY`. Change a setting with `--set KEY=VALUE`.
    """
    from heatcheck.cli import show
    from heatcheck.studies import STUDIES

    keys, known = ("name", "paper", "about", "tasks"), list(STUDIES.values())
    if study is not None:
        one_study(find_study(study), json=json)
    elif json:
        facts = [{**{key: getattr(one, key) for key in keys}, **source_facts(STUDIES, one.name)} for one in known]
        show.as_json(facts)
    else:
        told = [(one.paper, one.about, f"tasks: {', '.join(one.tasks)}", source(STUDIES, one.name)) for one in known]
        rows = [[one.name, "\n".join(filter(None, words)) + "\n"] for one, words in zip(known, told, strict=True)]
        show.table(["study", "paper, question and tasks"], rows)


def one_study(study: "Study", *, json: bool) -> None:
    """Print a study's paper, question, tasks and settings."""
    from heatcheck.cli import show
    from heatcheck.studies import settings_facts

    settings = settings_facts(study)
    if json:
        keys = ("name", "title", "paper", "about", "tasks")
        show.as_json({**{key: getattr(study, key) for key in keys}, "settings": settings})
        return
    typer.echo(f"{study.paper}\n{study.about}\ntasks: {', '.join(study.tasks)}\n")
    rows = [[one["name"], one["help"], _default(one), _quick(one)] for one in settings]
    show.table(["setting", "meaning", "default", "with --quick"], rows)
    typer.echo(f"\nChange one: heatcheck reproduce {study.name} --set KEY=VALUE. Commas separate several values.")


def _default(setting: dict[str, Any]) -> str:
    from heatcheck.cli import show

    shown = "none" if setting["default"] is None else show.setting(setting["default"])
    return f"{shown} ({setting['none']})" if setting["default"] is None else shown


def _quick(setting: dict[str, Any]) -> str:
    from heatcheck.cli import show

    return "" if setting["quick"] == setting["default"] else show.setting(setting["quick"])
