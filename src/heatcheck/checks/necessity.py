"""Is the model worse without learned attention?

There are two questions. Replacing the weights in this model shows whether it *uses* its own. Retraining the same kind
of model without learned attention shows whether the task *needs* it, for this family and budget. A model with uniform
weights at *every* attention site is itself free of attention, so its loss is an upper bound on the loss after
retraining. In a model with several sites, heatcheck also replaces the weights of the heatmap's site alone; that says
nothing about need.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Bool, Float

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import SPARED, Check, at_least_one, measured
from heatcheck.checks.other_weights import SWAPS, swapped_logits
from heatcheck.checks.passes import to_try
from heatcheck.checks.retrained_answers import fits_of, imposing, said, seed_recipes, total_variation
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import KnowsItsTwins, Recipe, whole_model
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import UNIFORM_EVERYWHERE, Recorded, kind_of_model, record

FREE = ("uniform", "last")  # the weights of models without learned attention; N compares with the better kind
PRIOR = "prior"
EVERYWHERE = "uniform everywhere"  # at every attention site of a model that has several
UNUSED = "0: the replaced weights change nothing"
LOST = "0: as accurate without learned attention; 1: no better than the majority class"
Values = Float[np.ndarray, " example"]
BySeed = Mapping[int, Values]  # place among the seeds -> right or wrong on each example


@dataclass(frozen=True)
class NecessitySettings:
    """The number of seeds, including the audited model, and of random draws."""

    seeds: int = 5
    shuffles: int = 10  # of the weights, and as many draws of random ones
    draws: int = 2000  # of the bootstrap over examples
    retrained: tuple[str, ...] = FREE  # the kinds of weights to retrain models with; any of SWAPS

    def __post_init__(self) -> None:
        at_least_one(self, "necessity", "seeds", "shuffles", "draws")
        for kind in self.retrained:
            if kind not in SWAPS:
                raise UnknownName("kind of weights in necessity.retrained", kind, SWAPS)
        if len(set(self.retrained)) < len(self.retrained):
            raise BadInput(f"necessity.retrained names a kind of weights twice: {','.join(self.retrained)}.")


@dataclass
class Findings:
    """The results so far."""

    measurements: list[Measurement]
    per_example: dict[str, Values]
    family: str
    not_run: dict[str, str]


def measure(case: Case, settings: NecessitySettings) -> CheckResult:
    """Measure the accuracy of this model with other weights, and of retrained models if there are any."""
    if case.own.log_probabilities.shape[1] != 1:
        raise NotSupported(f"{case.subject.id} makes several decisions per text; this check supports one.")
    common = (case.gold == np.bincount(case.gold).argmax()).astype(float)
    found = Findings([], {}, "this model with other weights; nothing was retrained", {})
    everyone = np.ones(len(case.tested), dtype=bool)
    found.measurements += measured(case, PRIOR, common, everyone, "none: this is the floor", {}, settings.draws)
    own = _swapped(case, settings, common, found)
    evenness = found.per_example["evenness"] = evenness_of(case.own)
    baseline = "1: uniform weights; 0: all weight on one token"
    found.measurements += measured(case, "evenness", evenness, everyone, baseline, {}, settings.draws)
    if isinstance(whole_model(case.subject), KnowsItsTwins):
        _closed_form(case, settings, own, common, found)
    elif case.retrains("necessity"):
        _retrained(case, settings, common, found)
    elif case.fits is not None:
        found.not_run |= SPARED
    return CheckResult(
        check="necessity",
        subject=case.subject.id,
        holds="retrained",
        measurements=tuple(found.measurements),
        examples=tuple(example.id for example in case.tested),
        per_example=found.per_example,
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        not_run=found.not_run,
        facts={
            "sites": _sites(case),
            "logit_scale": case.logit_scale,
            "family": found.family,
        },
    )


def _sites(case: Case) -> int:
    """The attention sites of the model, whichever of them the heatmap shows."""
    return len(whole_model(case.subject).sites)


def evenness_of(own: Recorded) -> Values:
    """How evenly the weights of each text are spread; nan for a text with one token."""
    several = own.allowed.sum(1) > 1
    return np.where(several, stats.evenness(own.weights, own.allowed), np.nan)


# This model with other weights -----------------------------------------------------------------------------------


def _swapped(case: Case, settings: NecessitySettings, common: Values, found: Findings) -> Values:
    """Add the effects of other weights on this model; return where it is right with its own."""
    logits = swapped_logits(case, settings.shuffles)
    right = {kind: (of.argmax(-1) == case.gold[:, None]).mean(1) for kind, of in logits.items()}
    before = case.standardised(logits["own"][:, 0])
    for kind, values in right.items():
        _add_accuracy(case, settings, kind, values, found)
    for kind in SWAPS:
        each = [total_variation(case.standardised(of), before) for of in np.moveaxis(logits[kind], 1, 0)]
        _add_change(case, settings, kind, np.mean(each, axis=0), found)
    found.measurements.append(_most_change("uniform", found))
    found.measurements += _needed(case, settings, right["own"], right["uniform"], common, "swap")
    if _sites(case) > 1:
        free = case.recorded(UNIFORM_EVERYWHERE)
        of_free = (free.predicted == case.gold).astype(float)
        _add_accuracy(case, settings, EVERYWHERE, of_free, found)
        changed = total_variation(case.standardised(free.log_probabilities[:, 0]), before)
        _add_change(case, settings, EVERYWHERE, changed, found)
        found.measurements.append(_most_change(EVERYWHERE, found))
        found.measurements += _needed(case, settings, right["own"], of_free, common, "swap everywhere")
    own: Values = right["own"]
    return own


def _add_accuracy(case: Case, settings: NecessitySettings, kind: str, right: Values, found: Findings) -> None:
    everyone = np.ones(len(right), dtype=bool)
    by = {"fit": "swapped", "weights": kind}
    baseline = PRIOR if kind == "own" else "accuracy with its own weights"
    found.per_example[f"accuracy:swapped:{kind}"] = right
    found.measurements += measured(case, "accuracy", right, everyone, baseline, by, settings.draws)


def _add_change(case: Case, settings: NecessitySettings, kind: str, change: Values, found: Findings) -> None:
    everyone = np.ones(len(change), dtype=bool)
    found.per_example[f"change:{kind}"] = change
    found.measurements += measured(case, "change", change, everyone, UNUSED, {"weights": kind}, settings.draws)


def _most_change(kind: str, found: Findings) -> Measurement:
    """The largest change among these texts; it has no interval, because it says nothing beyond them."""
    change = found.per_example[f"change:{kind}"]
    return Measurement("most_change", float(change.max()), -np.inf, np.inf, len(change), UNUSED, {"weights": kind})


def _needed(
    case: Case, settings: NecessitySettings, learned: Values, free: Values, common: Values, against: str
) -> Iterator[Measurement]:
    """Yield the gain over the majority class, and the share of it that is lost: a ratio of means, resampled jointly."""
    by = {"against": against}
    everyone = np.ones(len(learned), dtype=bool)
    baseline = "0: no better than the majority class"
    yield from measured(case, "headroom", learned - common, everyone, baseline, by, settings.draws)
    if learned.mean() == common.mean():
        return  # no gain, so no share of it

    def share(mean: np.ndarray) -> np.ndarray:
        return np.asarray((mean[:, 0] - mean[:, 1]) / (mean[:, 0] - mean[:, 2]))

    generator = stream(case.seed, "bootstrap", "N", against)
    columns = np.stack([learned, free, common], axis=1)
    lost = stats.bootstrap_interval(columns, share, generator=generator, draws=settings.draws)
    if np.isnan(lost.low):  # some resample has no gain, so the share has no interval
        lost = lost._replace(low=-np.inf, high=np.inf)
    yield Measurement("N", *lost, baseline=LOST, by=by)


# Models without learned attention --------------------------------------------------------------------------------


def _closed_form(case: Case, settings: NecessitySettings, own: Values, common: Values, found: Findings) -> None:
    """Add the accuracy of the best model of this family without attention, which is known in closed form."""
    model = whole_model(case.subject)
    assert isinstance(model, KnowsItsTwins)
    free = (record(model.attention_free(), case.tested).predicted == case.gold).astype(float)
    found.family = f"closed form: the best model of the family of {case.subject.id} with uniform weights"
    for kind, right in (("learned", own), ("free", free)):
        by = {"fit": "closed form", "weights": kind}
        found.per_example[f"accuracy:closed form:{kind}"] = right
        everyone = np.ones(len(right), dtype=bool)
        found.measurements += measured(case, "accuracy", right, everyone, PRIOR, by, settings.draws)
    found.measurements += _needed(case, settings, own, free, common, "closed form")


def plan(case: Case, settings: NecessitySettings) -> list[Recipe]:
    """Recipes of other seeds, and of every seed with each kind of weights to retrain with."""
    if case.fits is None:
        return []
    learned, *free = _recipes(case, settings).values()
    return [*learned[1:], *(recipe for of_kind in free for recipe in of_kind)]


def _recipes(case: Case, settings: NecessitySettings) -> dict[str, list[Recipe]]:
    """The same seeds for each kind of weights; the first with learned weights is the audited model.

    In a model with several attention sites, uniform weights are imposed at all of them. All weight on the last state of
    one site would leave attention elsewhere, so no such model is trained.
    """
    learned = seed_recipes(case, settings.seeds)
    several = _sites(case) > 1
    kinds = [kind for kind in settings.retrained if not several or kind not in FREE or kind == "uniform"]
    free = {
        kind: [
            imposing(recipe, **(UNIFORM_EVERYWHERE if several and kind == "uniform" else {"weights": kind}))
            for recipe in learned
        ]
        for kind in kinds
    }
    return {"learned": learned, **free}


def _retrained(case: Case, settings: NecessitySettings, common: Values, found: Findings) -> None:
    """Add the results of models retrained with and without learned attention, paired by seed."""
    recipes = _recipes(case, settings)
    found.family = _family(case)
    right: dict[str, BySeed] = {}
    for kind, of_kind in recipes.items():
        fits = _made(case, of_kind, found.not_run)
        right[kind] = {place: (fit.predicted == case.gold).astype(float) for place, fit in fits.items()}
        found.measurements += _scores(case, kind, fits, right[kind])
        if fits:
            found.per_example[f"accuracy:retrained:{kind}"] = np.mean([*right[kind].values()], axis=0)
    room = np.stack([of_seed - common for of_seed in right["learned"].values()])
    found.measurements.append(
        Measurement(
            "headroom",
            *stats.two_way_interval(room),
            "0: no better than the majority class",
            {"against": "retrained"},
        )
    )
    on_dev: dict[str, float] = {}
    for kind in [kind for kind in recipes if kind != "learned"]:
        places = [place for place in right["learned"] if place in right[kind]]
        if places:
            learned = np.stack([right["learned"][place] for place in places])
            lost = learned - np.stack([right[kind][place] for place in places])
            baseline = "0: as accurate without learned attention"
            by = {"free": kind}
            found.measurements.append(Measurement("difference", *stats.two_way_interval(lost), baseline, by))
            if kind == "uniform" and learned.any():
                of_all = stats.two_way_ratio_interval(lost, learned)
                found.measurements.append(Measurement("index", *of_all, baseline, {"against": "retrained", **by}))
            if kind in FREE:
                on_dev[kind] = _accuracy_on_dev(case, [recipes[kind][place] for place in places])
    if on_dev:
        better = max(on_dev, key=lambda kind: on_dev[kind])
        found.measurements += _needed_by_seed(right["learned"], right[better], common, better)


def _made(case: Case, recipes: Sequence[Recipe], not_run: dict[str, str]) -> dict[int, Recorded]:
    """Answers of the retrained models, by their place; reasons for missing ones go to `not_run`."""
    found: dict[int, Recorded] = {}
    for place, recipe in enumerate(recipes):
        fits, reasons = said(case, [recipe])
        found.update((place, fit) for fit in fits)
        not_run.update(reasons)
    return found


def _scores(case: Case, kind: str, fits: Mapping[int, Recorded], right: BySeed) -> Iterator[Measurement]:
    """Yield the accuracy over seeds and examples; with two labels also F1 over seeds, as published."""
    if not fits:
        return
    by = {"fit": "retrained", "weights": kind}
    yield Measurement("accuracy", *stats.two_way_interval(np.stack([*right.values()])), PRIOR, by)
    for place, answers in right.items():
        share = stats.share_interval(int(answers.sum()), len(answers))
        yield Measurement("fit_accuracy", *share, PRIOR, {**by, "seed": place})
    if case.own.log_probabilities.shape[2] == 2:
        f1 = np.array([stats.f1(fit.predicted, case.gold, 1) for fit in fits.values()])
        defined: Bool[np.ndarray, " draw"] = np.isfinite(f1)
        if defined.any():
            always = stats.f1(np.ones_like(case.gold), case.gold, 1)
            baseline = f"{always:.3f}: always answering {case.labels[1]}"
            yield Measurement("f1", *stats.t_interval(f1, valid=defined), baseline, by)


def _needed_by_seed(learned: BySeed, free: BySeed, common: Values, kind: str) -> Iterator[Measurement]:
    """Yield N over the seeds that both have; nothing if they are no better than the majority class on average."""
    places = [place for place in learned if place in free]
    room = np.stack([learned[place] - common for place in places])
    if room.mean() == 0:
        return
    lost = np.stack([learned[place] - free[place] for place in places])
    by = {"against": "retrained", "free": kind}
    yield Measurement("N", *stats.two_way_ratio_interval(lost, room), LOST, by)


def _accuracy_on_dev(case: Case, recipes: Sequence[Recipe]) -> float:
    """The accuracy on dev, which chooses the better kind: `case.tested` must not choose what it then judges."""
    fits = fits_of(case)
    split = "dev" if fits.corpus.splits.get("dev") else "train"
    examples = fits.corpus[split].examples
    gold = np.array([example.label for example in examples])
    return float(np.mean([(fits.said(recipe, examples, split).predicted == gold).mean() for recipe in recipes]))


def _family(case: Case) -> str:
    """The kind of model and the training budget that the answer is about."""
    recipe, texts = fits_of(case).recipe, len(fits_of(case).corpus["train"])
    model: Facts = recipe.model
    if "hf" in model:
        kind = f"{kind_of_model(recipe)}, a new head"
    else:
        encoder = f"{model['encoder']} encoder ({model['hidden']} hidden)"
        kind = f"{encoder}, {model['attention']} attention, {model['decoder']} decoder"
    sites = _sites(case)
    free = f"; without attention: uniform weights at all {sites} sites" if sites > 1 else ""
    return f"{kind}; at most {recipe.training['epochs']} epochs over {texts:,} texts{free}"


def _cost(case: Case, settings: NecessitySettings) -> int:
    swaps = 2 if _sites(case) == 1 else 3  # its own weights, uniform ones, and uniform ones at every site
    return swaps * len(case.tested) + to_try(case, 2 * settings.shuffles, len(case.tested))


necessity = Check(
    name="necessity",
    question="Is the model worse without learned attention?",
    paper="Wiegreffe & Pinter 2019, §3.1; Vashishth et al. 2019",
    holds="retrained",
    baseline="the majority class, and the same model with its own learned attention",
    settings=NecessitySettings,
    measure=measure,
    cost=_cost,
    plan=plan,
    of="weights",
)
