"""The battery of checks and the card they give."""

from heatcheck.auditing.across import judge_across
from heatcheck.auditing.battery import Plan, Planned, audit, plan_audit, run_plan
from heatcheck.auditing.choices import choose_settings
from heatcheck.auditing.fitting_again import made_up
from heatcheck.auditing.hard import judge_hard
from heatcheck.auditing.line import CardSettings, interval
from heatcheck.auditing.necessary import judge_necessary
from heatcheck.auditing.other_fits import PlannedFit, plan_fits
from heatcheck.auditing.out_of_context import judge_out_of_context
from heatcheck.auditing.plausible import judge_plausible
from heatcheck.auditing.points import judge_points
from heatcheck.auditing.verdict import STATES, make_card

__all__ = [
    "STATES",
    "CardSettings",
    "Plan",
    "Planned",
    "PlannedFit",
    "audit",
    "choose_settings",
    "interval",
    "judge_across",
    "judge_hard",
    "judge_necessary",
    "judge_out_of_context",
    "judge_plausible",
    "judge_points",
    "made_up",
    "make_card",
    "plan_audit",
    "plan_fits",
    "run_plan",
]
