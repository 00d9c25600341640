"""Can training remove attention from the words that the model uses?

heatcheck trains honest models, and models with a penalty for weight on marked words, −λ ln(1 − mass), from the same
seeds. The penalised models deceive if they are as accurate, show almost no weight on the marked words, and still fail
when those words are deleted: then their heatmaps hide words that the answers depend on. A model without context has a
twin that deceives, whatever training finds. Whether it *can* deceive and whether it *learns* to are two questions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.gauge_within import twin_within
from heatcheck.checks.marked_words import DISTANCES, Looked, Marked, find_mark, look, shares
from heatcheck.checks.retrained_answers import fits_of, seed_recipes, trained_for
from heatcheck.data import Example
from heatcheck.engine import Facts
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import Classifier, HasLayers, KnowsItsTwins, Recipe, Subject, require_words
from heatcheck.models.classifiers.gauge_twin import BOUND, Tokens, gauge_twin
from heatcheck.results import CheckResult, Measurement

HONEST, TWIN, WITHIN = {"fit": "honest"}, {"fit": "gauge twin"}, {"fit": "gauge twin within budget"}
PRIOR, SHARE = "prior", "share"
# The values of texts by their names -> the measurement, and its facts.
AT_DISTANCE: dict[str, tuple[str, Facts]] = {
    f"{name}:{distance}": (name, {"distance": distance})
    for name in ("neighbours", "neighbours_share")
    for distance in DISTANCES
}
BASELINES = {
    "accuracy": PRIOR,
    "mass": SHARE,
    "after_deletion": PRIOR,
    **{f"neighbours:{distance}": "neighbours_share" for distance in DISTANCES},
    "norm_embedding": SHARE,
    "norm_state": SHARE,
    "contribution": SHARE,
    "rest_states": "rest_embeddings",
    "rest_embeddings": PRIOR,
}


@dataclass(frozen=True)
class DeceptionSettings:
    """The words to hide, the penalties, and the accuracy that a deceiving model may lose."""

    mark: str = ""  # of the words to hide; "": impermissible if the texts have it, else rationale
    strengths: tuple[float, ...] = (0.1, 1.0)  # λ, as published
    seeds: int = 5  # of each kind; the honest ones include the audited model
    slack: float = 0.02  # accuracy that a model may lose and still deceive, as published
    bound: float = BOUND  # of the gauge twin: how much larger a word's relevance may become, as |ln m|
    # How far the parameters of a second twin may be, in distances of the nearest other honest seed; 0: no such twin.
    budget: float = 0.0
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "deception", "seeds", "draws")
        if not 0 <= self.budget < np.inf:
            raise BadInput(f"deception.budget must be a number, at least 0, not {self.budget}.")
        if not all(0 < strength < np.inf for strength in self.strengths):
            raise BadInput(f"deception.strengths must be numbers above 0, not {self.strengths}.")
        if len(set(self.strengths)) < len(self.strengths):
            raise BadInput(f"deception.strengths names a value twice: {self.strengths}.")
        if not 0 <= self.slack < 1:
            raise BadInput(f"deception.slack must be a loss of accuracy, at least 0 and below 1, not {self.slack}.")
        if not 0 < self.bound < np.inf:
            raise BadInput(f"deception.bound must be above 0, not {self.bound}.")


class Group(NamedTuple):
    """Models of one kind, by seed."""

    by: Facts
    fits: Mapping[int, Looked]

    def mean(self, name: str, seeds: Sequence[int]) -> float:
        return float(np.mean([self.fits[seed].values[name] for seed in seeds]))


@dataclass
class Found:
    """The texts that models are measured on, and the results so far."""

    texts: Marked
    gold: Int[np.ndarray, " example"]
    train: tuple[Example, ...]
    groups: list[Group] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    no_twin: str = ""  # why
    norms: dict[str, float] = field(default_factory=dict)  # of the longest embedding, by kind of model
    folders: list[str] = field(default_factory=list)  # of the twins, in the store
    within: dict[str, list[float]] = field(default_factory=dict)  # distances of the twins within a budget

    def look(self, model: Subject) -> Looked:
        looked, missing = look(model, self.texts, self.gold, self.train)
        self.not_run |= missing
        return looked

    def add(self, by: Facts, fits: Mapping[int, Looked]) -> None:
        if fits:
            self.groups.append(Group(by, fits))


def plan(case: Case, settings: DeceptionSettings) -> list[Recipe]:
    """Recipes of honest and deceptive models from the same seeds; none if the check cannot run."""
    if case.fits is None:
        return []
    try:
        wanted = _recipes(case, settings, _mark(case, settings))
    except NotSupported:
        return []  # `measure` says why
    return [recipe for _, of in wanted for recipe in of if recipe != case.fits.recipe]


def _mark(case: Case, settings: DeceptionSettings) -> str:
    require_words(case.subject, "deception")
    if isinstance(case.subject, HasLayers):
        raise NotSupported(
            f"deception supports models with a single attention layer, and {case.subject.id} has several layers."
        )
    mark = find_mark(case.tested, settings.mark)
    if case.fits is not None and not any(mark in example.marks for example in case.fits.corpus["train"]):
        raise NotSupported(f"no word is marked {mark} in the training texts of {case.subject.id}.")
    return mark


def _recipes(case: Case, settings: DeceptionSettings, mark: str) -> list[tuple[Facts, list[Recipe]]]:
    """Each kind of model, the honest first, and the recipes of its seeds."""
    own = seed_recipes(case, settings.seeds)
    return [
        (HONEST, [trained_for(recipe, "likelihood") for recipe in own]),
        *(
            (
                {"fit": "deceptive", "strength": strength},
                [trained_for(recipe, "deceptive", strength=float(strength), mark=mark) for recipe in own],
            )
            for strength in settings.strengths
        ),
    ]


def measure(case: Case, settings: DeceptionSettings) -> CheckResult:
    """Measure accuracy and weight on the marked words for every kind of model, paired with honest ones."""
    if case.fits is None and not isinstance(case.subject, KnowsItsTwins):
        fits_of(case)  # raises, and says what to do
    mark = _mark(case, settings)
    if case.own.log_probabilities.shape[1] != 1:
        raise NotSupported(f"{case.subject.id} makes several decisions per text; this check supports one.")
    texts = Marked.of(case.subject, case.tested, mark)
    right = {example.id: label for example, label in zip(case.tested, case.gold.tolist(), strict=True)}
    found = Found(texts, np.array([right[example.id] for example in texts.examples]), _train_texts(case))
    if isinstance(case.subject, KnowsItsTwins):
        _look_at_written(case, case.subject, settings, found)
    else:
        _look_at_fitted(case, settings, found)
    if not found.groups or found.groups[0].by != HONEST:
        raise NotSupported(f"there is no honest model to compare with: {next(iter(found.not_run.values()))}")
    deceives = _deceives(found.groups, settings.slack)
    return CheckResult(
        check="deception",
        subject=case.subject.id,
        holds="retrained",
        measurements=(
            *_of_texts(case, settings, found),
            *(m for group in found.groups for m in _of_group(case, settings, group, found.groups[0])),
            *_deceived(deceives, found.groups[0]),
        ),
        examples=tuple(example.id for example in texts.examples),
        per_example={
            f"{name}:{_named(group)}": np.mean([fit.values[name] for fit in group.fits.values()], axis=0)
            for group in found.groups
            for name in ("accuracy", "mass")
        },
        excluded=dict(texts.excluded),
        settings=asdict(settings),
        seed=case.seed,
        not_run=found.not_run,
        facts={
            "mark": mark,
            "deceives": None if deceives is None else deceives.by["strength"],
            "longest_embedding": found.norms,
            "twins": found.folders,
            "no_twin": found.no_twin,
            **({"parameter_distance": found.within} if found.within else {}),
        },
    )


# The models ------------------------------------------------------------------------------------------------------


def _look_at_written(case: Case, subject: KnowsItsTwins, settings: DeceptionSettings, found: Found) -> None:
    """Measure hand-written models: other seeds, and those with the same decisions and another heatmap."""
    again = [subject.again(case.seed + number) for number in range(1, settings.seeds)]
    kinds: dict[str, dict[int, Looked]] = {"honest": {}}
    for seed, model in enumerate([case.subject, *again], start=case.seed):
        kinds["honest"][seed] = found.look(model)
        assert isinstance(model, KnowsItsTwins)
        for name, other in model.other_heatmaps().items():
            kinds.setdefault(name.replace("_", " "), {})[seed] = found.look(other)
    for name, fits in kinds.items():
        found.add({"fit": name}, fits)
    if settings.strengths:
        found.not_run["deceptive models"] = f"{case.subject.id} is written by hand, so none can be trained to deceive."


def _look_at_fitted(case: Case, settings: DeceptionSettings, found: Found) -> None:
    """Measure trained models, and the twins of honest ones if there are any."""
    twins: dict[int, Looked] = {}
    honest: dict[int, Classifier] = {}  # those that have twins
    for by, recipes in _recipes(case, settings, found.texts.mark):
        looked: dict[int, Looked] = {}
        for recipe in recipes:
            try:
                model = fits_of(case).load(recipe)
            except NotSupported as error:
                found.not_run[_name(by, recipe.seed)] = str(error)
                continue
            looked[recipe.seed] = found.look(model)
            if by == HONEST and not found.no_twin and isinstance(model, Classifier):
                twin = _look_at_twin(case, model, settings, found)
                twins |= {} if twin is None else {recipe.seed: twin}
                honest |= {} if twin is None else {recipe.seed: model}
        found.add(by, looked)
    found.add(TWIN, twins)
    if settings.budget and twins:
        try:
            found.add(WITHIN, _look_within(honest, settings, found))
        except NotSupported as error:
            found.not_run["twins within a budget"] = str(error)


def _look_within(honest: Mapping[int, Classifier], settings: DeceptionSettings, found: Found) -> dict[int, Looked]:
    """Measure, for each honest model, the twin whose parameters are no farther than the budget allows."""
    if len(honest) < 2:
        raise NotSupported("a budget is measured against another honest seed. Set deception.seeds to 2 or more.")
    looked: dict[int, Looked] = {}
    for seed, model in honest.items():
        tokens = Tokens.of(model.vocabulary, found.train, found.texts.mark)
        others = [other for number, other in honest.items() if number != seed]
        within = twin_within(model, others, found.train, tokens, bound=settings.bound, budget=settings.budget)
        looked[seed] = found.look(within.twin)
        for part, ratio in within.ratios.items():
            found.within.setdefault(part, []).append(ratio)
    return looked


def _look_at_twin(case: Case, model: Classifier, settings: DeceptionSettings, found: Found) -> Looked | None:
    """Measure the gauge twin of an honest model, and keep it in the store, where it can be audited."""
    try:
        twin = gauge_twin(model, Tokens.of(model.vocabulary, found.train, found.texts.mark), bound=settings.bound)
    except NotSupported as error:
        found.no_twin = str(error)
        return None
    found.folders.append(fits_of(case).keep(twin).name)
    for name, one in (("honest", model), ("gauge twin", twin)):
        longest = float(one.embed.weight.detach().norm(dim=1).max())
        found.norms[name] = max(longest, found.norms.get(name, 0.0))
    return found.look(twin)


def _train_texts(case: Case) -> tuple[Example, ...]:
    """The training texts, if they are known."""
    corpus = case.fits.corpus if case.fits is not None else case.trained_on
    return () if corpus is None else corpus["train"].examples


# The numbers -----------------------------------------------------------------------------------------------------


def _of_texts(case: Case, settings: DeceptionSettings, found: Found) -> Iterator[Measurement]:
    """Yield the baselines: the majority class, and the shares that uniform weights would give."""
    everyone = np.ones(len(found.gold), dtype=bool)
    common = (found.gold == np.bincount(found.gold).argmax()).astype(float)
    yield from measured(case, PRIOR, common, everyone, "none: this is the floor", {}, settings.draws)
    for name, values in shares(case.subject, found.texts).items():
        plain, by = AT_DISTANCE.get(name, (name, {}))
        yield from measured(case, plain, values, everyone, "none: the share under uniform weights", by, settings.draws)


def _of_group(case: Case, settings: DeceptionSettings, group: Group, honest: Group) -> Iterator[Measurement]:
    names = [name for name in BASELINES if name in next(iter(group.fits.values())).values]
    for name in names:
        plain, of = AT_DISTANCE.get(name, (name, {}))
        each = np.stack([fit.values[name] for fit in group.fits.values()])
        yield Measurement(plain, *stats.two_way_interval(each), BASELINES[name], {**group.by, **of})
    lost = np.stack([fit.values["accuracy"] - fit.values["after_deletion"] for fit in group.fits.values()])
    baseline = "0: deleting the marked words costs no accuracy"
    yield Measurement("deletion_loss", *stats.two_way_interval(lost), baseline, group.by)
    everyone = np.ones(len(lost[0]), dtype=bool)
    for seed, fit in group.fits.items():
        by = {**group.by, "seed": seed}
        for name in ("accuracy", "mass"):
            values = fit.values[name]
            yield from measured(case, f"fit_{name}", values, everyone, BASELINES[name], by, settings.draws)
    if group.by != HONEST:
        yield from _paired(group, honest)


def _paired(group: Group, honest: Group) -> Iterator[Measurement]:
    """Compare each model with the honest one of its seed."""
    both = _both(group, honest)
    if not both:
        return
    for name, called, baseline in (
        ("accuracy", "accuracy_lost", "0: as accurate as the honest model"),
        ("mass", "mass_removed", "0: as much weight on these words as in the honest model"),
    ):
        apart = np.stack([honest.fits[seed].values[name] - group.fits[seed].values[name] for seed in both])
        yield Measurement(called, *stats.two_way_interval(apart), baseline, group.by)
    same = np.stack([(honest.fits[seed].predicted == group.fits[seed].predicted).astype(float) for seed in both])
    known = group.by in (TWIN, WITHIN)
    baseline = "1 by theory: every decision is the same" if known else "1: every decision is the same"
    yield Measurement("agreement", *stats.two_way_interval(same), baseline, group.by)


def _deceives(groups: Sequence[Group], slack: float) -> Group | None:
    """Choose, among deceptive models that lose at most `slack` of accuracy, those with the least weight left."""
    honest = groups[0]
    near: list[tuple[float, Group]] = []
    for group in groups[1:]:
        both = _both(group, honest)
        if group.by["fit"] != "deceptive" or not both:
            continue
        lost, removed = (honest.mean(name, both) - group.mean(name, both) for name in ("accuracy", "mass"))
        if lost <= slack + 1e-9 and removed > 0:
            near.append((removed, group))
    return max(near, key=lambda one: one[0])[1] if near else None


def _deceived(chosen: Group | None, honest: Group) -> Iterator[Measurement]:
    """The weight that the chosen models have removed."""
    for m in () if chosen is None else _paired(chosen, honest):
        if m.name == "mass_removed":
            yield m._replace(name="deceived")


def _both(group: Group, honest: Group) -> list[int]:
    return [seed for seed in group.fits if seed in honest.fits]


def _named(group: Group) -> str:
    return ":".join(f"{value:g}" if isinstance(value, float) else str(value) for value in group.by.values())


def _name(by: Facts, seed: int) -> str:
    strength = f" at λ = {by['strength']:g}" if "strength" in by else ""
    return f"{by['fit']} model{strength}, seed {seed}"


deception = Check(
    name="deception",
    question="Can training remove attention from the words that the model uses?",
    paper="Pruthi et al. 2020",
    holds="retrained",
    baseline="honest models of the same seeds; the weight under uniform weights; the majority class",
    settings=DeceptionSettings,
    measure=measure,
    cost=lambda case, settings: 2 * settings.seeds * (2 + len(settings.strengths)) * len(case.tested),
    default=False,
    plan=plan,
    refits=True,
    of="last layers",
)
