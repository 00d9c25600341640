"""Can another model give the same answers with other attention weights?

heatcheck trains adversaries to match the model's answers and to move away from its weights; the strength λ sets how
much the second goal counts. Each adversary is a point: how far its weights are (mean JSD) and how far its answers are
(mean TVD). Other seeds of the model are on the same axes, because they differ too. So is an imitator, trained like an
adversary but at λ = 0. It learns only the answers, and shows how close such a training can come. The axes also show the
model trained with uniform weights, closed-form twins if there are any, and, per text, the farthest weights that keep
the answer. Finding an adversary proves something; finding none proves nothing.

Adversaries are expensive, so heatcheck does not train one for every λ. It looks for the largest λ whose adversary still
answers as closely as honest seeds do, by bisection. Each step uses the rule that decides which adversaries count, on
the same means; no step looks at an interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from heatcheck import stats
from heatcheck.checks.bisection import bisect, trials
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, Search, at_least_one, measured
from heatcheck.checks.gauge import find_twins, jensen_shannon
from heatcheck.checks.retrained_answers import (
    adversary_recipe,
    fits_of,
    honest_seeds,
    imposing,
    said,
    seed_recipes,
    tempered,
    total_variation,
)
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.explainers import of_readout, read_out, require_short_cut, stand_ins
from heatcheck.models import KnowsItsTwins, Recipe, Subject
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import Recorded, can_look_elsewhere, record

STARTS = ("away", "fresh", "parent")
BRACKETED = 50  # texts at most, with more than two labels: each ε costs several linear programs per text
IMITATOR = "imitator"
LATER_START = 0.25  # how likely a search comes to a start after the first, for the estimate of its time
SEEDS = "the same number for other seeds (model=seed)"
Values = Float[np.ndarray, " example"]
Logs = Float[np.ndarray, "example label"]  # log-probabilities
Frontier: TypeAlias = list[tuple[Facts, Recipe]]  # adversaries of one kind that differ in λ alone


@dataclass(frozen=True)
class AdversarialModelSettings:
    """The adversaries to train, and how close their answers must stay to count."""

    # λ, in units of the true total variation. The published code halves it, so a published value counts half.
    # On SST the first hardly moves the weights; from the third on, the weights are as far off as they get.
    strengths: tuple[float, ...] = (1e-4, 1e-3, 3e-3, 1e-2, 1e-1)
    search: bool = True  # only for the largest that keeps the answers; False, or as_published: train all strengths
    epochs: int = 20
    restarts: int = 1  # adversaries of each kind, from other seeds
    seeds: int = 5  # honest ones, the audited one included
    # fresh: as published. parent: from the audited model's parameters. away: from these too, but with a new attention
    # that puts most weight on a few random words. It takes 8 epochs instead of 20, and often ends nearer. That is for
    # models whose states know their context; elsewhere, and in `as_published`, away means fresh. A search tries one
    # start after the other until one has led `far`.
    starts: tuple[str, ...] = ("away", "fresh")
    far: float = 0.25  # nats of JSD beyond other seeds
    scorer_only: bool = False  # also adversaries that share everything but the attention with the subject
    as_published: bool = False  # half the total variation, and batches weighed by their gold labels, as was released
    epsilons: tuple[float, ...] = (0.05, 0.01, 0.001)  # of the instance-level adversaries
    slack: float = 0.05  # answers count as the same up to the distance of honest seeds, or this mean total variation
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "adversarial_model", "epochs", "restarts", "draws")
        if self.seeds < 2:
            raise BadInput(
                f"adversarial_model.seeds must be at least 2 (it includes the audited model), not {self.seeds}."
            )
        if not self.strengths or not all(0 < strength < np.inf for strength in self.strengths):
            raise BadInput(
                f"adversarial_model.strengths must be numbers above 0, not {self.strengths}. "
                "heatcheck always trains the imitator, which has strength 0."
            )
        if not 0 <= self.far < 1:
            raise BadInput(f"adversarial_model.far must be at least 0 and below 1 nat, not {self.far}.")
        if not all(0 <= value < 1 for value in (*self.epsilons, self.slack)):
            raise BadInput(
                "adversarial_model.epsilons and slack must be changes of probability, at least 0 and below 1."
            )
        for start in self.starts:
            if start not in STARTS:
                raise UnknownName("value for adversarial_model.starts", start, STARTS)
        for name in ("strengths", "starts", "epsilons"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise BadInput(f"adversarial_model.{name} names a value twice: {getattr(self, name)}.")

    def starts_of(self, subject: Subject) -> tuple[str, ...]:
        """The starts that this model's adversaries can have."""
        can = can_look_elsewhere(subject) and not self.as_published
        return tuple(dict.fromkeys("fresh" if start == "away" and not can else start for start in self.starts))

    @property
    def searches(self) -> bool:
        """Whether heatcheck searches the strengths; the paper trains them all."""
        return self.search and not self.as_published

    @property
    def fits(self) -> int:
        """The largest number of models to train, besides the audited one."""
        starts = {"fresh" if self.as_published and start == "away" else start for start in self.starts}
        kinds = len(starts) + self.scorer_only  # a search may come to all starts
        uniform_and_imitator = 2
        strengths = max(trials(len(self.strengths))) if self.searches else len(self.strengths)
        return self.seeds - 1 + uniform_and_imitator + strengths * self.restarts * kinds


