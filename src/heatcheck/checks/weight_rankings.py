"""The orders in which attention weights are removed: by size, by gradient, by both, at random, or by an explainer.

Each is an array of scores over the tokens of the read-out; the highest is removed first. Signed rankings start with
tokens that speak for the decision. Rankings without a sign start with the largest scores, for or against: this is all
that a heatmap can show.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.engine import stream
from heatcheck.explainers import Scores

Orders = Float[np.ndarray, "draw example token"]  # one draw, or several: random orders, and orders of ties
ATTENTION, ASCENDING, RANDOM = "attention", "attention ascending", "random"
GRADIENT, PRODUCT = "gradient", "gradient x attention"
OWN = (ATTENTION, GRADIENT, RANDOM)  # explainers of the same name score words, not weights


def signed(ranking: str) -> str:
    """
    >>> signed("gradient")
    'gradient (signed)'
    """
    return f"{ranking} (signed)"


def rankings_of(
    case: Case,
    slope: Float[np.ndarray, "example token"],
    scores: Mapping[str, Scores],
    word: Int[np.ndarray, "example token"],
    random_orders: int,
) -> Iterator[tuple[str, Orders]]:
    """Yield every ranking by name; `slope` is the gradient of the decided label's probability by each weight."""
    weights, allowed = case.weights
    weights, slope = (stats.level_ties(values, allowed) for values in (weights, slope))
    product = stats.level_ties(slope * weights, allowed)

    def ranking(name: str, values: Float[np.ndarray, "example token"]) -> tuple[str, Orders]:
        return name, _ties_broken(case, values, allowed)

    yield ranking(ATTENTION, weights)
    yield ranking(ASCENDING, -weights)
    for name, values in ((GRADIENT, slope), (PRODUCT, product)):
        yield ranking(name, np.abs(values))
        yield ranking(signed(name), values)
    for explainer, found in scores.items():
        name = f"{explainer} of words" if explainer in OWN else explainer
        yield ranking(name, _of_tokens(found.sizes(), found.valid, word, allowed))
        if found.signed:
            yield ranking(signed(name), _of_tokens(found.values, found.valid, word, allowed))
    yield RANDOM, np.stack([_shuffled(case, allowed, number) for number in range(random_orders)])


def _ties_broken(
    case: Case, values: Float[np.ndarray, "example token"], allowed: Bool[np.ndarray, "example token"]
) -> Orders:
    """The values themselves or, with ties, ranks in several random orders of the ties."""
    places = -np.arange(values.shape[1], dtype=float)
    drawn = []
    for keys in case.tie_orders(values, allowed):
        if keys is None:
            return values[None]
        ranks = np.empty(values.shape)
        np.put_along_axis(ranks, stats.best_first(values, allowed, keys), places[None], axis=1)
        drawn.append(ranks)
    return np.stack(drawn)


def explained(
    case: Case, explainers: Sequence[str], unit: str, logits: str
) -> tuple[dict[str, Scores], dict[str, str]]:
    """Scores of the explainers that can rank this read-out's tokens, and the reasons why others cannot."""
    if unit != "token":
        return {}, dict.fromkeys(explainers, f"it scores words, and this model's attention is on {unit}s")
    return case.available(explainers, logits)


def _of_tokens(
    values: Float[np.ndarray, "example word"],
    valid: Bool[np.ndarray, "example word"],
    word: Int[np.ndarray, "example token"],
    allowed: Bool[np.ndarray, "example token"],
) -> Float[np.ndarray, "example token"]:
    """Each token gets the score of its word; tokens without a score come last."""
    place = np.clip(word, 0, values.shape[1] - 1)
    known = (word >= 0) & allowed & np.take_along_axis(valid, place, axis=1)
    found = np.where(known, np.take_along_axis(values, place, axis=1), np.inf)
    below = np.where(known.any(1), np.where(known, found, np.inf).min(1, initial=np.inf), 0.0) - 1.0
    return np.asarray(np.where(known, found, below[:, None]))


def _shuffled(
    case: Case, allowed: Bool[np.ndarray, "example token"], number: int
) -> Float[np.ndarray, "example token"]:
    """Ranks in a random order, which depends only on the example's id."""
    found = np.zeros(allowed.shape)
    for row, example in enumerate(case.examples):
        places = np.flatnonzero(allowed[row])
        found[row, places] = stream(case.seed, "random order", number, example.id).permutation(len(places))
    return found
