"""The battery of checks and the card they give."""

from heatcheck.auditing.battery import Plan, Planned, audit, plan_audit, run_plan
from heatcheck.auditing.choices import choose_settings
from heatcheck.auditing.fitting_again import made_up
from heatcheck.auditing.lines import LINES, CardSettings, LineRule, make_card
from heatcheck.auditing.other_fits import PlannedFit, plan_fits

__all__ = [
    "LINES",
    "CardSettings",
    "LineRule",
    "Plan",
    "Planned",
    "PlannedFit",
    "audit",
    "choose_settings",
    "made_up",
    "make_card",
    "plan_audit",
    "plan_fits",
    "run_plan",
]
