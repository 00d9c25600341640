"""A model's own attention weights and replacements for them; the hidden states stay the same."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.shared_work import Rows
from heatcheck.data import Example
from heatcheck.engine import seed_of, stream
from heatcheck.explainers import responses
from heatcheck.models import Response, Subject

SWAPS = ("uniform", "permuted", "random", "first", "last")


def swapped_logits(case: Case, shuffles: int) -> dict[str, Float[np.ndarray, "example draw label"]]:
    """Logits of the first decision with the model's own and with replaced weights, on `case.tested`."""
    return case.share(swapped, case.tested, seed=case.seed, shuffles=shuffles)


def swapped(subject: Subject, examples: Sequence[Example], *, seed: int, shuffles: int) -> Rows:
    """The same on these examples."""
    rows: dict[str, dict[int, np.ndarray]] = {kind: {} for kind in ("own", *SWAPS)}
    for indices, batch, response in responses(subject, examples):
        for kind, weights in other_weights(seed, batch.ids, response, shuffles).items():
            rows[kind].update(zip(indices, _logits(response, weights), strict=True))
    return {kind: np.stack([of[place] for place in range(len(examples))]) for kind, of in rows.items()}


def other_weights(
    seed: int, names: Sequence[str], response: Response, shuffles: int
) -> dict[str, Float[Tensor, "example draw head token"]]:
    """Each kind of weights for the first decision; random draws depend only on the example's id."""
    own = response.attention[:, 0].double().cpu()  # [example head token]
    own = own / own.sum(-1, keepdim=True)  # a softmax in float32 sums to 1 only nearly
    allowed = response.allowed.cpu()
    permuted, random = (torch.zeros(len(own), shuffles, *own.shape[1:], dtype=torch.float64) for _ in range(2))
    seeds = np.array([seed_of(seed, "necessity permuted", name) for name in names], dtype=np.uint64)
    for head, weights in enumerate(own.numpy().swapaxes(0, 1)):
        drawn = stats.shuffled_weights(weights, allowed.numpy(), seeds + np.uint64(head), shuffles)
        permuted[:, :, head] = torch.from_numpy(drawn)
    for row, name in enumerate(names):
        places = allowed[row].nonzero()[:, 0]
        # Exponential variables over their sum: uniform on the simplex.
        drawn = stream(seed, "necessity random", name).exponential(size=(shuffles, own.shape[1], len(places)))
        random[row][..., places] = torch.from_numpy(drawn / drawn.sum(-1, keepdims=True))
    uniform = (allowed / allowed.sum(1, keepdim=True).double())[:, None, None].expand(-1, 1, own.shape[1], -1)
    ends = allowed.byte().argmax(1), allowed.shape[1] - 1 - allowed.flip(1).byte().argmax(1)
    first, last = (one_hot(place, allowed.shape[1]).double()[:, None, None].expand_as(uniform) for place in ends)
    others = {"uniform": uniform, "permuted": permuted, "random": random, "first": first, "last": last}
    return {"own": own[:, None], **others}


def _logits(
    response: Response, weights: Float[Tensor, "example draw head token"]
) -> Float[np.ndarray, "example draw label"]:
    """Weighted sums of relevances if the logits are linear in the weights, else the model's own short cut."""
    if response.relevance is not None and response.bias is not None:
        relevance, bias = (part[:, 0].detach().double().cpu() for part in (response.relevance, response.bias))
        sums = torch.einsum("ent,etl->enl", weights[:, :, 0], relevance)
        return np.asarray((sums + bias[:, None]).numpy())
    imposed = response.attention[:, None].repeat(1, weights.shape[1], 1, 1, 1)
    imposed[:, :, 0] = weights.to(imposed)
    with torch.no_grad():
        return np.asarray(response.logits(imposed)[:, :, 0].double().cpu().numpy())
