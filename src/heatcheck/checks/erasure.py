"""How much does the answer change when heatcheck removes the highlighted words?

K compares the effect C of removing the top 1, 2 and 4 words by attention with that of the best other method that ranks
words without a sign, both above random removal: K = (C(α) − C(random)) / (C(best) − C(random)). heatcheck chooses the
best method for each half of the examples on the other half, so that the choice does not flatter it. Words that a
heatmap leaves blank have no order among themselves, because a reader cannot see one.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import to_explain
from heatcheck.checks.texts_without_words import (
    Order,
    Orders,
    Places,
    Wanted,
    losses,
    mean_of_orders,
    orders_of,
    random_orders,
    read_without,
)
from heatcheck.engine import stream
from heatcheck.errors import BadInput, UnknownName
from heatcheck.explainers import REMOVALS, Scores
from heatcheck.results import CheckResult, Measurement

Effects = Float[np.ndarray, " example"]
BLANK = 0.05  # of a text's largest score: what a heatmap of eleven shades, scaled to that score, leaves blank
RANDOM = "random orders"  # internal name, because an explainer may be called random too


@dataclass(frozen=True)
class ErasureSettings:
    """The words to remove, how to remove them, and the methods to compare with."""

    explainer: str = "attention"
    sizes: tuple[int, ...] = (1, 2, 4)  # numbers of words to remove; one word always stays
    operators: tuple[str, ...] = ("deletion", "masking")
    rivals: tuple[str, ...] = ("leave_one_out", "gradient_x_input", "integrated_gradients")
    random_orders: int = 5
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        for operator in self.operators:
            if operator not in REMOVALS:
                raise UnknownName("removal operator", operator, REMOVALS)
        at_least_one(self, "erasure", "random_orders", "draws")
        if not self.sizes or min(self.sizes) < 1:
            raise BadInput(f"erasure.sizes must be whole numbers of at least 1, not {self.sizes}.")


def measure(case: Case, settings: ErasureSettings) -> CheckResult:
    """Measure effects on the predicted label's standardised probability, by deletion and by masking."""
    ranked, not_run = case.available((settings.explainer, *settings.rivals))
    rivals = [name for name in settings.rivals if name in ranked]
    if settings.explainer not in ranked or not rivals:
        why = "; ".join(f"{name}: {reason}" for name, reason in not_run.items())
        needed = f"erasure needs {settings.explainer} and at least one other method (erasure.rivals)"
        raise BadInput(f"{needed}; not run: {why}" if why else f"{needed}.")
    excluded = case.exclusions(ranked)
    rows = [row for row, example in enumerate(case.examples) if example.id not in excluded]
    if not rows:
        raise BadInput(
            f"erasure can use none of the examples. The first one was left out: {next(iter(excluded.values()))}."
        )
    valid = np.logical_and.reduce([scores.valid for scores in ranked.values()])

    orders = orders_of(case, {**ranked, settings.explainer: as_drawn(ranked[settings.explainer])}, rows)
    orders[RANDOM] = random_orders(case, rows, valid[rows], settings.random_orders)
    measurements: list[Measurement] = []
    per_example: dict[str, Effects] = {}
    for operator in settings.operators:
        effects = _effects(case, settings, rows, orders, operator)
        shown = _summaries(case, np.array(rows), effects, rivals)
        for name, effect in shown.items():
            per_example[f"effect:{name}:{operator}"] = effect
            by = {"ranking": name, "operator": operator}
            baseline = "none: this is the floor" if name == "random" else "effect of random removal"
            measurements += measured(case, "effect", effect, np.ones(len(rows), bool), baseline, by, settings.draws)
        measurements += _ratios(case, settings, operator, per_example)
        measurements += _beyond_random(case, settings, operator, shown)
    return CheckResult(
        check="erasure",
        subject=case.subject.id,
        holds="re-encoded",
        measurements=tuple(measurements),
        examples=tuple(case.examples[row].id for row in rows),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"rivals": rivals, "logit_scale": case.logit_scale},
    )


def as_drawn(scores: Scores) -> Scores:
    """The scores as a heatmap shows them: blank words get 0. Other methods are not heatmaps and keep their order."""
    sizes = np.where(scores.valid, scores.sizes(), 0.0)
    blank = sizes <= BLANK * sizes.max(axis=1, keepdims=True, initial=0.0)
    return replace(scores, values=np.where(blank & scores.valid, 0.0, scores.values))


