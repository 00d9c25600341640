"""How probable an answer is, from the logits of its tokens: exact where a probability is nearly 0 or nearly 1.

Nothing here subtracts a probability from 1. The log-odds of a token are its logit less the log of the sum over all
others, and a span's are made from those of its tokens. All of it is computed in double precision.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid


def token_log_odds(logits: Float[Tensor, "*item label"], ids: Int[Tensor, "*item"]) -> Float[Tensor, "*item"]:
    """log p/(1−p) of the token with this id in each step, over a whole vocabulary.

    >>> token_log_odds(torch.tensor([0.0, 0.0, 0.0]), torch.tensor(1)).exp()
    tensor(0.5000, dtype=torch.float64)
    """
    logits = logits.double()
    at = ids[..., None]
    others = logits.scatter(-1, at, -torch.inf).logsumexp(-1)
    return logits.gather(-1, at)[..., 0] - others


def log_probability(log_odds: Float[Tensor, "*item"]) -> Float[Tensor, "*item"]:
    """log p from log p/(1−p)."""
    return logsigmoid(log_odds)


def log_odds_of_all(log_odds: Float[Tensor, "*example token"]) -> Float[Tensor, "*example"]:
    """log P/(1−P) of a span, where P is the product of its tokens' probabilities: finite for every P.

    >>> log_odds_of_all(torch.tensor([0.0, 0.0])).exp()
    tensor(0.3333, dtype=torch.float64)
    """
    surprise = -logsigmoid(log_odds.double()).sum(-1)
    surprise = surprise.clamp(min=torch.finfo(surprise.dtype).tiny)  # a probability that rounds to 1 stays below it
    return -surprise - (-torch.expm1(-surprise)).log()