@dataclass(frozen=True, eq=False)
class Point:
    """Another model, compared with the audited one on the same texts."""

    by: Facts
    jsd: Values  # between its weights and the audited model's
    said: Logs
    base: Logs  # the audited model's answers
    scale: float = 1.0  # that standardises the audited model's logits

    @property
    def name(self) -> str:
        """`adversary, strength=0.001, …`"""
        facts = [f"{key}={value}" for key, value in self.by.items() if key != "model"]
        return ", ".join([str(self.by["model"]), *facts])

    @cached_property
    def values(self) -> dict[str, Values]:
        """Each quantity per example."""
        theirs, own = np.exp(self.said), np.exp(self.base)
        # The standardised distance decides, because it does not depend on confidence; the plain one is as published.
        standard, said = (log_softmax(self.scale * logs, axis=-1) for logs in (self.base, self.said))
        same = self.said.argmax(-1) == self.base.argmax(-1)
        return {
            "jsd": self.jsd,
            "tvd": total_variation(theirs, own),
            "tvd_tempered": total_variation(tempered(said, np.exp(standard)), np.exp(standard)),
            "agreement": same.astype(float),
        }

    def mean(self, name: str) -> float:
        return float(self.values[name].mean())


def plan(case: Case, settings: AdversarialModelSettings) -> list[Recipe]:
    """Recipes of the models to train: honest seeds, one with uniform weights, the imitator, and adversaries.

    A search starts with one adversary of each kind; `more` has the others.
    """
    adversaries = _searched(case, settings, ()) if settings.searches else _frontiers(case, settings)
    return [recipe for _, recipe in (*_beside(case, settings), *(one for frontier in adversaries for one in frontier))]


def more(case: Case, settings: AdversarialModelSettings) -> list[Recipe]:
    """Recipes of the adversaries that the search has asked for so far; nothing without a search, or without seeds."""
    if not settings.searches or case.fits is None:
        return []
    seeds = [_point(case, by, fit) for by, fit in _seeds(case, settings)]
    if not seeds:
        return []  # `measure` says why
    return [recipe for tried in _searched(case, settings, seeds) for _, recipe in tried]


def searches(case: Case, settings: AdversarialModelSettings) -> list[Search]:
    """One search for each kind of adversary."""
    if not settings.searches or case.fits is None:
        return []
    counts, found = trials(len(settings.strengths)), []
    first, *_ = settings.starts_of(case.subject)
    for frontier in _frontiers(case, settings):
        by, _ = frontier[0]
        likely = 1.0 if by["start"] == first or by["trains"] == "attention" else LATER_START
        recipes = tuple(recipe for _, recipe in frontier)
        found.append(Search(recipes, max(counts), likely * float(np.mean(counts))))
    return found


def _beside(case: Case, settings: AdversarialModelSettings) -> Iterator[tuple[Facts, Recipe]]:
    """Yield each model to train but the adversaries, as its facts and its recipe."""
    own, *others = seed_recipes(case, settings.seeds)
    for recipe in others:
        yield {"model": "seed", "seed": recipe.seed}, recipe
    yield {"model": "uniform"}, imposing(own, weights="uniform")
    how: dict[str, Any] = {"epochs": settings.epochs, "as_published": settings.as_published}
    yield {"model": IMITATOR}, adversary_recipe(case, 0.0, **how, start=_imitator_start(case, settings))


def _imitator_start(case: Case, settings: AdversarialModelSettings) -> str:
    """As adversaries start; from its parent's own parameters there would be nothing to learn."""
    return "away" if "away" in settings.starts_of(case.subject) else "fresh"


