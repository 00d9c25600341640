"""`heatcheck audit --heatmaps`: audit several heatmaps of one model, and write them as one report."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heatcheck.errors import MissingPackage

if TYPE_CHECKING:
    from heatcheck.auditing import Plan
    from heatcheck.results import HeatmapAudits, Line

HEATMAPS = "heatmaps.json"  # in a folder that holds several audits of one model: the comparison's numbers
PAGES = {"html": "report.html", "md": "report.md"}


def run_heatmaps(plans: Sequence["Plan"], *, workers: int, cluster: str | None, shown: bool) -> "HeatmapAudits":
    """Run the plans one after the other; Ctrl-C ends them all."""
    from heatcheck.auditing import named
    from heatcheck.cli.audit import run
    from heatcheck.results import HeatmapAudits

    audits = {}
    for number, (name, plan) in enumerate(named(plans).items(), 1):
        if shown:
            typer.echo(f"heatmap {number} of {len(plans)}: {name}", err=True)
        audits[name] = run(plan, workers=workers, cluster=cluster, shown=shown)[0]
    return HeatmapAudits(audits)


def write_heatmaps(
    found: "HeatmapAudits",
    plans: Sequence["Plan"],
    out: Path | None,
    *,
    formats: Collection[str],
    tables: str | None,
    figures: str | None,
) -> Path:
    """Write one report, and each audit in a folder of its own, into a folder that appears whole or not at all."""
    from heatcheck.auditing import audit_id, decided_by
    from heatcheck.cli.report import write_formats
    from heatcheck.engine import content_id, whole_folder
    from heatcheck.report import write_comparison
    from heatcheck.report.comparison import compare
    from heatcheck.results import keep_audit
    from heatcheck.training import STORE

    audits = list(found.audits.values())
    ids = [audit_id(audit, decided_by(plan)) for audit, plan in zip(audits, plans, strict=True)]
    target = out or STORE / "audits" / content_id({"heatmaps": ids})
    replace = target.is_dir() and (out is None or (target / HEATMAPS).is_file())
    beside = [tables] if tables else [] if {"csv", "parquet"} & set(formats) else ["csv"]
    compared = compare(found)
    with whole_folder(target, resume=False, replace=replace) as scratch:
        for audit, folder in zip(audits, folders(plans), strict=True):
            keep_audit(audit, scratch / folder)
            pages = [one for one in formats if one not in PAGES]  # the page of each is in the one for all
            write_formats(audit, scratch / folder, formats=pages, tables=beside, figures=figures)
        write_comparison(compared, scratch / HEATMAPS)
        for one, name in PAGES.items():
            try:
                if one in formats:
                    write_comparison(compared, scratch / name)
            except MissingPackage as error:  # a compute node may lack the packages that draw
                typer.echo(f"heatcheck: no {name}, only tables: {error}", err=True)
    return target


def folders(plans: Sequence["Plan"]) -> list[str]:
    """A folder's name for each heatmap."""
    short = [re.sub(r"[^\w.]+", "-", plan.case.heatmap.name) for plan in plans]
    return [name if short.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(short, 1)]


def _said(line: "Line") -> str:
    """A line's answer, and under it the number behind it, if it has one."""
    return line.badge if line.strip is None or line.moot else f"{line.badge}\n{line.strip.number}"


def show_heatmaps(found: "HeatmapAudits", folder: Path, *, as_json: bool, verbose: bool) -> None:
    """Print the answer, then one row per heatmap; or everything as JSON."""
    from heatcheck.cli import show
    from heatcheck.report.comparison_page import heatmap_table
    from heatcheck.results import audit_facts

    pages = [str(folder / name) for name in PAGES.values() if (folder / name).is_file()]
    if as_json:
        each = [{"heatmap": name, **audit_facts(audit)} for name, audit in found.audits.items()]
        show.as_json({"answer": found.answer, "folder": str(folder), "report": next(iter(pages), None), "audits": each})
        return
    if verbose:
        for audit in found.audits.values():
            show.card(audit, verbose=True)
            typer.echo("")
    first = next(iter(found.audits.values()))
    typer.echo(f"Which of these heatmaps of {first.subject} can be read?")
    typer.echo(found.answer)
    every = [line.short for line in (*first.card.in_reading_order, *first.card.apart)]
    lines = [short for short in every if any(audit.card[short].state != "not run" for audit in found.audits.values())]
    rows = [[name, *(_said(audit.card[short]) for short in lines)] for name, audit in found.audits.items()]
    show.table(["heatmap", *lines], rows, heatmap_table(found).caption)
    left = f" Not run: {', '.join(one for one in every if one not in lines)}." if len(lines) < len(every) else ""
    typer.echo(f"The columns are the questions of the card; the report has them in full.{left}")
    typer.echo(f"report: {pages[0]}" if pages else f"tables: {folder}")
