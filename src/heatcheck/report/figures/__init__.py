"""The figures of an audit, one file per check, and of a study: drawn by the page's script, or written as SVG or PNG."""

from heatcheck.report.figures.drawing import draw, script, write_figures
from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.study import draw_study, write_study_figures

__all__ = ["Figure", "draw", "draw_study", "script", "write_figures", "write_study_figures"]
