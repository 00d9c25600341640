"""GIM: input · gradient, with a gradient that does not hide scores which others stand in for.

Edin et al. 2025, Gradient Interaction Modifications. The backward pass has three changes: the norms' scales are
constants; the softmax of attention has the gradient of a softer one (temperature 2), s (g − Σ s g); and each factor of
a product gets half: values ½, queries and keys ¼, activation and gate ½ each. Activations keep their own gradient.

The authors' tool subtracts a baseline's embedding from the token's. A text has no natural baseline here, so heatcheck
takes zero, and starts at the input of the first block, as `decompx` does. Scores do not sum to the logit.
"""

from collections.abc import Mapping
from typing import Any

from heatcheck.data import Batch
from heatcheck.explainers.logit_parts import Parts, explain_by_rules, parts_by_rules
from heatcheck.explainers.scores import of_label
from heatcheck.models import Subject


def _rules() -> Mapping[Any, Any]:
    from heatcheck.models.hf.backward import GIM  # transformers takes a second to import

    return GIM


def gim_parts(subject: Subject, batch: Batch, label: int | None = None) -> Parts:
    """Each token's input · gradient for a label's logit (None: the predicted one), and the rest of the logit."""
    return parts_by_rules(subject, batch, "gim", _rules, label)


gim = of_label(
    "gim",
    "embedding · gradient, where norms' scales are constants and the gradient of attention is that of a softer softmax",
    explain_by_rules("gim", _rules),
    signed=True,
    paper="Edin et al. 2025",
)
