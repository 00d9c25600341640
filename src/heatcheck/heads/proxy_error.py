"""How well estimates of heads' effects agree with the true effects: ranks, the top heads, signs, sizes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from heatcheck import stats

TOP = 0.1  # of all heads, whose recall is counted
PERMUTATIONS = 1000
STATISTICS = ("spearman", "recall", "signs", "relative_error")
Means = Float[np.ndarray, "draw head"]


@dataclass(frozen=True)
class ProxyError:
    """Each statistic with its interval over examples; `chance` is its mean if the estimates belong to other heads.

    `spearman` of all heads; `recall`: the share of the top heads by true effect that are top by the estimate; `signs`:
    the share of heads whose estimate has the right sign; `relative_error`: |estimate − effect| / |effect|, median head.
    """

    found: dict[str, stats.Interval]
    chance: dict[str, float]
    top: int


def compare(
    estimated: Float[np.ndarray, "layer head example"],
    true: Float[np.ndarray, "layer head example"],
    *,
    generator: np.random.Generator,
    draws: int = 2000,
    top: float = TOP,
) -> ProxyError:
    """Compare mean estimates with mean true effects, over the heads; examples are resampled for the intervals."""
    there = ~np.isnan(true).any(-1)
    one, other = (values[there].T for values in (estimated, true))  # [example head]
    heads = one.shape[1]
    chosen = max(1, round(top * heads))

    def statistic(name: str):  # type: ignore[no-untyped-def]  # a function of one array, as `stats` takes it
        def of(means: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
            return _statistics(means[:, :heads], means[:, heads:], chosen)[name]

        return of

    found = stats.bootstrap_intervals(
        np.concatenate([one, other], axis=1), [statistic(name) for name in STATISTICS], generator=generator, draws=draws
    )
    permuted = np.stack([generator.permutation(heads) for _ in range(PERMUTATIONS)])
    by_chance = _statistics(one.mean(0)[permuted], np.broadcast_to(other.mean(0), permuted.shape), chosen)
    return ProxyError(
        dict(zip(STATISTICS, found, strict=True)),
        {name: float(np.nanmean(values)) for name, values in by_chance.items()},
        chosen,
    )


def _statistics(estimated: Means, true: Means, top: int) -> dict[str, Float[np.ndarray, " draw"]]:
    ranks = stats.spearman(estimated, true).correlation
    best, guessed = (np.argsort(-values, axis=1, kind="stable")[:, :top] for values in (true, estimated))
    recall = np.array([len(np.intersect1d(a, b)) / top for a, b in zip(best, guessed, strict=True)])
    signs = np.mean(np.sign(estimated) == np.sign(true), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.abs(estimated - true) / np.abs(true)
    return {
        "spearman": ranks,
        "recall": recall,
        "signs": signs,
        "relative_error": np.nanmedian(np.where(true == 0, np.nan, relative), axis=1),
    }
