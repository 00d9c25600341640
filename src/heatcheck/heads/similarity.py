"""How alike heads are: the mean Jensen–Shannon divergence between their rows (Clark et al.).

All pairs of heads need their weights side by side. So a few rows of a few texts are read, one text at a time.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import check_time
from heatcheck.models import HasLayers, Site, Subject, require_layers
from heatcheck.models.contract.rows import Rows

TEXTS, ROWS = 32, 8


@torch.inference_mode()
def divergences(
    subject: Subject, examples: Sequence[Example], *, texts: int = TEXTS, rows: int = ROWS
) -> Float[np.ndarray, "head item"]:
    """Between all pairs of heads, in nats: 0 is the same weights, 0.69 entirely different ones.

    Args:
        texts: so many of the examples, evenly chosen.
        rows: so many queries of each, evenly spread from the second token to the last.
    """
    deep = require_layers(subject, "the similarity of heads")
    step = max(1, len(examples) // texts)
    total: Tensor | None = None
    read = 0
    for example in list(examples)[::step][:texts]:
        check_time()
        weights = rows_of_all_heads(deep, example, rows)
        if weights is None:
            continue
        per_head = torch.stack([stats.jensen_shannon_nats(one.expand_as(weights), weights).mean(-1) for one in weights])
        total = per_head if total is None else total + per_head
        read += 1
    if total is None:
        return np.zeros((0, 0))
    return np.asarray((total / read).cpu().double().numpy())


def rows_of_all_heads(subject: HasLayers, example: Example, rows: int) -> Float[Tensor, "head query key"] | None:
    """Some rows of every head of every layer; None for a text of one token."""
    batch = subject.encode([example])
    tokens = int(batch.valid.sum())
    if tokens < 2:
        return None
    chosen = np.unique(np.linspace(1, tokens - 1, min(rows, tokens - 1)).round().astype(int))
    queries = torch.from_numpy(chosen)[None].to(batch.valid.device)
    want: dict[Site, Rows] = {site: Rows(queries) for site in subject.sites}
    found = subject.run(batch, want=want)
    return torch.cat([found.parts[site][0].float() for site in subject.sites])


def on_plane(distances: Float[np.ndarray, "head item"]) -> Float[np.ndarray, "head 2"]:
    """Two coordinates per head whose distances are as near to √JSD as a plane allows: classical scaling.

    >>> np.abs(on_plane(np.array([[0.0, 0.25], [0.25, 0.0]]))).round(2).tolist()
    [[0.25, 0.0], [0.25, 0.0]]
    """
    if len(distances) == 0:
        return np.zeros((0, 2))
    centred = np.eye(len(distances)) - 1 / len(distances)
    # √JSD is a metric, so JSD takes the place of a squared distance.
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances @ centred)
    best = np.argsort(values)[::-1][:2]
    found = vectors[:, best] * np.sqrt(np.maximum(values[best], 0.0))
    found = found * np.where(found[np.abs(found).argmax(0), np.arange(found.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(np.pad(found, ((0, 0), (0, 2 - found.shape[1]))))
