"""Tests on texts whether the gradient of a word contains the word's attention weight as a factor.

With the attention weights as constants, g_t = α_t u_t only if a word reaches the answer through its own state and
nothing else; then a word without weight has no gradient. If states have context (an LSTM, a convolution, a transformer
with its residual stream), such a word still acts through its neighbours, and g is no multiple of α.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.engine import stream
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import AttendsToParts, Edits, Run, Site, Subject, differentiate, heat_sites

EMBEDDING = Site("embedding")
NOTHING = 1e-6  # a gradient of this share of the text's largest counts as none
NEARLY_ALL = 0.99  # of the words that were told apart


def gradient_contains_weight(subject: Subject, examples: Sequence[Example], *, seed: int = 0) -> bool:
    """Whether tokens lose their whole gradient when they lose their weight; tested on a random half of each text.

    Also False if this cannot be decided: no text has a gradient, or the read-out attends to parts of a text, whose
    weights are products.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> examples = load_task("planted_keyword")["test"].examples[:4]
    >>> gradient_contains_weight(load("known:reader@planted_keyword"), examples)
    True
    """
    if isinstance(subject, AttendsToParts):
        return False

    def left(batch: Batch) -> Float[Tensor, "example token"]:
        without = _random_half(batch, seed)
        size = _gradient_without(subject, batch, without)
        largest = size.masked_fill(~batch.scored, 0.0).amax(1, keepdim=True)
        return torch.where(without & (largest > 0), size / largest, torch.nan)

    found = np.concatenate(explain_tokens(subject, examples, left))
    told = found[np.isfinite(found)]
    return bool(len(told) and (told <= NOTHING).mean() > NEARLY_ALL)


def _random_half(batch: Batch, seed: int) -> Bool[Tensor, "example token"]:
    """A random half of the tokens; every second one would miss models in which only every second is a neighbour."""
    chosen = torch.zeros_like(batch.scored)
    for row, example in enumerate(batch.ids):
        places = torch.nonzero(batch.scored[row])[:, 0]
        order = stream(seed, "words without weight", example).permutation(len(places))
        chosen[row, places[torch.from_numpy(order[: len(places) // 2]).to(places.device)]] = True
    return chosen


def _gradient_without(
    subject: Subject, batch: Batch, without: Bool[Tensor, "example token"]
) -> Float[Tensor, "example token"]:
    """The size of the gradient of the predicted label's logit, with constant weights that are 0 at some tokens.

    It uses the logit because the probability of a confident answer has no gradient left.
    """

    def take(weights: Float[Tensor, "example head query key"]) -> Tensor:
        held = weights.detach()
        if held.shape[-1] != without.shape[-1]:  # its keys are not the tokens: nothing is taken, so nothing vanishes
            return held
        return held.masked_fill(without[:, None, None, :], 0.0)

    def largest_logit(run: Run) -> Float[Tensor, " example"]:
        return run.logits[:, 0].double().amax(-1)

    edits: Edits = dict.fromkeys(heat_sites(subject), take)
    slope = differentiate(subject, batch, [EMBEDDING], largest_logit, edits=edits)
    size: Float[Tensor, "example token"] = slope[EMBEDDING].double().norm(dim=-1)
    return size
