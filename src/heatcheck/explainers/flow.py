"""Attention flow: the maximum flow from each input token to the token the answer is read from; weights are capacities.

Abnar & Zuidema 2020. There is one maximum-flow problem per token, each solved as if it had the network to itself; the
flows are then divided by their sum. So they are not shares of one flow: together they may exceed the read-out's
capacity. (One flow to all tokens at once is at most 1 and not unique; rollout is such a flow. Ethayarajh & Jurafsky
2021 interpret the flows of one fixed maximum flow as Shapley values.) In a deep bidirectional network the flow is
mostly min(1, column sum of the first layer): then it says nothing about the layers above, nor about which token asked.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.layers import mean_attention
from heatcheck.explainers.rollout import with_residual
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Subject, require_stack
from heatcheck.stats.max_flow import max_flows


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The exact flow from the read-out's token to each input token, as a share of the sum over all tokens."""
    layered = require_stack(subject, "flow")

    def score(batch: Batch) -> Float[Tensor, "example token"]:
        run, attention = mean_attention(layered, batch)
        capacity, valid = with_residual(attention).cpu().numpy(), batch.valid.cpu().numpy()
        found = np.zeros(valid.shape)
        readers = run.readers(valid.shape[1]).cpu().numpy()
        for place, (layers, real, shares) in enumerate(zip(capacity, valid, readers, strict=True)):
            # Nothing flows through padding, and the solver need not find that out.
            own = layers[:, real][:, :, real]
            for row in np.flatnonzero(shares):
                found[place, real] += shares[row] * shares_of_flow(own, int(real[:row].sum()))
        return torch.from_numpy(found)

    return explain_tokens(subject, examples, score)


def shares_of_flow(capacity: Float[np.ndarray, "layer query key"], source: int) -> Float[np.ndarray, " key"]:
    """Maximum flows from one token to each, divided by their sum.

    >>> shares_of_flow(np.array([[[0.75, 0.25], [0.5, 0.5]]]), source=0).tolist()
    [0.75, 0.25]
    """
    flows = max_flows(capacity, source)
    return np.asarray(flows / flows.sum())


flow = Explainer(
    "flow",
    "maximum flow from the read-out to each word, with the weights as capacities (exact)",
    signed=False,
    explain=explain,
    paper="Abnar & Zuidema 2020",
)
