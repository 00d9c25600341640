"""When during training does attention begin to follow relevance (how much each word's state speaks for the label)?

Snell et al. 2021: under near-uniform weights a model first learns the relevance of each word, as a bag of words would.
The weights then move to words of high relevance, because ∂logit/∂score_t = α_t (r_t − Σ_s α_s r_s). If so, relevances
of a model *trained with uniform weights* predict the attention of another model, which it never saw.

heatcheck retrains the recipe with other seeds, as often with uniform weights and as a bag of words, and records each
training run (training/observing.py). The models with uniform weights have their own seeds: two models with the same
start and the same order of texts would agree for that reason alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one
from heatcheck.checks.observed_texts import log_odds_of, shown_texts
from heatcheck.checks.observed_trainings import SCORES, Scores, Seed, Trainings
from heatcheck.checks.retrained_answers import fits_of, imposing, seed_recipes
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import KnowsItsTwins, Recipe
from heatcheck.results import CheckResult, Measurement
from heatcheck.stats.agreement_top import SHARE as TOP_SHARE
from heatcheck.training import (
    LEFT_OUT,
    OF_TOKENS,
    Observed,
    TrainingSettings,
    checkpoint_steps,
    describe,
    observed_steps,
    plan_observe,
    probe_of,
    read_observed,
    steps_of,
)

UNIFORM_SEED, PROXY_SEED = 2000, 3000  # added to the recipe's seed, so that no two models start alike
FLOOR = "A_floor of the same pair: the second scores shuffled"
INFLUENCES = {"gate": "influence", "leave_one_out": "leave-one-out influence"}  # their names in the results


@dataclass(frozen=True)
class DynamicsSettings:
    """The number of seeds, checkpoints and texts to record."""

    seeds: int = 5
    checkpoints: int = 20
    examples: int = 200
    top: float = TOP_SHARE  # share of the words that count as the top
    influence: str = "gate"  # how to measure it: the gradient of a gate on the embedding, or leave_one_out
    as_published: bool = False  # influence with the opposite sign, as in the released code
    shown: int = 3  # texts whose weights and relevances over training are kept for the figure

    def __post_init__(self) -> None:
        at_least_one(self, "dynamics", "seeds", "examples")
        if self.checkpoints < 2:
            raise BadInput(
                f"dynamics.checkpoints must be at least 2 (it includes start and end), not {self.checkpoints}."
            )
        if self.influence not in INFLUENCES:
            raise UnknownName("dynamics.influence", self.influence, INFLUENCES)
        if not 0 < self.top <= 1:
            raise BadInput(f"dynamics.top must be a share of the words, above 0 and at most 1, not {self.top}.")
        if self.shown < 0:
            raise BadInput(f"dynamics.shown must be at least 0, not {self.shown}.")


class Recipes(NamedTuple):
    """The recorded training runs, by kind and place among the seeds."""

    learned: list[Recipe]
    uniform: list[Recipe]
    proxy: list[Recipe]


# Is the first's highest word among the second's top words? The first pair is the question of the check.
PAIRS = (
    ("attention", "final uniform relevance"),
    ("attention", "relevance"),
    ("influence", "final uniform relevance"),
    ("final attention", "uniform relevance"),
    ("uniform relevance", "proxy relevance"),
    ("uniform relevance", "log-odds"),
)
FORETELLING = ("final uniform relevance", "relevance", "influence", "proxy relevance", "log-odds")  # each has a ξ


def measure(case: Case, settings: DynamicsSettings) -> CheckResult:
    """Measure agreements during training with their floors, evenness, accuracy, the start of agreement, and ξ."""
    if isinstance(case.subject, KnowsItsTwins):
        raise NotSupported(f"{case.subject.id} is written by hand, so there is no training to record.")
    if (reason := _not_observable(fits_of(case).recipe)) is not None:
        raise NotSupported(f"{case.subject.id} {reason}.")
    not_run: dict[str, str] = {}
    found = _observe(case, settings, not_run)
    kept = dict(zip(found.first.ids, found.kept.tolist(), strict=True))
    per_example: dict[str, np.ndarray] = {}
    measurements = [
        *_accuracies(found),
        *_evenness(found),
        *(row for pair in PAIRS for row in _agreement(found, _named(pair, settings), per_example)),
        *_foretold(found, _named(FORETELLING, settings)),
    ]
    probe = probe_of(_observing(case, settings), fits_of(case).corpus)
    shown = [
        text
        for seed in found.seeds[:1]
        if seed.learned is not None and seed.uniform is not None
        for text in shown_texts(
            case.subject, probe, fits_of(case).corpus.labels, seed.learned, seed.uniform, settings.shown
        )
    ]
    return CheckResult(
        check="dynamics",
        subject=case.subject.id,
        holds="retrained",
        measurements=tuple(measurements),
        examples=tuple(name for name in kept if kept[name]),
        per_example=per_example,
        excluded={name: "fewer than two words to rank" for name in kept if not kept[name]},
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={
            "steps": list(found.steps),
            "split": _observing(case, settings)["split"],
            "fitted": {kind: sum(getattr(seed, kind) is not None for seed in found.seeds) for kind in Recipes._fields},
            "shown_texts": shown,
        },
    )


def _named(quantities: tuple[str, ...], settings: DynamicsSettings) -> tuple[str, ...]:
    """The names, with the kind of influence that was asked for."""
    return tuple(INFLUENCES[settings.influence] if name == "influence" else name for name in quantities)


# The fits --------------------------------------------------------------------------------------------------------


def plan(case: Case, settings: DynamicsSettings) -> list[Recipe]:
    """Recipes to record for each seed: with learned weights, with uniform ones, and as a bag of words."""
    if case.fits is None or _not_observable(case.fits.recipe) is not None:
        return []
    return [recipe for of_kind in _recipes(case, settings) for recipe in of_kind]


def _not_observable(recipe: Recipe) -> str | None:
    """Why a model's relevances cannot be recorded; None if they can."""
    if "hf" in recipe.model or recipe.model.get("decoder") == "merge":
        return "has no relevances to record, because its logits are not linear in the weights"
    if recipe.model.get("hierarchical"):
        return "attends to sentences; this check needs weights on words"
    return "makes several decisions per text; this check supports one" if recipe.model.get("label_wise") else None