def _frontiers(case: Case, settings: AdversarialModelSettings) -> Iterator[Frontier]:
    """Yield the adversaries of each kind, in the order of λ if it is searched."""
    how: dict[str, Any] = {"epochs": settings.epochs, "as_published": settings.as_published}
    kinds = [
        (start, "all", restart) for start in settings.starts_of(case.subject) for restart in range(settings.restarts)
    ]
    # Everything but the attention is the audited model's own, so these start from it.
    kinds += [("parent", "attention", restart) for restart in range(settings.restarts) if settings.scorer_only]
    strengths = sorted(settings.strengths) if settings.searches else settings.strengths
    for start, trains, restart in kinds:
        facts: dict[str, Any] = {"start": start, "trains": trains, "restart": restart}
        yield [
            ({"model": "adversary", "strength": strength, **facts}, adversary_recipe(case, strength, **how, **facts))
            for strength in strengths
        ]


def _searched(case: Case, settings: AdversarialModelSettings, seeds: Sequence[Point]) -> Iterator[Frontier]:
    """Yield the adversaries that each search tries; a later start only if all earlier ones have ended and led nowhere.

    Without seeds nothing can be judged: the first of each search that begins at once.
    """
    waits: dict[str, bool] = {}  # start -> whether later ones need not, or cannot yet, be tried
    for frontier in _frontiers(case, settings):
        by, _ = frontier[0]
        whole = by["trains"] == "all"
        if whole and any(stops for start, stops in waits.items() if start != by["start"]):
            continue
        tried = _tried(case, settings, frontier, seeds)
        yield tried
        if whole:
            waits[by["start"]] = waits.get(by["start"], False) or _ends_the_search(case, settings, tried, seeds)


def _ends_the_search(case: Case, settings: AdversarialModelSettings, tried: Frontier, seeds: Sequence[Point]) -> bool:
    """Whether a search has not ended, or has found weights that are far from the audited model's."""
    said_by = [(by, said(case, [recipe]).fits, recipe) for by, recipe in tried]
    if not seeds or any(not fits and recipe.id not in fits_of(case).failed for _, fits, recipe in said_by):
        return True
    close = _as_close_as_seeds([_point(case, by, fits[0]) for by, fits, _ in said_by if fits], seeds, settings)
    others = float(np.mean([seed.mean("jsd") for seed in seeds]))
    return bool(close) and close[0].mean("jsd") - others >= settings.far


def _tried(case: Case, settings: AdversarialModelSettings, frontier: Frontier, seeds: Sequence[Point]) -> Frontier:
    """The adversaries that the search tries: the last one may be missing still, and is then what it waits for.

    Each step depends only on adversaries that it has asked for itself, so others in the store change nothing. An
    adversary whose training failed does not keep the answers.
    """

    def keeps_the_answers(place: int) -> bool | None:
        by, recipe = frontier[place]
        if not seeds:
            return None
        found = said(case, [recipe]).fits
        if not found:
            return False if recipe.id in fits_of(case).failed else None
        return bool(_as_close_as_seeds([_point(case, by, found[0])], seeds, settings))

    return [frontier[place] for place in sorted(bisect(len(frontier), keeps_the_answers))]


def measure(case: Case, settings: AdversarialModelSettings) -> CheckResult:
    """Measure every model, the most different one with answers as close as honest seeds', and its cost."""
    points, not_run = _points(case, settings)
    seeds = [point for point in points if point.by["model"] == "seed"]
    if not seeds:
        why = next(iter(not_run.values()), "none was asked for.")
        raise NotSupported(f"there is no other seed of the model to compare its adversaries with: {why}")
    # The model with uniform weights only marks a place on the axes; the check necessity is about it. The imitator
    # counts: it was not trained for another heatmap, but may have one.
    candidates = [point for point in points if point.by["model"] not in ("seed", "uniform")]
    qualified = _as_close_as_seeds(candidates, seeds, settings)
    instances: list[Measurement] = []
    try:
        instances += _instances(case, settings)
    except NotSupported as error:
        not_run["instance-level adversaries"] = str(error)
    return CheckResult(
        check="adversarial_model",
        subject=case.subject.id,
        holds="retrained",
        measurements=(
            *(m for point in points for m in _of_point(case, settings, point)),
            *instances,
            *_excess(case, settings, qualified, seeds),
            *_cost_of_divergence(case, settings, qualified, points),
            *_curve(case, settings, points, seeds),
        ),
        examples=tuple(example.id for example in case.tested),
        per_example={f"{name}:{point.name}": point.values[name] for point in points for name in ("jsd", "tvd")},
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"qualified": [point.name for point in qualified], "imitator starts": _imitator_start(case, settings)},
    )


