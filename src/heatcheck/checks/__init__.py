"""The checks: each puts one question about attention weights to a model and measures the answer. One file each."""

from heatcheck.checks.adversarial_model import adversarial_model
from heatcheck.checks.agreement import agreement
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check
from heatcheck.checks.counterfactual import counterfactual
from heatcheck.checks.deception import deception
from heatcheck.checks.dynamics import dynamics
from heatcheck.checks.eraser import eraser
from heatcheck.checks.erasure import erasure
from heatcheck.checks.flips import flips
from heatcheck.checks.gauge import gauge
from heatcheck.checks.guide import guide
from heatcheck.checks.heads import heads
from heatcheck.checks.identifiability import identifiability
from heatcheck.checks.layers import layers
from heatcheck.checks.log_odds import log_odds
from heatcheck.checks.mechanism import mechanism
from heatcheck.checks.mixing import mixing
from heatcheck.checks.necessity import necessity
from heatcheck.checks.permutation import permutation
from heatcheck.checks.perturbation import perturbation
from heatcheck.checks.plausibility import plausibility
from heatcheck.checks.roles import roles
from heatcheck.checks.seed_variance import seed_variance
from heatcheck.checks.states import states
from heatcheck.engine import Plugged

__all__ = ["CHECKS", "Case", "Check"]

CHECKS: dict[str, Check] = {
    "adversarial_model": adversarial_model,
    "agreement": agreement,
    "counterfactual": counterfactual,
    "deception": deception,
    "dynamics": dynamics,
    "eraser": eraser,
    "erasure": erasure,
    "flips": flips,
    "gauge": gauge,
    "guide": guide,
    "heads": heads,
    "identifiability": identifiability,
    "layers": layers,
    "log_odds": log_odds,
    "mechanism": mechanism,
    "mixing": mixing,
    "necessity": necessity,
    "permutation": permutation,
    "perturbation": perturbation,
    "plausibility": plausibility,
    "roles": roles,
    "seed_variance": seed_variance,
    "states": states,
}
CHECKS = Plugged("heatcheck.checks", Check, CHECKS)