def _observing(case: Case, settings: DynamicsSettings) -> dict[str, object]:
    fits = fits_of(case)
    training = TrainingSettings(**fits.recipe.training)
    steps = checkpoint_steps(steps_of(training, len(fits.corpus["train"])), settings.checkpoints)
    split = "test" if fits.corpus.splits.get("test") else "dev"
    return plan_observe(steps, examples=settings.examples, split=split)


def _recipes(case: Case, settings: DynamicsSettings) -> Recipes:
    """The model's recipe without early stopping, so that all training runs have the same steps."""
    own, observe = fits_of(case).recipe, _observing(case, settings)
    honest = [
        replace(recipe, training={**own.training, "patience": 0}, observe=observe)
        for recipe in seed_recipes(case, settings.seeds)
    ]
    uniform = [imposing(replace(recipe, seed=recipe.seed + UNIFORM_SEED), weights="uniform") for recipe in honest]
    # The mean of the embeddings, and a linear map of it: the published proxy, trained as the others are.
    proxy = [
        replace(
            imposing(replace(recipe, seed=recipe.seed + PROXY_SEED), weights="uniform"),
            model={**own.model, "encoder": "none"},
        )
        for recipe in honest
    ]
    # Only runs with learned weights record influence; the others do not depend on how it is measured.
    more = {} if settings.influence == "gate" else {"quantities": [*OF_TOKENS, LEFT_OUT]}
    learned = [replace(recipe, observe={**observe, **more}) for recipe in honest]
    return Recipes(learned, uniform, proxy)