def _seeds(case: Case, settings: AdversarialModelSettings) -> Iterator[tuple[Facts, Recorded]]:
    """Yield the other seeds that could be trained, as facts and answers."""
    for by, recipe in _beside(case, settings):
        if by["model"] == "seed":
            yield from ((by, fit) for fit in said(case, [recipe]).fits)


def _point(case: Case, by: Facts, fit: Recorded) -> Point:
    own = case.own
    if not np.array_equal(fit.allowed, own.allowed):
        raise BadInput(
            f"{by['model']} splits texts into other tokens than {case.subject.id}, so their weights cannot be "
            "compared. Use the same tokenizer."
        )
    jsd = jensen_shannon(own.weights, fit.weights)
    return Point(by, jsd, fit.log_probabilities[:, 0], own.log_probabilities[:, 0], case.logit_scale)


def _points(case: Case, settings: AdversarialModelSettings) -> tuple[list[Point], dict[str, str]]:
    """Every other model, and the reasons why some are missing."""
    found: list[Point] = []
    not_run: dict[str, str] = {}
    written: dict[str, Subject] = {**case.witnesses}
    if isinstance(case.subject, KnowsItsTwins):
        again = honest_seeds(case, settings.seeds).fits[1:]
        found += [_point(case, {"model": "seed", "seed": case.seed + n}, fit) for n, fit in enumerate(again, start=1)]
        written |= {"uniform": case.subject.attention_free(), **case.subject.other_heatmaps()}
    else:
        seeds = [_point(case, by, fit) for by, fit in _seeds(case, settings)]
        trained = [*_beside(case, settings)]
        searched = settings.searches and seeds
        for frontier in _searched(case, settings, seeds) if searched else _frontiers(case, settings):
            trained += frontier
        for by, recipe in trained:
            fits = said(case, [recipe])
            not_run |= fits.not_run
            found += [_point(case, by, fit) for fit in fits.fits]
    found += [_point(case, {"model": name}, record(other, case.tested)) for name, other in written.items()]
    try:
        gauged = find_twins(case)
    except NotSupported:
        return found, not_run  # there are none; the check gauge says why
    base = case.own.log_probabilities[:, 0]
    for name, twin in gauged.twins.items():
        jsd = jensen_shannon(gauged.own.weights, twin.weights)
        found.append(Point({"model": "gauge", "twin": name}, jsd, twin.log_probabilities, base, case.logit_scale))
    return found, not_run


def _as_close_as_seeds(
    candidates: Sequence[Point], seeds: Sequence[Point], settings: AdversarialModelSettings
) -> list[Point]:
    """Models whose answers differ no more than those of honest seeds, sorted by JSD from the largest."""
    near = max(float(np.mean([seed.mean("tvd_tempered") for seed in seeds])), settings.slack)
    same = float(np.mean([seed.mean("agreement") for seed in seeds]))
    rounding = 1e-9
    close = [
        p for p in candidates if p.mean("tvd_tempered") <= near + rounding and p.mean("agreement") >= same - rounding
    ]
    return sorted(close, key=lambda point: -point.mean("jsd"))


def _of_point(case: Case, settings: AdversarialModelSettings, point: Point) -> Iterator[Measurement]:
    values = dict(point.values)
    with suppress(NotSupported):  # without gold labels there is no accuracy
        values["accuracy"] = (point.said.argmax(-1) == case.gold).astype(float)
    yield from _measured(case, settings, values, point.by)


def _measured(
    case: Case, settings: AdversarialModelSettings, values: Mapping[str, Values], by: Facts
) -> Iterator[Measurement]:
    for name, each in values.items():
        baseline = SEEDS if by["model"] != "seed" else "none: seeds are the baseline"
        yield from measured(case, name, each, np.isfinite(each), baseline, by, settings.draws)


