"""Does attention rank words as gradients and leave-one-out do, and how much of that follows from formulas alone?

τ decides no line of the card. In a context-free model the gradient (with constant attention) and leave-one-out contain
α_t as a factor, so a temperature alone can raise the agreement. The mechanical floor is the τ that remains when the
other factor is shuffled among the words. A model with context has no such factor and no floor: dividing by α would only
bring α into a gradient that may have nothing to do with it. For such models, compare τ with the gradient under uniform
weights. The ceiling is how well the other methods agree with each other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import softmax

from heatcheck import stats
from heatcheck.checks.case import STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, known_logits, measured
from heatcheck.checks.passes import to_explain
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.explainers import Scores, gradient_contains_weight, of_words
from heatcheck.results import CheckResult, Measurement

Pair = tuple[str, str]


@dataclass(frozen=True)
class AgreementSettings:
    """The explainers to compare, and how."""

    explainers: tuple[str, ...] = ("attention", "gradient", "gradient_uniform", "leave_one_out", "relevance", "random")
    top_k: int = 3
    level: float = 0.05  # a correlation counts as significant at p <= level
    shuffles: int = 10  # of the mechanical floor
    logits: str = STANDARDISED  # that explainers of a probability read; or "published", the model's own
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "agreement", "top_k", "shuffles", "draws")
        known_logits(self, "agreement")


def measure(case: Case, settings: AgreementSettings) -> CheckResult:
    """Compare every pair of explainers: τ-b and p per example, by the size of scores, as a heatmap shows them."""
    scores, not_run = case.available(settings.explainers, settings.logits)
    names = list(scores)
    if len(names) < 2:
        raise BadInput(
            f"agreement needs at least two explainers, and only these could be run: {', '.join(names) or 'none'}."
        )
    valid = np.logical_and.reduce([found.valid for found in scores.values()])
    excluded = case.exclusions(scores)
    kept = np.array([example.id not in excluded for example in case.examples])
    valid = valid & kept[:, None]
    classes = {label: kept & (case.predicted == number) for number, label in enumerate(case.labels)}

    measurements: list[Measurement] = []
    per_example: dict[str, Float[np.ndarray, " example"]] = {}
    taus: dict[Pair, Float[np.ndarray, " example"]] = {}
    for pair in combinations(names, 2):
        x, y = (scores[name].sizes() for name in pair)
        found = stats.kendall_tau(x, y, valid)
        taus[pair] = found.correlation
        per_example[f"tau:{pair[0]}|{pair[1]}"] = found.correlation[kept]
        per_example[f"p:{pair[0]}|{pair[1]}"] = found.p_value[kept]
        measurements += _of_pair(case, settings, pair, found, classes, kept)
        for name, by, values in _without_the_tail(case, settings, pair, scores, valid):
            per_example[f"{name}:{pair[0]}|{pair[1]}"] = values[kept]
            against = "none: this is the floor" if "random" in pair else f"{name} of {pair[0]} and random"
            measurements += measured(case, name, values, kept, against, by, settings.draws)
    heat = case.heatmap.explainer
    for key, compared, difference in _differences(taus, heat):
        per_example[key] = difference[kept]
        baseline = f"0: {heat} agrees with another method as well as the other methods agree with each other"
        measurements += measured(case, "tau_difference", difference, kept, baseline, compared, settings.draws)
    without_floor = _without_floor(case, settings, scores)
    for rival, floor in _mechanical_floors(case, settings, scores, valid, without_floor):
        per_example[f"floor:attention|{rival}"] = floor[kept]
        baseline = "tau of the same pair: only its part above this floor is not mechanical"
        by = {"pair": ["attention", rival], "kind": "relevances shuffled"}
        measurements += measured(case, "tau_mechanical_floor", floor, kept, baseline, by, settings.draws)
    return CheckResult(
        check="agreement",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(e.id for e, k in zip(case.examples, kept, strict=True) if k),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"explainers": names, "without_floor": without_floor},
    )


def _of_pair(
    case: Case,
    settings: AgreementSettings,
    pair: Pair,
    found: stats.RankCorrelation,
    classes: dict[str, Bool[np.ndarray, " example"]],
    kept: Bool[np.ndarray, " example"],
) -> Iterator[Measurement]:
    """Overall and by predicted class; shares of significant correlations with and without correction."""
    by = {"pair": list(pair)}
    is_floor = "random" in pair
    baseline = "none: this is the floor" if is_floor else f"tau of {pair[0]} and random"
    yield from measured(case, "tau", found.correlation, kept, baseline, by, settings.draws)
    for label, members in classes.items():
        yield from measured(case, "tau", found.correlation, members, baseline, {**by, "class": label}, settings.draws)
    tested = kept & np.isfinite(found.p_value)
    adjusted = {
        "none": found.p_value,
        "benjamini-hochberg": stats.benjamini_hochberg(found.p_value, tested),
        "holm": stats.holm(found.p_value, tested),
    }
    for correction, p in adjusted.items():
        significant = np.where(tested, p <= settings.level, np.nan)
        chance = f"{settings.level:g} by chance" if correction == "none" else "0 by chance, nearly"
        where = {**by, "correction": correction}
        yield from measured(case, "significant_share", significant, kept, chance, where, settings.draws)


def _without_the_tail(
    case: Case,
    settings: AgreementSettings,
    pair: Pair,
    scores: dict[str, Scores],
    valid: Bool[np.ndarray, "example word"],
) -> Iterator[tuple[str, dict[str, Any], Float[np.ndarray, " example"]]]:
    """Measures that do not drown in the many words of hardly any weight: the top k, and τ among attended words."""
    x, y = (scores[name].sizes() for name in pair)
    by = {"pair": list(pair)}
    top = {**by, "k": settings.top_k}
    yield "top_k_overlap", top, stats.top_k_overlap(x, y, settings.top_k, valid)
    yield "top_k_distance", top, stats.kendall_top_k_distance(x, y, settings.top_k, valid)
    if pair[0] == case.heatmap.explainer:
        weights = np.where(valid, scores[pair[0]].sizes(), 0.0)
        uniform = weights.sum(1, keepdims=True) / np.maximum(valid.sum(1, keepdims=True), 1)
        attended = valid & (weights >= uniform - 1e-12)
        yield "tau_above_uniform", by, stats.kendall_tau(x, y, attended).correlation


def _differences(
    taus: dict[Pair, Float[np.ndarray, " example"]], heat: str
) -> Iterator[tuple[str, dict[str, list[str]], Float[np.ndarray, " example"]]]:
    """Jain & Wallace's Figures 3 and 4: how much more the other methods agree with each other than with the heatmap."""
    of = ("gradient", "leave_one_out")
    for minus in ((heat, "leave_one_out"), (heat, "gradient")):
        if of in taus and minus in taus:
            name = f"difference:{of[0]}|{of[1]}-{minus[0]}|{minus[1]}"
            yield name, {"of": list(of), "minus": list(minus)}, taus[of] - taus[minus]


