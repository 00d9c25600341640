"""How much does the answer change when heatcheck shuffles the attention weights among the words?

The hidden states stay the same. Only the places of the weights change, so the heatmap keeps its shape. With a linear
read-out a shuffle costs one weighted sum of relevances (stats/shuffles.py), never a forward pass.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.special import softmax

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import to_try
from heatcheck.checks.retrained_answers import total_variation
from heatcheck.engine import seed_of
from heatcheck.errors import BadInput
from heatcheck.explainers import Readout, require_short_cut, responses
from heatcheck.explainers.counterfactual import word_of_each_key
from heatcheck.explainers.readout import of_words
from heatcheck.explainers.scores import WordScores
from heatcheck.models import name_of_keys
from heatcheck.results import CheckResult, Measurement

BINS = ("0.00–0.25", "0.25–0.50", "0.50–0.75", "0.75–1.00")  # of the largest weight, as in the paper's violins
AT_ONCE = 2**22  # shuffled weights in memory, if they must be stored


@dataclass(frozen=True)
class PermutationSettings:
    """The number of shuffles, and the ε up to which an answer counts as the same."""

    repeats: int = 100
    epsilon: float = 0.05  # on standardised probabilities
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "permutation", "repeats", "draws")
        if not 0 <= self.epsilon < 1:
            raise BadInput(
                f"permutation.epsilon must be a change of probability, at least 0 and below 1, not {self.epsilon}."
            )


def measure(case: Case, settings: PermutationSettings) -> CheckResult:
    """Measure the median total variation over each example's shuffles, and the share that keeps the answer."""
    require_short_cut(case.subject)
    excluded = {
        example.id: f"it has only one {name_of_keys(case.subject)}, whose weight cannot move"
        for example, n in zip(case.examples, case.tokens, strict=True)
        if n < 2
    }
    kept = np.array([example.id not in excluded for example in case.examples])
    if not kept.any():
        raise BadInput("no example has two words whose weights could be shuffled: choose longer texts.")
    logits = shuffled_logits(case, settings.repeats)  # [example draw label]
    own = case.own_logits[:, None]
    change = total_variation(softmax(logits, -1), softmax(own, -1))
    standard = total_variation(softmax(case.logit_scale * logits, -1), softmax(case.logit_scale * own, -1))
    values = {
        "max_attention": case.max_attention,
        "delta": np.median(change, axis=1),
        "q": (standard <= settings.epsilon).mean(axis=1),
        "flips": (logits.argmax(-1) != own.argmax(-1)).mean(axis=1),
        "evenness": stats.evenness(*case.weights),
        **_typical(case, standard, logits),
    }
    return CheckResult(
        check="permutation",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(_measurements(case, settings, values, kept)),
        examples=tuple(e.id for e, k in zip(case.examples, kept, strict=True) if k),
        per_example={name: of_all[kept] for name, of_all in values.items()},
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        facts={"logit_scale": case.logit_scale},
    )


