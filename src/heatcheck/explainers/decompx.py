"""Scores like DecompX's: what each token adds to the predicted label's logit through the network, by one backward pass.

If attention weights, the norms' scales and the activations' slopes are treated as constants, the logit is linear in the
input of the first block, plus what biases add. e · dy/de is then DecompX without its distribution of biases, and CP-LRP
as gradient × input. Scores do not sum to the logit: `Parts.biases` is the rest.
"""

from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.errors import NotSupported
from heatcheck.explainers.norms import require_blocks
from heatcheck.explainers.probability import explained_labels
from heatcheck.explainers.scores import Aim, WordScores, of_label
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Run, Site, Subject, differentiate


class Parts(NamedTuple):
    """The label's logit = Σ tokens + biases; tokens include [CLS] and [SEP], and are 0 at padding.

    Where a label's logit is 0 by convention (one output for two labels), it is the logit less the other.
    """

    logit: Float[Tensor, " example"]
    tokens: Float[Tensor, "example token"]
    biases: Float[Tensor, " example"]


def logit_parts(subject: Subject, batch: Batch, label: int | None = None) -> Parts:
    """Each token's share in the logit of a label (None: the predicted one), and the share of the biases."""
    transformer = require_blocks(subject, "decompx")
    if reason := getattr(transformer, "not_one_logit", ""):
        raise NotSupported(f"decompx splits the logit of a label's one token, but {reason}.")
    from heatcheck.models.hf.linearised import linearised  # transformers takes a second to import

    start = Site("input", transformer.blocks[0].where)
    one_output = transformer.several or transformer.network.config.num_labels == 1
    seen: list[Tensor] = []
    logits: list[Tensor] = []

    def note(embedded: Tensor) -> Tensor:
        seen.append(embedded.detach())
        return embedded

    def logit(run: Run) -> Float[Tensor, " example"]:
        own = explained_labels(run.logits[:, 0], label)[:, None]
        found = run.logits[:, 0].gather(1, own)[:, 0]
        if one_output:
            found = found - run.logits[:, 0].gather(1, 1 - own)[:, 0]
        logits.append(found.detach().double())
        return found

    with linearised(transformer):
        slope = differentiate(subject, batch, [start], logit, edits={start: note})[start]
    tokens = (slope * seen[0]).double().sum(-1)
    return Parts(logits[0], tokens, logits[0] - tokens.sum(-1))


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """A token's share in the label's logit."""
    return explain_tokens(subject, examples, lambda batch: logit_parts(subject, batch, aim.label).tokens)


decompx = of_label(
    "decompx",
    "what the token adds to the predicted label's logit through all layers, MLPs included; biases are left out",
    explain,
    signed=True,
    paper="Modarressi et al. 2023 without biases; CP-LRP (Ali et al. 2022)",
)
