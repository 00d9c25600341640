"""Other attention weights with the same answer, as different from the model's own as can be found.

With two labels and a linear read-out this is the exact optimum (stats/farthest.py has the proof). With more labels it
is a bracket (stats/bracket.py). If the read-out is not linear in the weights, a search gives a lower bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from heatcheck import stats
from heatcheck.data import Example
from heatcheck.engine import stream
from heatcheck.explainers.readout import Readout, of_words, read_out, require_short_cut, responses
from heatcheck.explainers.scores import Explainer, WordScores
from heatcheck.explainers.search import BETTER, BRIEF, JAIN2019, SHORT, Found, SearchSettings, search
from heatcheck.models import HasLayers, Subject, View

Method: TypeAlias = Literal["exact", "bracket", "search", "jain2019"]
EPSILON = 0.05  # how far the answer's probability may move, as in Jain & Wallace's code


@dataclass(frozen=True)
class StandIns:
    """The weights found for each example and decision, and how far from the model's own any such weights can be.

    `upper` equals `jsd` if the optimum is exact, and is nan if no bound is known.
    """

    method: Method
    weights: Float[np.ndarray, "example decision token"]
    jsd: Float[np.ndarray, "example decision"]
    upper: Float[np.ndarray, "example decision"]
    change: Float[np.ndarray, "example decision"]  # total variation of the output


def stand_ins(
    subject: Subject,
    examples: Sequence[Example],
    *,
    epsilon: float = EPSILON,
    scale: float = 1.0,
    seed: int = 0,
    method: Literal["best", "jain2019"] = "best",
) -> StandIns:
    """Find weights that move no probability (of logits times `scale`) by more than ε in total variation.

    `jain2019` is the published search: five starts, 500 steps, the last iterate. If none of the five keeps the output,
    the model's own weights are returned.

    >>> from heatcheck.data import load_task
    >>> from heatcheck.models import load
    >>> examples = load_task("planted_keyword")["test"].examples[:3]
    >>> stand_ins(load("known:bystander_right@planted_keyword"), examples).jsd.round(1).tolist()
    [[0.7], [0.7], [0.7]]
    """
    if method == "jain2019":
        require_short_cut(subject)
        return searched(subject, examples, [epsilon], scale=scale, seed=seed, settings=JAIN2019)[0]
    return best_stand_ins(subject, examples, [(epsilon, scale)], seed=seed)[0]


def search_on(subject: Subject) -> SearchSettings:
    """The search that this model's cost of trying weights allows."""
    if isinstance(subject, View) and not subject.is_last:
        return SHORT
    return BRIEF if isinstance(subject, HasLayers) else BETTER


def best_stand_ins(
    subject: Subject, examples: Sequence[Example], asked: Sequence[tuple[float, float]], *, seed: int = 0
) -> list[StandIns]:
    """The same for several ε, each with a scale: they are searched for together."""
    require_short_cut(subject)
    readout = read_out(subject, examples)
    if readout is None:
        settings = search_on(subject)
        epsilons, scales = zip(*asked, strict=True)
        return searched(subject, examples, epsilons, scale=scales, seed=seed, settings=settings)
    ids = [example.id for example in examples]
    return [of_readout(readout, ids, epsilon=epsilon, scale=scale, seed=seed) for epsilon, scale in asked]


def of_readout(readout: Readout, ids: Sequence[str], *, epsilon: float, scale: float = 1.0, seed: int = 0) -> StandIns:
    """The exact optimum for two labels, a bracket for more."""
    decisions, labels = readout.bias.shape[1:]
    each = [
        _binary(readout, decision, epsilon, scale)
        if labels == 2
        else _many(readout, decision, ids, epsilon, scale, seed)
        for decision in range(decisions)
    ]
    weights, jsd, upper = (np.stack(parts, axis=1) for parts in zip(*each, strict=True))
    other = scale * (np.einsum("edt,edtl->edl", weights, readout.relevance) + readout.bias)
    change = np.abs(softmax(other, -1) - softmax(scale * readout.logits, -1)).sum(-1) / 2
    return StandIns("exact" if labels == 2 else "bracket", weights, jsd, upper, change)


