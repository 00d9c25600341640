"""`heatcheck report`: write a saved audit as reports and tables; other commands write theirs with these functions."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatcheck.cli.options import AsJson
from heatcheck.errors import BadInput

if TYPE_CHECKING:
    from heatcheck.results import Audit

FORMATS = ("html", "md", "json", "csv", "parquet")
FIGURES = ("svg", "png", "pdf", "csv")
REPORTS = {"html": "report.html", "md": "report.md", "json": "report.json"}

Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="Report formats, comma-separated: html, md (no figures), json (everything in one file), csv or parquet "
        "(tables only).",
    ),
]
Figures = Annotated[
    str | None,
    typer.Option(help="Formats of separate figure files, comma-separated: svg, png, pdf, or csv (plotted numbers)."),
]


def report(
    run: Annotated[Path, typer.Argument(help="Audit folder.")],
    formats: Format = "html",
    figures: Figures = None,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="the audit folder")] = None,
    json: AsJson = False,
) -> None:
    """Write the report of a finished audit again.

    heatcheck reads the audit folder; it needs neither the model nor the data.

    \b
    $ heatcheck report heatcheck-out/audits/3c30f70e6ea2 --format md,json
    $ heatcheck report heatcheck-out/audits/3c30f70e6ea2 --figures svg --out paper
    """
    chosen = chosen_formats(formats)
    check_figures(figures)

    from heatcheck.cli import show
    from heatcheck.results import read_audit

    audit = read_audit(run)
    written = write_formats(audit, out or run, formats=chosen, figures=figures)
    if json:
        show.as_json({"subject": audit.subject, "files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(str(path))


def chosen_formats(text: str, known: Collection[str] = FORMATS, option: str = "--format") -> tuple[str, ...]:
    """The parts of a comma-separated option, each once.

    >>> chosen_formats("html, md")
    ('html', 'md')
    """
    found = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for one in found:
        if one not in known:
            raise BadInput(f"{option} takes {', '.join(known)}, not {one!r}.")
    return found


def check_figures(figures: str | None) -> None:
    if figures is not None:
        chosen_formats(figures, FIGURES, "--figures")


def write_formats(
    audit: "Audit", folder: Path, *, formats: Collection[str], tables: Collection[str] = (), figures: str | None = None
) -> list[Path]:
    """Write an audit as reports and tables; `tables` are further formats of the tables."""
    from heatcheck.report import write_figures, write_markdown, write_numbers, write_report, write_tables

    written = []
    if "html" in formats:
        written.append(write_report(audit, folder / REPORTS["html"]))
    if "md" in formats:
        written.append(write_markdown(audit, folder / REPORTS["md"]))
    if "json" in formats:
        written.append(write_numbers(audit, folder / REPORTS["json"]))
    for suffix in dict.fromkeys([*(one for one in formats if one in ("csv", "parquet")), *tables]):
        written += write_tables(audit, folder, suffix=suffix)
    for suffix in chosen_formats(figures, FIGURES, "--figures") if figures else ():
        written += write_figures(audit, folder / "figures", suffix=suffix)
    return written
