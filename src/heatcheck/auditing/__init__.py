"""Audits: run the checks on one model, answer questions about its heatmaps, and test such answers on known models."""

from heatcheck.auditing.chosen_settings import choose_settings
from heatcheck.auditing.heatmaps import audit_heatmaps, named, plan_heatmaps
from heatcheck.auditing.lines import LINES, CardSettings, LineRule, make_card
from heatcheck.auditing.over_models import OverModels, over_models
from heatcheck.auditing.planning import Plan, Planned, plan_audit
from heatcheck.auditing.retraining import made_up
from heatcheck.auditing.retraining_costs import PlannedFit, at_most, plan_fits
from heatcheck.auditing.running import audit, run_checks, run_plan
from heatcheck.auditing.saving import audit_id, decided_by, save_audit
from heatcheck.auditing.shards import in_shards, seconds_in_parallel

__all__ = [
    "LINES",
    "CardSettings",
    "LineRule",
    "OverModels",
    "Plan",
    "Planned",
    "PlannedFit",
    "at_most",
    "audit",
    "audit_heatmaps",
    "audit_id",
    "choose_settings",
    "decided_by",
    "in_shards",
    "made_up",
    "make_card",
    "named",
    "over_models",
    "plan_audit",
    "plan_fits",
    "plan_heatmaps",
    "run_checks",
    "run_plan",
    "save_audit",
    "seconds_in_parallel",
]