def _observe(case: Case, settings: DynamicsSettings, not_run: dict[str, str]) -> Trainings:
    """Read every recorded run; the reasons for missing ones go to `not_run`."""
    fits, recipes = fits_of(case), _recipes(case, settings)

    def seen(recipe: Recipe) -> Sequence[Observed] | None:
        try:
            folder = fits.folder_of(recipe)
        except NotSupported as error:
            not_run[describe(recipe)] = str(error)
            return None
        every = [read_observed(folder, step) for step in observed_steps(folder)]
        return [
            one for one in every if isinstance(one, Observed)
        ]  # all of them: sequence-to-sequence models are not audited

    made = {kind: [seen(recipe) for recipe in of_kind] for kind, of_kind in recipes._asdict().items()}
    every = [found for of_kind in made.values() for found in of_kind if found is not None]
    if not any(made["learned"]):
        raise NotSupported(f"no training run of the model was recorded: {next(iter(not_run.values()))}")
    first = every[0][0]
    if any(len(found) != len(every[0]) or not np.array_equal(found[0].lengths, first.lengths) for found in every):
        raise NotSupported("the recorded training runs do not have the same steps and words: delete their folders.")
    log_odds = None
    try:
        log_odds = log_odds_of(case.subject, probe_of(_observing(case, settings), fits.corpus), first.valid)
    except NotSupported as error:
        not_run["log-odds"] = str(error)
    sign = -1 if settings.as_published else 1
    return Trainings(
        [
            Seed(learned, uniform, proxy, log_odds, sign)
            for learned, uniform, proxy in zip(made["learned"], made["uniform"], made["proxy"], strict=True)
        ],
        [found.step for found in every[0]],
        first.valid,
        first.lengths > 1,
        settings.top,
    )


# What is measured ------------------------------------------------------------------------------------------------


def _accuracies(found: Trainings) -> Iterator[Measurement]:
    """Yield the accuracy on the recorded texts, for each kind of model at each checkpoint."""
    gold = found.first.gold[found.kept]
    share = float((gold == np.bincount(gold).argmax()).mean())
    yield Measurement("prior", share, share, share, len(gold), "none: this is the floor on these texts", {})
    for kind in Recipes._fields:
        right = found.over(kind, lambda seen: seen.right)
        if right is not None:
            yield from _by_step("accuracy", right, found.steps, "prior", {"fit": kind})


def _evenness(found: Trainings) -> Iterator[Measurement]:
    """Yield the evenness of the weights: their entropy over that of uniform ones."""
    even = found.over("learned", lambda seen: stats.evenness(seen.padded("attention"), seen.valid))
    if even is not None:
        yield from _by_step("evenness", even, found.steps, "1: uniform weights; 0: all on one token", {})


def _agreement(found: Trainings, pair: tuple[str, ...], per_example: dict[str, np.ndarray]) -> Iterator[Measurement]:
    """Yield A, its floor, their difference and τ of a pair at each checkpoint, and the summary of these."""
    agreed = found.compared(pair, lambda u, v: stats.top_agreement(u, v, found.ranked, found.top))
    if agreed is None:
        return
    floor = found.compared(pair, lambda _, v: stats.top_agreement_floor(v, found.ranked, found.top))
    tau = found.compared(pair, lambda u, v: stats.kendall_tau(u, v, found.ranked).correlation)
    assert floor is not None
    assert tau is not None
    by = {"pair": list(pair)}
    above = list(_by_step("A_above", agreed - floor, found.steps, "0: the floor", by))
    curves = {
        "A": list(_by_step("A", agreed, found.steps, FLOOR, by)),
        "A_floor": list(_by_step("A_floor", floor, found.steps, "none: this is the floor", by)),
        "A_above": above,
        "tau": list(_by_step("tau", tau, found.steps, "0: no order in common", by)),
    }
    best = int(agreed.mean(axis=(0, 2)).argmax())
    for rows in curves.values():
        yield from rows
        yield from (row._replace(by={**row.by, "at": "last"}) for row in rows if row.by["step"] == found.steps[-1])
    yield curves["A"][best]._replace(by={**by, "step": found.steps[best], "at": "max"})
    yield _start(above, by)
    per_example["A:" + ", ".join(pair)] = agreed[:, -1].mean(0)
    per_example["A_floor:" + ", ".join(pair)] = floor[:, -1].mean(0)


