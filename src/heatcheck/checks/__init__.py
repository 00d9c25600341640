"""The questions, one a file."""

from heatcheck.checks.agreement import agreement
from heatcheck.checks.case import Case
from heatcheck.checks.counterfactual import counterfactual
from heatcheck.checks.erasure import erasure
from heatcheck.checks.log_odds import log_odds
from heatcheck.checks.permutation import permutation
from heatcheck.checks.result import Check, CheckResult, Holds, Measurement

__all__ = ["CHECKS", "Case", "Check", "CheckResult", "Holds", "Measurement"]

CHECKS: dict[str, Check] = {
    "agreement": agreement,
    "counterfactual": counterfactual,
    "erasure": erasure,
    "log_odds": log_odds,
    "permutation": permutation,
}
