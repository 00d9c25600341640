"""AtMan: how much of the label's log-probability is lost if no token can attend much to a token.

Deiseroth et al. 2023. In every layer and head the column of scores of a token is pushed towards the lowest score of its
row: s ← least + 0.1 · (s − least), before the softmax. So the token keeps a little weight, others take the rest, and no
row becomes empty. (The paper can also push down tokens with similar embeddings, which it needs for images; this is
without.) It needs one forward pass per token, and no gradient.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heatcheck.data import Batch, Example
from heatcheck.explainers.probability import explained_labels, label_log_odds
from heatcheck.explainers.scores import Aim, WordScores, of_probability
from heatcheck.explainers.tokens import explain_tokens
from heatcheck.models import Site, Subject, require_stack, visible
from heatcheck.models.contract.lengths import at_once

KEPT = 0.1  # of a score's distance from the lowest in its row


def suppress(
    tokens: Bool[Tensor, "example token"],
) -> Callable[[Float[Tensor, "example head query key"]], Float[Tensor, "example head query key"]]:
    """Push the scores of these tokens, as keys, towards the lowest visible one of each row.

    >>> suppress(torch.tensor([[False, True, False]]))(torch.tensor([[[[1.0, 11.0, -1e9]]]])).tolist()
    [[[[1.0, 2.0, -1000000000.0]]]]
    """

    def edit(scores: Float[Tensor, "example head query key"]) -> Float[Tensor, "example head query key"]:
        seen = visible(scores)
        least = scores.masked_fill(~seen, torch.inf).amin(-1, keepdim=True)
        return torch.where(tokens[:, None, None] & seen, least + KEPT * (scores - least), scores)

    return edit


def explain(subject: Subject, examples: Sequence[Example], seed: int, aim: Aim) -> WordScores:
    """ln p(label) − ln p(label | the token suppressed), for each token of a text."""
    layered = require_stack(subject, "AtMan")
    scores = [Site("score", site.where) for site in layered.sites]

    @torch.no_grad()
    def score(batch: Batch) -> Float[Tensor, "example token"]:
        run = layered.run(batch)
        label = explained_labels(run.logits[:, 0], aim.label)
        whole = torch.nn.functional.logsigmoid(label_log_odds(run, label, aim.scale))
        found = torch.zeros(batch.valid.shape, dtype=torch.float64, device=batch.valid.device)
        places = batch.scored.nonzero()
        for example, token in (some.T for some in torch.split(places, at_once(layered, batch))):
            alone = torch.nn.functional.one_hot(token, batch.valid.shape[1]).bool()
            again = layered.run(batch.take(example), edits=dict.fromkeys(scores, suppress(alone)))
            without = torch.nn.functional.logsigmoid(label_log_odds(again, label[example], aim.scale))
            found[example, token] = whole[example] - without
        return found

    return explain_tokens(subject, examples, score)


atman = of_probability(
    "atman",
    "log-probability lost if every layer's scores of the word, as a key, are pushed down",
    explain,
    signed=True,
    paper="Deiseroth et al. 2023",
)
