"""AttnLRP: relevance of each token to the predicted label's logit, also through the attention weights.

Achtibat et al. 2024 (ICML), in the form of one backward pass: relevance is input · gradient. The norms' scales and the
activations' slopes act(z)/z are constants. A product of two gives half to each: activation and gate, weights and
values, queries and keys. So values get ½ of their gradient, queries and keys ¼. The softmax keeps its own gradient.

The rules keep relevance everywhere but at two places: biases take some, and the softmax gives its scores x (R − s Σ R),
which does not sum to Σ R. `Parts.rest` is both together.
"""

from collections.abc import Mapping
from typing import Any

from heatcheck.data import Batch
from heatcheck.explainers.logit_parts import Parts, explain_by_rules, parts_by_rules
from heatcheck.explainers.scores import of_label
from heatcheck.models import Subject


def _rules() -> Mapping[Any, Any]:
    from heatcheck.models.hf.backward import ATTNLRP  # transformers takes a second to import

    return ATTNLRP


def attnlrp_parts(subject: Subject, batch: Batch, label: int | None = None) -> Parts:
    """Each token's relevance to a label's logit (None: the predicted one), and what biases and softmaxes keep."""
    return parts_by_rules(subject, batch, "attnlrp", _rules, label)


attnlrp = of_label(
    "attnlrp",
    "relevance of the token to the predicted label's logit through all layers, attention weights included",
    explain_by_rules("attnlrp", _rules),
    signed=True,
    paper="Achtibat et al. 2024",
)
