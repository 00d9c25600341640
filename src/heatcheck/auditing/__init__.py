"""The battery of checks and the card they give."""

from heatcheck.auditing.battery import Audit, Looked, Plan, Planned, audit, plan_audit, run_plan
from heatcheck.auditing.choices import choose_settings
from heatcheck.auditing.verdict import Card, CardSettings, Line, State, judge_points, make_card

__all__ = [
    "Audit",
    "Card",
    "CardSettings",
    "Line",
    "Looked",
    "Plan",
    "Planned",
    "State",
    "audit",
    "choose_settings",
    "judge_points",
    "make_card",
    "plan_audit",
    "run_plan",
]
