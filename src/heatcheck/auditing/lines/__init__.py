"""The questions that an audit answers about a heatmap (the lines of its card): one file each, one row in `LINES`."""

from heatcheck.auditing.lines.across import judge_across
from heatcheck.auditing.lines.card import LINES, judge_lines, lines_decided_by, lines_decided_by_fits, make_card
from heatcheck.auditing.lines.hard import judge_hard
from heatcheck.auditing.lines.necessary import judge_necessary
from heatcheck.auditing.lines.out_of_context import judge_out_of_context
from heatcheck.auditing.lines.plausible import judge_plausible
from heatcheck.auditing.lines.points import judge_points
from heatcheck.auditing.lines.rule import CardSettings, LineRule

__all__ = [
    "LINES",
    "CardSettings",
    "LineRule",
    "judge_across",
    "judge_hard",
    "judge_lines",
    "judge_necessary",
    "judge_out_of_context",
    "judge_plausible",
    "judge_points",
    "lines_decided_by",
    "lines_decided_by_fits",
    "make_card",
]
