"""The battery of checks and the card they give."""

from heatcheck.auditing.battery import Plan, Planned, audit, plan_audit, run_checks, run_plan
from heatcheck.auditing.choices import choose_settings
from heatcheck.auditing.fitting_again import made_up
from heatcheck.auditing.lines import LINES, CardSettings, LineRule, make_card
from heatcheck.auditing.other_fits import PlannedFit, plan_fits
from heatcheck.auditing.over_models import OverModels, over_models
from heatcheck.auditing.saving import audit_id, decided_by, save_audit

__all__ = [
    "LINES",
    "CardSettings",
    "LineRule",
    "OverModels",
    "Plan",
    "Planned",
    "PlannedFit",
    "audit",
    "audit_id",
    "choose_settings",
    "decided_by",
    "made_up",
    "make_card",
    "over_models",
    "plan_audit",
    "plan_fits",
    "run_checks",
    "run_plan",
    "save_audit",
]
