"""`heatcheck compare`: put the audits of several models side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatcheck.cli.options import AsJson
from heatcheck.cli.report import chosen_formats
from heatcheck.errors import BadInput, MissingPackage

if TYPE_CHECKING:
    from heatcheck.report.comparison import Comparison
    from heatcheck.report.comparison_page import Cell
    from heatcheck.results import Audit

FORMATS = ("html", "md", "json", "csv")


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Audit folders, 2 to 6.")],
    out: Annotated[Path | None, typer.Option(help="Output file.", show_default="comparison.html")] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Output formats, comma-separated: html, md, json or csv.",
            show_default="the ending of --out, or html",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare finished audits side by side.

    heatcheck runs nothing: it reads the audit folders. It also says whether their numbers can be compared at all.
    Differences per example are relative to the first audit.

    \b
    $ heatcheck compare audits/lstm audits/bert
    $ heatcheck compare audits/lstm audits/bert audits/cnn --out three.html
    """
    paths = _files(out, formats)

    from heatcheck.cli import show
    from heatcheck.report import write_comparison
    from heatcheck.report.comparison import MOST
    from heatcheck.report.comparison import compare as set_side_by_side
    from heatcheck.report.comparison_page import comparison_facts
    from heatcheck.results import read_audit

    if not 2 <= len(runs) <= MOST:
        raise BadInput(f"compare takes 2 to {MOST} audit folders, not {len(runs)}.")
    for at, run in enumerate(runs):
        if run.resolve() in [other.resolve() for other in runs[:at]]:
            raise BadInput(f"{run} is named twice: name each audit once.")
    audits = names_of(runs, [read_audit(run) for run in runs])
    found = set_side_by_side(audits)
    if not json:
        _say(found)
    written = []
    for path in paths:
        try:
            written.append(write_comparison(found, path))
        except MissingPackage as error:  # a compute node may lack the packages that draw
            typer.echo(f"heatcheck: no {path.name}: {error}", err=True)
    if json:
        show.as_json({"files": [str(path) for path in written], **comparison_facts(found)})
        return
    for path in written:
        typer.echo(f"comparison: {path}")


def names_of(runs: Sequence[Path], audits: Sequence["Audit"]) -> dict[str, "Audit"]:
    """Audits by model name, which says if one was interrupted; two of the same name also get their folder's name."""
    subjects = [f"{audit.subject} (interrupted)" if audit.interrupted else audit.subject for audit in audits]
    doubtful = {subject for subject in subjects if subjects.count(subject) > 1}
    names = [
        f"{subject} ({run.resolve().name})" if subject in doubtful else subject
        for subject, run in zip(subjects, runs, strict=True)
    ]
    if len(set(names)) < len(names):  # folders of one name in different places
        names = [f"{subject} ({run})" for subject, run in zip(subjects, runs, strict=True)]
    return dict(zip(names, audits, strict=True))


def _files(out: Path | None, formats: str | None) -> list[Path]:
    """The output file of each format.

    >>> [str(path) for path in _files(Path("mine.md"), None) + _files(None, "html,csv")]
    ['mine.md', 'comparison.html', 'comparison.csv']
    """
    ending = out.suffix.lstrip(".").lower() if out is not None else ""
    if ending and ending not in FORMATS:
        raise BadInput(f"--out must end in {', '.join(f'.{one}' for one in FORMATS)}, not .{ending}.")
    chosen = chosen_formats(formats or ending or "html", FORMATS)
    if ending and ending not in chosen:
        raise BadInput(
            f"--out {out} does not match --format {','.join(chosen)}: change its ending, or use --format {ending}."
        )
    if out is not None and out.is_dir():
        raise BadInput(f"--out {out} is a folder: name a file in it.")
    stem = out.with_suffix("") if out is not None and ending else out or Path("comparison")
    return [stem.with_name(f"{stem.name}.{one}") for one in chosen]


def _say(found: "Comparison") -> None:
    """Print the answers in a table, whether they can be compared, and how the audits differ."""
    from heatcheck.cli import show
    from heatcheck.report.comparison_page import card_rows

    rows = [
        [f"{row.name}{'' if row.alike else ' *'}", *(_said(cell) for cell in row.cells)] for row in card_rows(found)
    ]
    show.table(["", *found.names], rows)
    if any(not row.alike for row in card_rows(found)):
        typer.echo("* These numbers cannot be compared: the columns hold different statistics.")
    typer.echo(f"\n{found.statement}")
    for told, kind in ((found.differing, "differs"), (found.lacking, "missing in some")):
        for one in told:
            of_models = "; ".join(f"{name}: {value}" for name, value in zip(found.names, one.values, strict=True))
            typer.echo(f"{kind}: {one.what} ({of_models})")
    typer.echo("")


def _said(cell: "Cell") -> str:
    """A line's state, statistic, interval and n."""
    from heatcheck.report.measurement_words import counted
    from heatcheck.results.written import in_brief

    if not cell.line.evidence:
        return cell.line.state
    m = cell.line.evidence[0]
    return f"{cell.line.state}\n{m.name} = {in_brief(m)}\nn = {counted(m)}"
