"""Direct logit attribution: what each head, MLP and embedding itself adds to one logit less another.

The final norm's scale is held, and all else behind a part is linear; so the parts add up to the difference. What a part
does through later layers does not count.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.errors import NotSupported
from heatcheck.models.contract.opened import OpensItsHeads

CLOSE = 0.02  # of the parts' sizes: what half precision may lose, and a forgotten part does not fit in


@dataclass(frozen=True)
class DirectEffects:
    """What each part adds to a token's logit less another token's, in logits."""

    names: tuple[str, ...]
    effects: Float[np.ndarray, "example item"]
    difference: Float[np.ndarray, " example"]  # of the model's own logits

    def of(self, name: str) -> Float[np.ndarray, " example"]:
        return np.asarray(self.effects[:, self.names.index(name)])


@torch.no_grad()
def direct_effects(
    subject: OpensItsHeads,
    batch: Batch,
    rows: Int[Tensor, " example"],
    answers: Int[Tensor, " example"],
    others: Int[Tensor, " example"],
) -> DirectEffects:
    """What adds up to logit(answer) − logit(other), read from one token of each example.

    Args:
        rows: the place of that token.
        answers: ids of the tokens whose logits are explained.
        others: ids of the tokens that these are compared with.
    """
    ends, stream = subject.ends(), subject.stream(batch, rows)
    towards = (ends.unembedding[answers] - ends.unembedding[others]).double()
    effects = torch.einsum("eis,es->ei", stream.parts.double(), towards) / stream.scale.double()
    constants = (ends.constant[answers] - ends.constant[others]).double()
    effects = torch.cat([effects, constants[:, None]], dim=1)
    example = torch.arange(len(batch), device=rows.device)
    difference = (stream.logits[example, answers] - stream.logits[example, others]).double()
    gap = (effects.sum(1) - difference).abs()
    if bool((gap > CLOSE * effects.abs().sum(1).clamp(min=1e-6)).any()):
        raise NotSupported(f"the parts of {subject.id} that heatcheck knows do not add up to its logits.")
    return DirectEffects((*stream.names, "constants"), effects.cpu().numpy(), difference.cpu().numpy())
