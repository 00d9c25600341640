"""How much do attention weights and answers differ between models that differ only in their random seed?

The same recipe with another seed is the most harmless change there is. Its effect on heatmaps and answers is the
baseline for adversaries and all other retrained models.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.gauge import jensen_shannon as between_weights
from heatcheck.checks.permutation import BINS, bin_of
from heatcheck.checks.retrained_answers import honest_seeds, seed_recipes, tempered, total_variation
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Recipe
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import Recorded

BASELINES = {
    "jsd": "0: every seed has the same weights; 0.693 nats: no word in common",
    "tvd": "0: every seed gives the same probabilities",
    "agreement": "1: every seed makes the same decisions",
}
BETWEEN_ALL = {  # quantity of pairs of seeds -> its measurement, and the quantity with the same baseline
    "jsd": ("jsd_pairs", "jsd"),
    "tvd": ("tvd_pairs", "tvd"),
    "tvd_tempered": ("tvd_pairs_tempered", "tvd"),
    "agreement": ("agreement_pairs", "agreement"),
}
Values = Float[np.ndarray, " example"]
Pairs = Float[np.ndarray, "draw draw example"]


@dataclass(frozen=True)
class SeedVarianceSettings:
    """The number of seeds, including the audited model."""

    seeds: int = 5
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "seed_variance", "draws")
        if self.seeds < 2:
            raise BadInput(f"seed_variance.seeds must be at least 2 (it includes the audited model), not {self.seeds}.")


def measure(case: Case, settings: SeedVarianceSettings) -> CheckResult:
    """Compare weights and answers of the audited model with its other seeds, and those of all pairs of seeds."""
    fits, not_run = honest_seeds(case, settings.seeds)
    if len(fits) < 2:
        raise NotSupported(f"there is no other seed of the model to compare with: {next(iter(not_run.values()))}")
    jsd, tvd, same = (of_pairs(fits, apart) for apart in (jensen_shannon, between_answers, same_decision))
    values = {
        "jsd": np.median(jsd[0, 1:], axis=0),
        "tvd": tvd[0, 1:].mean(0),
        "agreement": same[0, 1:].mean(0),
        "max_attention": case.own.weights.max(1).astype(float),
    }
    pairs = {"jsd": jsd, "tvd": tvd, "tvd_tempered": of_pairs(fits, between_tempered), "agreement": same}
    return CheckResult(
        check="seed_variance",
        subject=case.subject.id,
        holds="retrained",
        measurements=(*_against_subject(case, settings, values), *_between_all(pairs)),
        examples=tuple(example.id for example in case.tested),
        per_example={
            **{name: values[name] for name in ("jsd", "tvd", "max_attention")},
            "predicted": case.own.predicted.astype(float),
        },
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        not_run=dict(not_run),
        facts={"fitted": len(fits)},
    )


def of_pairs(fits: Sequence[Recorded], apart: Callable[[Recorded, Recorded], Values]) -> Pairs:
    """A symmetric quantity of every pair of models on every example; 0 on the diagonal."""
    found = np.zeros((len(fits), len(fits), len(fits[0].ids)))
    for first, second in combinations(range(len(fits)), 2):
        found[first, second] = found[second, first] = apart(fits[first], fits[second])
    return found


def jensen_shannon(one: Recorded, other: Recorded) -> Values:
    """The Jensen–Shannon divergence between the weights, in nats."""
    return between_weights(one.weights, other.weights)


def between_answers(one: Recorded, other: Recorded) -> Values:
    """The total variation between the probabilities."""
    return total_variation(one.probabilities, other.probabilities)


def between_tempered(one: Recorded, other: Recorded) -> Values:
    """The total variation after one temperature for all examples, mean over which of the two is tempered."""
    each = [
        total_variation(tempered(moved.log_probabilities[:, 0], still.probabilities), still.probabilities)
        for moved, still in ((one, other), (other, one))
    ]
    return np.asarray(np.mean(each, axis=0))


def same_decision(one: Recorded, other: Recorded) -> Values:
    """1 if both make the same decision, else 0."""
    return np.asarray((one.predicted == other.predicted).astype(float))


def _against_subject(case: Case, settings: SeedVarianceSettings, values: dict[str, Values]) -> Iterator[Measurement]:
    """Yield results overall, by the audited model's predicted class, and by class and quarter of its largest weight."""
    everyone = np.ones(len(case.tested), dtype=bool)
    for name, baseline in BASELINES.items():
        yield from measured(case, name, values[name], everyone, baseline, {}, settings.draws)
    quarter = bin_of(values["max_attention"])
    for name in ("jsd", "tvd"):
        for number, label in enumerate(case.labels):
            members = case.own.predicted == number
            by = {"class": label}
            yield from measured(case, name, values[name], members, BASELINES[name], by, settings.draws)
            for place, title in enumerate(BINS):
                among, where = members & (quarter == place), {**by, "bin": title}
                yield from measured(case, name, values[name], among, BASELINES[name], where, settings.draws)


def _between_all(pairs: dict[str, Pairs]) -> Iterator[Measurement]:
    """Yield means over all pairs of seeds."""
    for name, of in pairs.items():
        quantity, like = BETWEEN_ALL[name]
        yield Measurement(quantity, *stats.pairs_interval(of), baseline=BASELINES[like], by={})


def plan(case: Case, settings: SeedVarianceSettings) -> list[Recipe]:
    """Recipes with other seeds."""
    return [] if case.fits is None else seed_recipes(case, settings.seeds)[1:]


seed_variance = Check(
    name="seed_variance",
    question="How much do weights and answers differ between seeds?",
    paper="Wiegreffe & Pinter 2019, §3.2",
    holds="retrained",
    baseline="none: this is the baseline for other retrained models",
    settings=SeedVarianceSettings,
    measure=measure,
    cost=lambda case, settings: settings.seeds * len(case.tested),
    plan=plan,
    refits=True,
    of="last layers",
)
