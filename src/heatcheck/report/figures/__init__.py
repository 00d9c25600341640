"""The figures of an audit, one file per check: drawn by the page's script, or written as SVG or PNG."""

from heatcheck.report.figures.drawing import draw, script, write_figures
from heatcheck.report.figures.figure import Figure

__all__ = ["Figure", "draw", "script", "write_figures"]