def _instances(case: Case, settings: AdversarialModelSettings) -> Iterator[Measurement]:
    """Yield, for each sampled text alone, the farthest weights that keep the answer within ε; no one model has them."""
    require_short_cut(case.subject)
    readout, examples = case.readout, case.examples
    if readout is not None and readout.bias.shape[-1] > 2:
        examples = examples[:BRACKETED]
        readout = read_out(case.subject, examples)
    for epsilon in settings.epsilons:
        by = {"model": "instance", "epsilon": epsilon}
        if readout is None:
            found = stand_ins(case.subject, examples, epsilon=epsilon, seed=case.seed)
            yield from _measured(case, settings, {"jsd": found.jsd[:, 0], "tvd": found.change[:, 0]}, by)
            continue
        found = of_readout(readout, [example.id for example in examples], epsilon=epsilon, seed=case.seed)
        logits = np.einsum("et,etl->el", found.weights[:, 0], readout.relevance[:, 0]) + readout.bias[:, 0]
        base = log_softmax(readout.logits[:, 0], axis=-1)
        point = Point(by, found.jsd[:, 0], log_softmax(logits, axis=-1), base, case.logit_scale)
        yield from _measured(case, settings, point.values, by)


def _excess(
    case: Case, settings: AdversarialModelSettings, qualified: Sequence[Point], seeds: Sequence[Point]
) -> Iterator[Measurement]:
    """J* − J_seed, with its variance over examples and seeds; the audited model itself is given."""
    of_seeds = np.stack([seed.jsd for seed in seeds])  # [seed example]
    yield Measurement("J_seed", *stats.two_way_interval(of_seeds), "none: seeds are the baseline", {})
    if qualified:
        star = qualified[0]
        yield from measured(case, "J_star", star.jsd, np.isfinite(star.jsd), "J_seed", star.by, settings.draws)
        excess = stats.two_way_interval(star.jsd - of_seeds)
        yield Measurement("J_excess", *excess, "0: no more different than another seed", star.by)


def _cost_of_divergence(
    case: Case, settings: AdversarialModelSettings, qualified: Sequence[Point], points: Sequence[Point]
) -> Iterator[Measurement]:
    """How much more the most different model's answers differ than those of an imitator, which learned only them."""
    imitators = [point for point in points if point.by["model"] == IMITATOR]
    if qualified and imitators and qualified[0] is not imitators[0]:
        star, imitator = qualified[0], imitators[0]
        more = star.values["tvd_tempered"] - imitator.values["tvd_tempered"]
        baseline = "0: as close as a model trained on the answers alone"
        yield from measured(case, "cost", more, np.isfinite(more), baseline, star.by, settings.draws)


def _curve(
    case: Case, settings: AdversarialModelSettings, points: Sequence[Point], seeds: Sequence[Point]
) -> Iterator[Measurement]:
    """The JSD that mixtures of trained adversaries reach at the total variation of seeds, both after tempering."""
    trained = [p for p in points if p.by["model"] == "adversary" and p.by["trains"] == "all"]
    if not trained:
        return
    jsd, tvd = ([point.values[name] for point in trained] for name in ("jsd", "tvd_tempered"))
    of_seeds = np.mean([seed.values["tvd_tempered"] for seed in seeds], axis=0)
    found = stats.bootstrap_interval(
        np.stack([*jsd, *tvd, of_seeds], axis=1),
        _reach,
        generator=stream(case.seed, "bootstrap", "reach"),
        draws=settings.draws,
    )
    yield Measurement("reach", *found, "J_seed", {})


def _reach(means: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
    """The largest JSD on the lower convex envelope of points and origin where the TVD is at most the last column.

    Using one model for some texts and another for the rest gives a point on the line between the two.
    """
    limit = means[:, -1:]
    jsd, tvd = (np.pad(part, ((0, 0), (1, 0))) for part in np.split(means[:, :-1], 2, axis=1))
    inside = tvd <= limit
    best = np.where(inside, jsd, 0.0).max(1)
    straddle = inside[:, :, None] & ~inside[:, None, :]  # [draw near far]
    across = np.where(straddle, tvd[:, None, :] - tvd[:, :, None], 1.0)
    between = jsd[:, :, None] + (limit - tvd)[:, :, None] / across * (jsd[:, None, :] - jsd[:, :, None])
    return np.asarray(np.maximum(best, np.where(straddle, between, 0.0).max((1, 2))))


adversarial_model = Check(
    name="adversarial_model",
    question="Can another model give the same answers with other weights?",
    paper="Wiegreffe & Pinter 2019, Section 4",
    holds="retrained",
    baseline="honest seeds, whose weights and answers differ too",
    settings=AdversarialModelSettings,
    measure=measure,
    cost=lambda case, settings: len(case.tested) * (1 + settings.fits),
    plan=plan,
    refits=True,
    more=more,
    searches=searches,
    of="last layers",
)
