"""The battery of checks and the card they give."""

from heatcheck.auditing.across import judge_across
from heatcheck.auditing.battery import Audit, Looked, Plan, Planned, audit, plan_audit, run_plan
from heatcheck.auditing.choices import choose_settings
from heatcheck.auditing.fitting_again import made_up
from heatcheck.auditing.hard import judge_hard
from heatcheck.auditing.kept import AUDIT, keep_audit, read_audit
from heatcheck.auditing.line import (
    ACROSS,
    HARD,
    NECESSARY,
    OUT_OF_CONTEXT,
    PLAUSIBLE,
    POINTS,
    CardSettings,
    Line,
    State,
    interval,
)
from heatcheck.auditing.necessary import judge_necessary
from heatcheck.auditing.other_fits import PlannedFit, plan_fits
from heatcheck.auditing.out_of_context import judge_out_of_context
from heatcheck.auditing.plausible import judge_plausible
from heatcheck.auditing.points import judge_points
from heatcheck.auditing.verdict import SHORT, STATES, Card, make_card

__all__ = [
    "ACROSS",
    "AUDIT",
    "HARD",
    "NECESSARY",
    "OUT_OF_CONTEXT",
    "PLAUSIBLE",
    "POINTS",
    "SHORT",
    "STATES",
    "Audit",
    "Card",
    "CardSettings",
    "Line",
    "Looked",
    "Plan",
    "Planned",
    "PlannedFit",
    "State",
    "audit",
    "choose_settings",
    "interval",
    "judge_across",
    "judge_hard",
    "judge_necessary",
    "judge_out_of_context",
    "judge_plausible",
    "judge_points",
    "keep_audit",
    "made_up",
    "make_card",
    "plan_audit",
    "plan_fits",
    "read_audit",
    "run_plan",
]
