"""The figures of a study, as its file in report/studies lists them."""

from pathlib import Path

from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.files import write_each
from heatcheck.report.studies import view_of_study
from heatcheck.results import StudyResult


def draw_study(found: StudyResult) -> list[Figure]:
    """All figures of the study that have something to show."""
    makers = [make for chapter in view_of_study(found.name).chapters for make in chapter.figures]
    return [figure for make in makers if (figure := make(found))]


def write_study_figures(found: StudyResult, folder: Path | str, *, suffix: str) -> list[Path]:
    """Write every figure of the study as svg or png, or the numbers each is drawn from as csv."""
    return write_each(draw_study(found), folder, suffix=suffix)
