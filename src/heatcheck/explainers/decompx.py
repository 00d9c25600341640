"""Scores like DecompX's: what each token adds to the predicted label's logit through the network, by one backward pass.

If attention weights, the norms' scales and the activations' slopes are treated as constants, the logit is linear in the
input of the first block, plus what biases add. e · dy/de is then DecompX without its distribution of biases, and CP-LRP
as gradient × input. Scores do not sum to the logit: `Parts.rest` is what biases add.
"""

from collections.abc import Mapping
from typing import Any

from heatcheck.data import Batch
from heatcheck.explainers.logit_parts import Parts, explain_by_rules, parts_by_rules
from heatcheck.explainers.scores import of_label
from heatcheck.models import Subject


def _rules() -> Mapping[Any, Any]:
    from heatcheck.models.hf.backward import LINEAR  # transformers takes a second to import

    return LINEAR


def logit_parts(subject: Subject, batch: Batch, label: int | None = None) -> Parts:
    """Each token's share in the logit of a label (None: the predicted one), and the share of the biases."""
    return parts_by_rules(subject, batch, "decompx", _rules, label)


decompx = of_label(
    "decompx",
    "what the token adds to the predicted label's logit through all layers, MLPs included; biases are left out",
    explain_by_rules("decompx", _rules),
    signed=True,
    paper="Modarressi et al. 2023 without biases; CP-LRP (Ali et al. 2022)",
)
