"""All figures of an audit, and those that compare several audits; each check's file in report/checks draws its own."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.files import encoder_of, write_each
from heatcheck.report.view import in_order, view_of
from heatcheck.results import Audit, CheckResult


def draw(audit: Audit) -> list[Figure]:
    """Draw all figures that have data."""
    found = (
        maker(audit.results[check], _predicted(audit, audit.results[check]))
        for check in in_order(audit.results)
        for maker in view_of(check).figures
    )
    return [figure for figure in found if figure]


def draw_comparison(audits: Mapping[str, Audit]) -> list[Figure]:
    """Every figure that at least two of the audits have results for; a model keeps its look in all of them."""
    found = []
    for check in in_order(dict.fromkeys(check for audit in audits.values() for check in audit.results)):
        results = {name: audit.results[check] for name, audit in audits.items() if check in audit.results}
        makers = view_of(check).comparison_figures if len(results) > 1 else ()
        found += [figure for maker in makers if (figure := maker(results, list(audits)))]
    return found


def _predicted(audit: Audit, result: CheckResult) -> dict[str, str]:
    """The predicted label of each text; from the check, if it measured more texts than the audit shows."""
    shown = {looked.id: looked.predicted for looked in audit.examples if looked.predicted is not None}
    known, labels = result.per_example.get("predicted", ()), audit.labels or ()
    return shown | {
        example: labels[int(at)] for example, at in zip(result.examples, known, strict=False) if 0 <= at < len(labels)
    }


def write_figures(audit: Audit, folder: Path | str, *, suffix: str | Sequence[str]) -> list[Path]:
    """Write every figure of the report as svg, png or pdf, or the numbers each is drawn from as csv.

    Args:
        suffix: one format, or several as a list or comma-separated.
    """
    suffixes = [one.strip() for one in (suffix.split(",") if isinstance(suffix, str) else suffix)]
    for one in suffixes:
        encoder_of(one)  # a wrong name is said before anything is written
    figures = list(draw(audit))
    return [path for one in suffixes for path in write_each(figures, folder, suffix=one)]