def _typical(
    case: Case, change: Float[np.ndarray, "example draw"], logits: Float[np.ndarray, "example draw label"]
) -> dict[str, Float[np.ndarray, " example"]]:
    """The shuffle of each example that is the median in effect, and the answer's probability without and with it."""
    draw = change.argsort(axis=1, kind="stable")[:, (change.shape[1] - 1) // 2]
    rows = np.arange(len(draw))

    def probability(of: Float[np.ndarray, "example label"]) -> Float[np.ndarray, " example"]:
        return np.asarray(softmax(case.logit_scale * of, -1)[rows, case.predicted])

    own, shuffled = probability(case.own_logits), probability(logits[rows, draw])
    return {"typical_draw": draw.astype(float), "p_own": own, "p_typical": shuffled}


def typical_weights(case: Case, draws: Mapping[str, int]) -> WordScores:
    """The very shuffle that each example was measured under, summed by word; `draws` says which, by example id."""
    weights, allowed = case.head_weights
    shuffled = np.zeros_like(weights[:, 0])
    for row, example in enumerate(case.examples):
        if example.id not in draws:
            continue
        draw, seed = draws[example.id], seed_of(case.seed, "permutation", example.id)
        of_heads = [
            stats.shuffled_weights(
                of_head[None].astype(np.float64),
                allowed[row : row + 1],
                np.array([seed], np.uint64) + np.uint64(head),
                draw + 1,
            )[0, draw]
            for head, of_head in enumerate(weights[row])
        ]
        shuffled[row] = np.mean(of_heads, axis=0)
    return of_words(shuffled, words_of_keys(case), case.examples)


def words_of_keys(case: Case) -> Int[np.ndarray, "example token"]:
    """Which word each key belongs to, -1 for none."""
    if case.readout is not None:
        return case.readout.word
    return word_of_each_key(case.subject, case.examples, case.weights[1].shape[1])


def shuffled_logits(case: Case, repeats: int) -> Float[np.ndarray, "example draw label"]:
    """Logits of the first decision under each shuffle."""
    seeds = np.array([seed_of(case.seed, "permutation", example.id) for example in case.examples], dtype=np.uint64)
    if isinstance(case.readout, Readout):
        found = case.readout
        sums = stats.shuffled_sums(found.attention[:, 0], found.relevance[:, 0], found.allowed, seeds, repeats)
        return np.asarray(sums + found.bias[:, 0][:, None])
    rows: dict[int, np.ndarray] = {}
    for indices, _, response in responses(case.subject, case.examples):
        own = response.attention[:, 0]  # [example head token]
        step = max(1, AT_ONCE // own.numel())
        chunks = []
        drawn = np.stack(
            [
                stats.shuffled_weights(
                    of_head, response.allowed.cpu().numpy(), seeds[indices] + np.uint64(head), repeats
                )
                for head, of_head in enumerate(own.double().cpu().numpy().swapaxes(0, 1))
            ],
            axis=2,
        )  # [example draw head token]
        for start in range(0, repeats, step):
            part = torch.from_numpy(drawn[:, start : start + step]).to(own.device, own.dtype)
            weights = response.attention[:, None].repeat(1, part.shape[1], 1, 1, 1)
            weights[:, :, 0] = part
            with torch.no_grad():
                chunks.append(response.logits(weights)[:, :, 0].double().cpu().numpy())
        rows.update(zip(indices, np.concatenate(chunks, axis=1), strict=True))
    return np.stack([rows[place] for place in range(len(case.examples))])


def bin_of(max_attention: Float[np.ndarray, " example"]) -> np.ndarray:
    """The quarter of [0, 1] that contains the largest weight."""
    return np.asarray(np.minimum((4 * max_attention).astype(int), 3))


def _measurements(
    case: Case,
    settings: PermutationSettings,
    values: dict[str, Float[np.ndarray, " example"]],
    kept: Bool[np.ndarray, " example"],
) -> Iterator[Measurement]:
    """Yield results overall, by predicted class, and by class and quarter of the largest weight."""
    baselines = {
        "q": "1: uniform weights, which no shuffle changes",
        "flips": "0: no shuffle changes the decision",
        "delta": "0: shuffles do not move the output",
        "evenness": "1: uniform weights",
    }
    for name, baseline in baselines.items():
        yield from measured(case, name, values[name], kept, baseline, {}, settings.draws)
    quarter = bin_of(values["max_attention"])
    for number, label in enumerate(case.labels):
        members = kept & (case.predicted == number)
        by = {"class": label}
        yield from measured(case, "delta", values["delta"], members, baselines["delta"], by, settings.draws)
        for place, title in enumerate(BINS):
            among = members & (quarter == place)
            where = {**by, "bin": title}
            yield from measured(case, "delta", values["delta"], among, baselines["delta"], where, settings.draws)


permutation = Check(
    name="permutation",
    question="How much does the answer change when heatcheck shuffles the weights among the words?",
    paper="Jain & Wallace 2019, Algorithm 2",
    holds="states",
    baseline="uniform weights, which no shuffle changes",
    settings=PermutationSettings,
    measure=measure,
    cost=lambda case, settings: len(case.examples) + to_try(case, settings.repeats),
    of="weights",
)