def _effects(
    case: Case, settings: ErasureSettings, rows: list[int], orders: dict[str, Orders], operator: str
) -> dict[str, Effects]:
    """Mean |Δp| over the sizes and orders, per example and ranking."""
    at = {row: place for place, row in enumerate(rows)}

    def tops(order: Order) -> list[Places]:
        # One word is always left.
        return [frozenset(order[: min(size, len(order) - 1)]) for size in settings.sizes]

    def wanted(row: int) -> Wanted:
        return {
            (name, draw): tops(of_rows[at[row]]) for name, draws in orders.items() for draw, of_rows in enumerate(draws)
        }

    return mean_of_orders(
        {
            order: np.asarray(np.abs(losses(case, rows, logs, standardised=True)).mean(1))
            for order, logs in read_without(case, rows, wanted, operator).items()
        }
    )


def _summaries(case: Case, rows: np.ndarray, effects: dict[str, Effects], rivals: list[str]) -> dict[str, Effects]:
    """Effects by the names shown, and the best other method of each half as chosen on the other half."""
    shown = {name: effect for name, effect in effects.items() if name != RANDOM}
    shown["random"] = effects[RANDOM]
    first = np.array([stream(case.seed, "half", case.examples[row].id).random() < 0.5 for row in rows])
    signed = [f"{name} (signed)" for name in rivals if f"{name} (signed)" in effects]
    for title, candidates in (("best rival", rivals), ("best signed rival", signed)):
        if not candidates:
            continue
        chosen = np.full(len(rows), np.nan)
        for half in (first, ~first):
            other = ~half if (~half).any() else half
            best = max(candidates, key=lambda name: effects[name][other].mean())
            chosen[half] = effects[best][half]
        shown[title] = chosen
    return shown


def _ratios(case: Case, settings: ErasureSettings, operator: str, effects: dict[str, Effects]) -> Iterator[Measurement]:
    """Yield K, its denominator, and K compared with the best signed ranking: ratios of means, resampled jointly."""
    by = {"operator": operator}
    own, floor = (effects[f"effect:{name}:{operator}"] for name in (settings.explainer, "random"))

    def interval(name: str, rival: Effects, statistic: Callable[[np.ndarray], np.ndarray]) -> stats.Interval:
        generator = stream(case.seed, "bootstrap", name, operator)
        columns = np.stack([own, floor, rival], axis=1)
        return stats.bootstrap_interval(columns, statistic, generator=generator, draws=settings.draws)

    def share(mean: np.ndarray) -> np.ndarray:
        return np.asarray((mean[:, 0] - mean[:, 1]) / (mean[:, 2] - mean[:, 1]))

    best = effects[f"effect:best rival:{operator}"]
    baseline = "0: random words; 1: the best other method that ranks words without a sign"
    yield Measurement("K", *interval("K", best, share), baseline=baseline, by=by)
    room = interval("room", best, lambda mean: np.asarray(mean[:, 2] - mean[:, 1]))
    yield Measurement("room", *room, baseline="0: no other method beats random words", by=by)
    if (signed := effects.get(f"effect:best signed rival:{operator}")) is not None:
        k_signed = interval("K signed", signed, share)
        yield Measurement("K_signed", *k_signed, baseline="0: random words; 1: the best method with a sign", by=by)


def _beyond_random(
    case: Case, settings: ErasureSettings, operator: str, effects: dict[str, Effects]
) -> Iterator[Measurement]:
    """The effect of each ranking's words beyond random ones: which method to show instead of a heatmap that fails."""
    everyone = np.ones(len(effects["random"]), bool)
    for ranking, effect in effects.items():
        if ranking != "random":
            by = {"ranking": ranking, "operator": operator}
            beyond = effect - effects["random"]
            yield from measured(case, "beyond_random", beyond, everyone, "0: random removal", by, settings.draws)


def _cost(case: Case, settings: ErasureSettings) -> int:
    """An upper bound on the forward passes: texts that rankings share are read once."""
    rankings = 1 + 2 * len(settings.rivals) + settings.random_orders
    removals = rankings * len(settings.sizes) * len(settings.operators) * len(case.examples)
    return removals + to_explain(case, (settings.explainer, *settings.rivals))


erasure = Check(
    name="erasure",
    question="How much does the answer change when heatcheck removes the highlighted words?",
    paper="Serrano & Smith 2019; DeYoung et al. 2020 (ERASER)",
    holds="re-encoded",
    baseline="random words, and the best other method that ranks words without a sign",
    settings=ErasureSettings,
    measure=measure,
    cost=_cost,
)
