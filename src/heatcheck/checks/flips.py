"""How many attention weights must heatcheck remove before the decision flips?

heatcheck removes weights from the top of a ranking, one after the other. The other weights share the rest, and the
hidden states stay the same. A ranking that knows for which label each token speaks has an advantage that no attention
heatmap can have. So rankings with and without a sign are reported separately, and the first result is how much of the
published gap the sign explains.

Texts that never flip are never dropped. They count as right-censored (survival curves), or as 1 (`fraction_censored`).
Means over texts that do flip are given over the ranking's own texts, and over texts that flip under every ranking.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import STANDARDISED, Case
from heatcheck.checks.check import Check, at_least_one, known_logits, measured
from heatcheck.checks.logits_without_weights import WeightRemovals, weight_removals
from heatcheck.checks.passes import to_explain, to_try, tokens
from heatcheck.checks.single_weight import single_measurements, single_removals, single_values
from heatcheck.checks.weight_rankings import ATTENTION, PRODUCT, RANDOM, Orders, explained, rankings_of, signed
from heatcheck.engine import stream
from heatcheck.errors import BadInput
from heatcheck.models import AttendsToParts
from heatcheck.results import CheckResult, Measurement

Values = Float[np.ndarray, " example"]
EMPTIED: dict[str, stats.Emptied] = {"zero context": "bias", "uniform weights": "uniform"}


@dataclass(frozen=True)
class FlipsSettings:
    """The rankings by which weights are removed, and the decision when none is left."""

    explainers: tuple[str, ...] = ("leave_one_out",)  # besides attention, its gradient, their product, random order
    random_orders: int = 5
    emptied: str = "zero context"  # Serrano & Smith; or "uniform weights", Mohankumar et al.
    shares: tuple[float, ...] = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)  # of the tokens, at which survival is reported
    logits: str = STANDARDISED  # whose probabilities change; or "published", the model's own
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "flips", "random_orders", "draws")
        known_logits(self, "flips")
        if self.emptied not in EMPTIED:
            raise BadInput(f"flips.emptied must be {' or '.join(EMPTIED)}, not {self.emptied!r}.")
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise BadInput(f"flips.shares must be shares of the tokens, above 0 and at most 1, not {self.shares}.")


@dataclass(frozen=True)
class _Flips:
    """When each example flips under one ranking, with one row per random order of ties."""

    fraction: Float[np.ndarray, "draw example"]  # of the tokens; inf: never
    mass: Float[np.ndarray, "draw example"]  # of the weight; nan: never

    @property
    def ever(self) -> Bool[np.ndarray, "draw example"]:
        return np.asarray(np.isfinite(self.fraction))

    @property
    def censored(self) -> Values:
        """The share removed until the flip; never counts as 1."""
        return np.asarray(np.minimum(self.fraction, 1.0).mean(0))

    def mean_of(self, what: Float[np.ndarray, "draw example"]) -> Values:
        """The mean over the orders that flip; nan if none does."""
        total, n = np.where(self.ever, what, 0.0).sum(0), self.ever.sum(0)
        return np.asarray(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))


def measure(case: Case, settings: FlipsSettings) -> CheckResult:
    """Measure flips by every ranking, and the effect of removing a single weight."""
    rankings = 7 + 2 * len(settings.explainers) + settings.random_orders
    removals = weight_removals(case, EMPTIED[settings.emptied], rankings)
    unit = case.subject.part if isinstance(case.subject, AttendsToParts) else "token"
    scores, not_run = explained(case, settings.explainers, unit, settings.logits)
    excluded = {
        example.id: f"it has only one {unit}, and nothing is left without it"
        for example, n in zip(case.examples, case.tokens, strict=True)
        if n < 2
    }
    for name, found in scores.items():
        excluded |= {of: f"{name}: {why}" for of, why in found.missing.items() if of not in excluded}
    kept = np.array([example.id not in excluded for example in case.examples])
    if not kept.any():
        raise BadInput(
            f"flips can use none of the examples. The first one was left out: {next(iter(excluded.values()))}."
        )
    every = rankings_of(case, removals.slope(), scores, removals.word, settings.random_orders)
    flips = {name: _flips(case, removals, orders) for name, orders in every}
    weights, allowed = case.weights
    scale = case.scale_of(settings.logits)
    keys, *_ = case.tie_orders(stats.level_ties(weights, allowed), allowed)
    singles = single_removals(weights, allowed, scale * removals.logits, scale * removals.without_each(), keys)
    default = (removals.emptied().argmax(-1) == removals.logits.argmax(-1)) * 1.0
    values = {
        "evenness": stats.evenness(weights, allowed),
        "max_attention": case.max_attention,
        "tokens": case.tokens.astype(float),
        **_per_example(flips),
        **single_values(singles),
    }
    measurements = [
        *_sign(case, settings, flips, kept),
        *_multi_weight(case, settings, flips, kept),
        *_head_to_head(case, settings, flips, kept),
        *measured(case, "default", default, kept, "none: the decision of the bias alone", {}, settings.draws),
        *measured(case, "evenness", values["evenness"], kept, "1: uniform weights", {}, settings.draws),
        *single_measurements(case, singles, kept, settings.draws),
    ]
    return CheckResult(
        check="flips",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(measurements),
        examples=tuple(e.id for e, k in zip(case.examples, kept, strict=True) if k),
        per_example={name: of_all[kept] for name, of_all in values.items()},
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"removed": f"{unit}s", "rankings": list(flips)},
    )


def _flips(case: Case, removals: WeightRemovals, orders: Orders) -> _Flips:
    found = [removals.first_flip(scores) for scores in orders]
    fraction = np.stack([one.removals for one in found]) / np.maximum(case.tokens, 1)
    return _Flips(fraction, np.stack([one.weight for one in found]))


def _per_example(flips: Mapping[str, _Flips]) -> dict[str, Values]:
    """Values per example; `fraction` is nan for a text that never flips, and of the first order, as in the paper."""
    found: dict[str, Values] = {}
    for name, of in flips.items():
        found[f"fraction:{name}"] = np.where(of.ever[0], of.fraction[0], np.nan)
        found[f"censored:{name}"] = of.censored
        found[f"mass:{name}"] = of.mass[0]
    return found


def _sign(
    case: Case, settings: FlipsSettings, flips: Mapping[str, _Flips], kept: Bool[np.ndarray, " example"]
) -> Iterator[Measurement]:
    """Yield the gap between attention and signed gradient × attention, and the share of it that the sign explains.

    The share is left out if the interval of the gap includes 0.
    """
    columns = np.stack([flips[name].censored for name in (ATTENTION, PRODUCT, signed(PRODUCT))], axis=1)
    for over, among in (("all", kept), ("common", kept & _common(flips))):
        if not among.any():
            continue

        def interval(
            name: str, statistic: Callable[[np.ndarray], np.ndarray], over: str = over, among: np.ndarray = among
        ) -> stats.Interval:
            generator = stream(case.seed, "bootstrap", name, over)
            return stats.bootstrap_interval(columns, statistic, generator=generator, draws=settings.draws, valid=among)

        gap = interval("gap", lambda mean: np.asarray(mean[:, 0] - mean[:, 2]))
        yield Measurement("gap", *gap, baseline="0: attention needs no more removals", by={"over": over})
        if gap.low > 0:
            share = interval(
                "sign_share", lambda mean: np.asarray((mean[:, 1] - mean[:, 2]) / (mean[:, 0] - mean[:, 2]))
            )
            baseline = "0: the sign explains none of the gap; 1: all of it"
            yield Measurement("sign_share", *share, baseline=baseline, by={"over": over})


def _common(flips: Mapping[str, _Flips]) -> Bool[np.ndarray, " example"]:
    """The texts that flip under every ranking, random orders included."""
    return np.asarray(np.logical_and.reduce([of.ever.all(0) for of in flips.values()]))


def _multi_weight(
    case: Case, settings: FlipsSettings, flips: Mapping[str, _Flips], kept: Bool[np.ndarray, " example"]
) -> Iterator[Measurement]:
    common = _common(flips)
    draws = settings.draws
    yield from measured(case, "common", common * 1.0, kept, "1: every text flips under every ranking", {}, draws)
    for name, of in flips.items():
        by = {"ranking": name}
        beside = "none: this is the floor" if name == RANDOM else "random order"
        yield from measured(case, "fraction_censored", of.censored, kept, beside, by, draws)
        for over, among in (("own", kept), ("common", kept & common)):
            where = {**by, "over": over}
            yield from measured(case, "fraction", of.mean_of(of.fraction), among, beside, where, draws)
            first = among & of.ever[0]
            if first.any():
                yield Measurement("median_fraction", *stats.median_interval(of.fraction[0], valid=first), beside, where)
        never = 1.0 - of.ever.mean(0)
        yield from measured(case, "never", never, kept, "default: the decision without any weights", by, draws)
        yield from measured(case, "mass", of.mean_of(of.mass), kept, beside, by, draws)
        for share in settings.shares:
            alive = (of.fraction > share).mean(0)
            yield from measured(case, "survival", alive, kept, beside, {**by, "removed": share}, draws)


def _head_to_head(
    case: Case, settings: FlipsSettings, flips: Mapping[str, _Flips], kept: Bool[np.ndarray, " example"]
) -> Iterator[Measurement]:
    """Yield the shares of texts in which a ranking needs fewer, or more, removals than attention; never is the most."""
    own = flips[ATTENTION].fraction[None]
    for name, of in flips.items():
        if name == ATTENTION:
            continue
        other = of.fraction[:, None]  # each of its orders against each of attention's
        for outcome, share in (("fewer", (other < own).mean((0, 1))), ("more", (other > own).mean((0, 1)))):
            by = {"ranking": name, "against": ATTENTION, "outcome": outcome}
            yield from measured(
                case, "head_to_head", share, kept, "the share with the other outcome", by, settings.draws
            )


def _cost(case: Case, settings: FlipsSettings) -> int:
    """One pass per text for the hidden states, the cost of the explainers, and one removal per token and ranking."""
    rankings = 2 * (3 + len(settings.explainers)) + settings.random_orders  # by size, with the sign, at random
    removals = to_try(case, rankings * float(np.mean(tokens(case))))
    return len(case.examples) + to_explain(case, settings.explainers) + removals


flips = Check(
    name="flips",
    question="How many weights must be removed before the decision flips, and how much does a sign help?",
    paper="Serrano & Smith 2019; as an option, Mohankumar et al. 2020",
    holds="states",
    baseline="random order, and rankings with and without a sign",
    settings=FlipsSettings,
    measure=measure,
    cost=_cost,
    of="weights",
)
