"""Treatments judged: treated models beside untreated ones, line by line of the card."""

from heatcheck.auditing.treating.judging import Judged, Trio, judge
from heatcheck.auditing.treating.numbers import LineNumbers, ModelNumbers, measure_model
from heatcheck.auditing.treating.plan import TreatmentPlan, plan_treatments
from heatcheck.auditing.treating.running import gather, run_treatments

__all__ = [
    "Judged",
    "LineNumbers",
    "ModelNumbers",
    "TreatmentPlan",
    "Trio",
    "gather",
    "judge",
    "measure_model",
    "plan_treatments",
    "run_treatments",
]