def _without_floor(case: Case, settings: AgreementSettings, scores: dict[str, Scores]) -> dict[str, str]:
    """Other methods whose scores do not contain the weight as a factor on these texts, each with the evidence."""
    found = {}
    if "gradient" in scores and not gradient_contains_weight(case.subject, case.examples, seed=case.seed):
        found["gradient"] = (
            "words keep a gradient when their weight is removed, so the gradient is no multiple of the weight"
        )
    if "leave_one_out" in scores and not _is_context_free(case, settings, scores["leave_one_out"]):
        found["leave_one_out"] = "deleting a word does more than remove its term from the weighted sum"
    return found


def _mechanical_floors(
    case: Case,
    settings: AgreementSettings,
    scores: dict[str, Scores],
    valid: Bool[np.ndarray, "example word"],
    without_floor: Mapping[str, str],
) -> Iterator[tuple[str, Float[np.ndarray, " example"]]]:
    """Yield the τ that remains between attention and another method after shuffling that method's own factor."""
    if "attention" not in scores:
        return
    weights = np.where(valid, scores["attention"].values, 0.0)
    shuffled = [_shuffled(case, valid, number) for number in range(settings.shuffles)]
    if "gradient" in scores and "gradient" not in without_floor:
        # g_t = α_t u_t with constant attention: u goes to another word, α stays.
        factor = np.divide(scores["gradient"].values, weights, out=np.zeros_like(weights), where=weights > 0)
        rivals = [weights * np.take_along_axis(factor, order, 1) for order in shuffled]
        yield "gradient", _mean_tau(weights, rivals, valid)
    if "leave_one_out" in scores and "relevance" in scores and "leave_one_out" not in without_floor:
        # Without context a deleted word changes the logit by α_t (r_t − s) / (1 − α_t), s = Σ α_t r_t.
        total = weights.sum(1, keepdims=True)
        share = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        room = np.clip(1 - share, 1e-12, None)
        rivals = []
        for order in shuffled:
            votes = np.take_along_axis(scores["relevance"].values, order, 1)
            offset = votes - (share * votes).sum(1, keepdims=True)
            offset[np.abs(offset) < 1e-6 * np.abs(votes).max(1, keepdims=True)] = 0.0  # equal votes are ties
            rivals.append(np.abs(share * offset / room))
        yield "leave_one_out", _mean_tau(weights, rivals, valid)


