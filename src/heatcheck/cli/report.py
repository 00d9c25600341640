"""`heatcheck report`, and how every command writes an audit in several formats."""

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
        help="Comma-separated: html (the page), md (the same without figures), json (everything in one file), csv or "
        "parquet (tables).",
    ),
]
Figures = Annotated[
    str | None,
    typer.Option(help="Save the figures too, comma-separated: svg, png, pdf, or csv for the numbers drawn."),
]


def report(
    run: Annotated[Path, typer.Argument(help="The folder of an audit.")],
    formats: Format = "html",
    figures: Figures = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write into.", show_default="the audit's own")] = None,
    json: AsJson = False,
) -> None:
    """Draw an audit again from what it kept, without running anything.

    heatcheck report heatcheck-out/audits/3c30f70e6ea2 --format md,json

    heatcheck report heatcheck-out/audits/3c30f70e6ea2 --figures svg --out paper
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
    """What a comma-separated option names, each once.

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
    """An audit as reports and tables; `tables` are further formats of these."""
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