def _start(above: Sequence[Measurement], by: Mapping[str, object]) -> Measurement:
    """The first step after which A stays above its floor; the ends of the interval are the steps around it."""
    stays = [all(row.low > 0 for row in above[at:]) for at in range(len(above))]
    baseline = f"{above[-1].by['step']}: the last step"
    if not stays[-1]:
        last = float(above[-1].by["step"])
        return Measurement("starts", np.inf, last, np.inf, above[-1].n, baseline, by)
    at = stays.index(True)
    step = float(above[at].by["step"])
    return Measurement("starts", step, float(above[max(0, at - 1)].by["step"]), step, above[at].n, baseline, by)


def _foretold(found: Trainings, foretelling: Sequence[str] = FORETELLING) -> Iterator[Measurement]:
    """Yield ξ: the accuracy of independent models once their weights predict the reference's as well as a quantity.

    The reference is the first available seed; the independent models are the others.
    """
    honest = [seed for seed in found.seeds if seed.learned is not None]
    if len(honest) < 2:
        return
    reference, others = honest[0], honest[1:]
    target = SCORES["final attention"](reference, -1)
    assert target is not None
    target = target[found.kept]

    def agreement(v: Scores) -> float:
        return float(stats.top_agreement(target, v[found.kept], found.ranked, found.top).mean())

    of_others = Trainings(others, found.steps, found.valid, found.kept, found.top)
    by_step = [np.mean([agreement(seed.learned[at].padded("attention")) for seed in others if seed.learned])
               for at in range(len(found.steps))]  # fmt: skip
    right = of_others.over("learned", lambda seen: seen.right)
    own = Trainings([reference], found.steps, found.valid, found.kept, found.top).over("learned", lambda s: s.right)
    assert right is not None
    assert own is not None
    most = f"{own.mean(axis=(0, 2)).max():.3f}: the reference at its best (ξ*)"
    for name in foretelling:
        scores = SCORES[name](reference, -1)
        if scores is not None:
            reached = [at for at, value in enumerate(by_step) if value > agreement(scores)]
            at = reached[0] if reached else len(found.steps) - 1
            by = {"foretold_by": name, "step": found.steps[at], "reached": bool(reached)}
            yield Measurement("xi", *stats.two_way_interval(right[:, at]), most, by)


def _by_step(
    name: str,
    values: Float[np.ndarray, "draw item example"],
    steps: Sequence[int],
    baseline: str,
    by: Mapping[str, object],
) -> Iterator[Measurement]:
    """Yield one measurement per checkpoint, over seeds and texts; texts undefined for a seed are only counted."""
    for at, step in enumerate(steps):
        defined = np.isfinite(values[:, at]).all(axis=0)
        if defined.any():
            beside = {"undefined": int((~defined).sum())} if not defined.all() else {}
            interval = stats.two_way_interval(values[:, at][:, defined])
            yield Measurement(name, *interval, baseline, {**by, "step": step, **beside})


dynamics = Check(
    name="dynamics",
    question="When during training does attention begin to follow relevance?",
    paper="Snell et al. 2021",
    holds="retrained",
    baseline="the same agreement with shuffled second scores",
    settings=DynamicsSettings,
    measure=measure,
    cost=lambda _, settings: settings.examples,
    default=False,
    plan=plan,
    refits=True,
    of="last layers",
)