def _is_context_free(case: Case, settings: AgreementSettings, found: Scores) -> bool:
    """Whether deleting a word only removes its term from the weighted sum; otherwise there is no floor."""
    readout = case.readout
    if readout is None or readout.of_word is None:
        return False
    weights, votes = readout.attention[:, 0], readout.relevance[:, 0]  # [example token], [example token label]
    rest = np.where(weights < 1 - 1e-9, 1 - weights, np.nan)[..., None]
    terms = weights[..., None] * votes
    without = (terms.sum(1, keepdims=True) - terms) / rest + readout.bias[:, 0][:, None]
    label = case.predicted[:, None, None]
    scale = case.scale_of(settings.logits)
    p = np.take_along_axis(softmax(scale * without, -1), label, 2)[..., 0]
    loss = np.take_along_axis(softmax(scale * readout.logits[:, 0], -1), label[:, 0], 1) - p
    expected, tokens = (
        np.concatenate(
            [row[found.valid[at, : len(row)]] for at, row in enumerate(of_words(each, readout.word, case.examples))]
        )
        for each in (loss, np.ones_like(loss))
    )
    told = np.isfinite(expected) & (tokens == 1)  # the terms of a word with several tokens do not add up
    seen = found.values[found.valid]
    return bool(told.any() and np.isclose(expected[told], seen[told], rtol=0, atol=1e-4).mean() > 0.99)


def _shuffled(case: Case, valid: Bool[np.ndarray, "example word"], number: int) -> np.ndarray:
    """A random permutation of each example's own words; other places stay."""
    order = np.tile(np.arange(valid.shape[1]), (len(valid), 1))
    for row, example in enumerate(case.examples):
        places = np.flatnonzero(valid[row])
        order[row, places] = stream(case.seed, "mechanical floor", number, example.id).permutation(places)
    return order


def _mean_tau(
    weights: Float[np.ndarray, "example word"], rivals: list[np.ndarray], valid: Bool[np.ndarray, "example word"]
) -> Float[np.ndarray, " example"]:
    each = np.stack([stats.kendall_tau(weights, rival, valid).correlation for rival in rivals])
    defined = np.isfinite(each)
    total = np.where(defined, each, 0.0).sum(0)
    mean: Float[np.ndarray, " example"] = np.full(len(total), np.nan)
    np.divide(total, defined.sum(0), out=mean, where=defined.any(0))
    return mean


def _cost(case: Case, settings: AgreementSettings) -> int:
    # The gradient twice: the second time to see whether it contains the weights.
    again = 2 * len(case.examples) if "gradient" in settings.explainers else 0
    return to_explain(case, settings.explainers) + again


agreement = Check(
    name="agreement",
    question="Does attention rank words like gradients and leave-one-out do, and how much of this is mechanical?",
    paper="Jain & Wallace 2019, Algorithm 1; Neely et al. 2021",
    holds="re-encoded",
    baseline="random scores; shuffled relevances; gradients under uniform weights; agreement among the other methods",
    settings=AgreementSettings,
    measure=measure,
    cost=_cost,
)
