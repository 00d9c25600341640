"""How much each token's presence lowers the loss of the right label: Δ_t = L(without token t) − L(with it)."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck.data import Batch
from heatcheck.models import Erases


@torch.no_grad()
def token_left_out(subject: Erases, batch: Batch) -> Float[Tensor, "example token"]:
    """Of the first decision, by the subject's own short cut; 0 at a lone token, without which nothing would be left.

    A token at a time, also where a word has several: what the recorder compares is of tokens.
    """
    assert batch.gold is not None
    places = torch.arange(batch.word.shape[1], device=batch.word.device).expand_as(batch.word)
    found = torch.zeros(batch.word.shape, dtype=torch.float64, device=batch.word.device)
    for part in subject.without_each(replace(batch, word=torch.where(batch.scored, places, -1))):
        logs = part.logits[:, 0].double().log_softmax(-1).take_along_dim(batch.gold[part.example, :1], 1)[:, 0]
        gap = part.word >= 0
        whole = logs.new_zeros(len(batch)).index_put((part.example[~gap],), logs[~gap])
        found[part.example[gap], part.word[gap]] = whole[part.example[gap]] - logs[gap]
    return found
