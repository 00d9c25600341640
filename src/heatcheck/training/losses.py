"""What a model is trained for. A new loss is one function and one line in LOSSES."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.models import Run

Loss = Callable[[Run, Batch, Facts], Float[Tensor, " example"]]


def likelihood(run: Run, batch: Batch, facts: Facts) -> Float[Tensor, " example"]:
    """Negative log-likelihood in nats, a mean over an example's decisions; weighted by gold label if asked."""
    if batch.gold is None:
        raise BadInput("training needs a label for every example.")
    each = torch.nn.functional.cross_entropy(
        run.logits.transpose(1, 2), batch.gold, reduction="none", ignore_index=-100
    )  # [example decision]
    if (weight := facts.get("label_weight")) is not None:
        each = each * torch.tensor(weight, device=each.device)[batch.gold.clamp(min=0)]
    decisions: Tensor = (batch.gold != -100).sum(1).clamp(min=1)
    return each.sum(1) / decisions


LOSSES: dict[str, Loss] = {"likelihood": likelihood}
