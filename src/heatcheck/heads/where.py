"""Which heads matter, and whether a head that matters does so for where it looks.

A head's `share` is the effect of giving it the pattern of another text, over the effect of its mean output. Near 1, the
head matters for where it looks in this text. Near 0, another text's heatmap would do: the head matters for what it
reads, wherever it looks. The share is measured where its denominator is surely above 0.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import special

from heatcheck import stats
from heatcheck.heads.removal import Removed

LEVEL = 0.05  # of false discoveries among the heads that matter
ROUNDING = 1e-5  # nats; a smaller effect is that of adding numbers up in another order
HALF = 0.5  # a share surely above: the head matters for where it looks


class Gaze(NamedTuple):
    """One head that matters, and the share of its effect that is due to where it looks."""

    layer: int  # from 0
    head: int  # from 0
    share: stats.Interval

    @property
    def says(self) -> str:
        """`where` it looks matters; `what` it reads does, wherever it looks; or `open`: more examples could decide."""
        if self.share.low > HALF:
            return "where"
        return "what" if self.share.high < HALF else "open"


def adjusted_p(effects: Float[np.ndarray, "layer head example"]) -> Float[np.ndarray, "layer head"]:
    """P-values of "this head has no effect on average", adjusted over all heads (Benjamini and Hochberg).

    By Student's t over examples: a bootstrap has too few draws for the small p-values that many heads ask for.
    """
    there = ~np.isnan(effects).any(-1)
    known = np.where(there[..., None], effects, 0.0)
    mean, n = known.mean(-1), effects.shape[-1]
    error = known.std(-1, ddof=1) / np.sqrt(n) if n > 1 else np.full(mean.shape, np.inf)
    size = np.where(np.abs(mean) > ROUNDING, np.abs(mean), 0.0)
    t = np.divide(size, error, out=np.full(mean.shape, np.inf), where=error > 0)
    p = np.where(size > 0, 2 * special.stdtr(max(n - 1, 1), -t), 1.0)
    return stats.benjamini_hochberg(np.where(there, p, np.nan))


def heads_that_matter(
    effects: Float[np.ndarray, "layer head example"], level: float = LEVEL
) -> Bool[np.ndarray, "layer head"]:
    """Heads whose removal surely makes the loss larger."""
    with np.errstate(invalid="ignore"):
        return np.asarray((adjusted_p(effects) <= level) & (effects.mean(-1) > 0))


def gaze_shares(removed: Removed, *, generator: np.random.Generator, draws: int = 2000) -> list[Gaze]:
    """Effect of another text's pattern over the effect of the mean, for each head whose denominator is significant."""
    whole, pattern = removed.effect("mean"), removed.effect("other_text")
    found = []
    for layer, head in np.argwhere(heads_that_matter(whole)):
        columns = np.stack([pattern[layer, head], whole[layer, head]], axis=1)
        share = stats.bootstrap_interval(columns, _ratio, generator=generator, draws=draws)
        found.append(Gaze(int(layer), int(head), share))
    return found


def _ratio(means: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
    return np.asarray(means[:, 0] / means[:, 1])