def searched(
    subject: Subject,
    examples: Sequence[Example],
    epsilons: Sequence[float],
    *,
    scale: float | Sequence[float] = 1.0,
    seed: int = 0,
    settings: SearchSettings = JAIN2019,
) -> list[StandIns]:
    """The best start of each example that keeps the output, for each ε; the model's own weights if none does.

    The published search does not depend on ε: it runs once, and each ε picks from its results.

    Args:
        scale: of the logits: one for all ε, or one for each.
    """
    rows: list[dict[int, tuple[np.ndarray, ...]]] = [{} for _ in epsilons]
    for indices, batch, response in responses(subject, examples, batch_size=256):
        own = response.attention.mean(2).cpu().numpy()
        once = settings.slack is not None and isinstance(scale, float)
        asked = epsilons[:1] if once else epsilons
        found = search(response, batch.ids, epsilon=asked, scale=scale, seed=seed, settings=settings)
        for number, (epsilon, each) in enumerate(zip(epsilons, found * len(epsilons) if once else found, strict=True)):
            parts = _best(each, own, epsilon)
            rows[number].update({place: tuple(part[row] for part in parts) for row, place in enumerate(indices)})
    return [_gather([each[place] for place in range(len(examples))], settings) for each in rows]


def _best(found: Found, own: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights [example decision token], divergence and change of the farthest start inside."""
    jsd, change = found.jsd.detach().cpu().numpy(), found.change.detach().cpu().numpy()
    weights = found.weights.detach().mean(3).cpu().numpy()  # over heads
    inside = np.where(change <= epsilon, jsd, -1.0)
    best = inside.argmax(1)[:, None]  # [example 1 decision]
    kept = np.take_along_axis(inside, best, 1)[:, 0] > 0
    chosen = np.take_along_axis(weights, best[..., None], 1)[:, 0]
    return (
        np.where(kept[..., None], chosen, own),
        np.where(kept, np.take_along_axis(jsd, best, 1)[:, 0], 0.0),
        np.where(kept, np.take_along_axis(change, best, 1)[:, 0], 0.0),
    )


def _gather(rows: Sequence[tuple[np.ndarray, ...]], settings: SearchSettings) -> StandIns:
    longest = max(row[0].shape[-1] for row in rows)
    weights = np.stack([np.pad(w, ((0, 0), (0, longest - w.shape[1]))) for w, _, _ in rows]).astype(np.float64)
    jsd, change = (np.stack([row[part] for row in rows]).astype(np.float64) for part in (1, 2))
    return StandIns("jain2019" if settings == JAIN2019 else "search", weights, jsd, np.full_like(jsd, np.nan), change)


def _binary(readout: Readout, decision: int, epsilon: float, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own = readout.attention[:, decision]
    votes = scale * (readout.relevance[:, decision, :, 1] - readout.relevance[:, decision, :, 0])
    offset = scale * (readout.bias[:, decision, 1] - readout.bias[:, decision, 0])
    low, high = stats.margin_bounds((own * votes).sum(1) + offset, epsilon)
    found = stats.farthest_weights(own, votes, low - offset, high - offset, readout.allowed)
    return stats.spread_out(found, own), found.jsd, found.jsd


def _many(
    readout: Readout, decision: int, ids: Sequence[str], epsilon: float, scale: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = np.zeros_like(readout.attention[:, decision])
    low, high = np.zeros(len(ids)), np.zeros(len(ids))
    for row, name in enumerate(ids):
        places = readout.allowed[row]
        found = stats.bracket_weights(
            readout.attention[row, decision, places],
            scale * readout.relevance[row, decision, places],
            scale * readout.bias[row, decision],
            epsilon,
            stream(seed, "bracket", decision, name),
        )
        weights[row, places], low[row], high[row] = found.weights, found.low, found.high
    return weights, low, high


def explain(subject: Subject, examples: Sequence[Example], seed: int) -> WordScores:
    """The other weights found for the first decision, summed by word."""
    require_short_cut(subject)
    readout = read_out(subject, examples)
    if readout is None:
        return words_of(subject, examples, stand_ins(subject, examples, seed=seed))
    found = of_readout(readout, [e.id for e in examples], epsilon=EPSILON, seed=seed)
    return of_words(found.weights[:, 0], readout.word, examples)


def words_of(subject: Subject, examples: Sequence[Example], found: StandIns) -> WordScores:
    """Other weights for the first decision, summed by word."""
    return of_words(found.weights[:, 0], word_of_each_key(subject, examples, found.weights.shape[-1]), examples)


def word_of_each_key(subject: Subject, examples: Sequence[Example], longest: int) -> Int[np.ndarray, "example token"]:
    """Which word each key belongs to, -1 for none."""
    rows: dict[int, np.ndarray] = {}
    for indices, batch, _ in responses(subject, examples):
        rows.update(zip(indices, batch.word.cpu().numpy(), strict=True))
    ordered = [rows[place] for place in range(len(examples))]
    return np.stack([np.pad(row, (0, longest - len(row)), constant_values=-1) for row in ordered])


counterfactual = Explainer(
    "counterfactual",
    f"weights as different as can be found that change no probability by more than {EPSILON}",
    signed=False,
    explain=explain,
    paper="Jain & Wallace 2019, Algorithm 3",
    of_heatmap=True,
)
