"""Do the attention weights help a simple reader, who judges each word without context, to predict the label?

In the log-odds guide, every word votes for the label it goes with in the training texts, in proportion to its weight.
Nothing is fitted, so weights that encode the label on uninformative words gain nothing. The gain is measured from the
best reading without weights, so that less noise from counting is no gain. The published guide, a context-free model
trained with the same weights, is shown for comparison after --refit: it can learn any code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import SPARED, Check, at_least_one, measured
from heatcheck.checks.retrained_answers import adversary_recipe, fits_of, imposing, said
from heatcheck.data import Example, Vocabulary
from heatcheck.data.word_odds import WordOdds, count_word_odds
from heatcheck.engine import stream
from heatcheck.errors import BadInput, NotSupported
from heatcheck.models import AttendsToParts, HasLayers, Recipe, Subject, require_words, whole_model
from heatcheck.results import CheckResult, Measurement
from heatcheck.training import batches_by_length

Right = Bool[np.ndarray, " example"]
Answers = Int[np.ndarray, " example"]
MUCH = 0.25  # of the weight, on tokens that belong to no word
LOG_ODDS, REFITTED = {"guide": "log_odds"}, {"guide": "refitted"}
MAJORITY = "majority class"  # the reading that ignores the words
HALVINGS = 4  # random splits of the counted texts, each into two halves and four quarters


@dataclass(frozen=True)
class GuideSettings:
    """How to count words, and the guides to train for comparison."""

    smoothing: float = 0.5  # texts added to each count
    seeds: int = 5  # of each refitted guide
    strength: float = 3e-3  # λ of the adversary whose weights are tried too, which starts fresh as in the paper
    epochs: int = 20  # of that adversary
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "guide", "seeds", "epochs", "draws")
        if not 0 < self.smoothing < np.inf:
            raise BadInput(f"guide.smoothing must be above 0, not {self.smoothing}.")
        if not 0 <= self.strength < np.inf:
            raise BadInput(f"guide.strength must be at least 0, not {self.strength}.")


def plan(case: Case, settings: GuideSettings) -> list[Recipe]:
    """Recipes of the models to train; the adversary first, because one of the guides uses its weights."""
    if isinstance(case.subject, AttendsToParts | HasLayers):
        return []  # `measure` says why
    return [_adversary(case, settings), *(recipe for of in guides(case, settings).values() for recipe in of)]


def guides(case: Case, settings: GuideSettings) -> dict[str, list[Recipe]]:
    """Recipes of context-free models by the weights they use, one per seed.

    Only the weights depend on a question: a decoder that saw it too could do without their help.
    """
    fits = fits_of(case)
    own = fits.recipe
    loss = {name: value for name, value in own.loss.items() if name == "label_weight"}
    model = {**own.model, "encoder": "average", "decoder": "linear"}
    free = replace(own, model=model, loss={"name": "likelihood", **loss}, impose=None)
    kinds = {
        "uniform": imposing(free, weights="uniform"),
        "learned": free,
        "base": imposing(free, weights="parent", parent=fits.base),
        "adversary": imposing(free, weights="parent", parent=_adversary(case, settings).id),
    }
    return {kind: [replace(recipe, seed=seed) for seed in range(settings.seeds)] for kind, recipe in kinds.items()}


def measure(case: Case, settings: GuideSettings) -> CheckResult:
    """Measure the accuracy of each guide with the model's and with uniform weights, and the share of the gap closed."""
    require_words(case.subject, "guide")
    if isinstance(case.subject, HasLayers):
        raise NotSupported(
            f"guide reads words with their weights alone, and {case.subject.id} is a transformer. The tokens it weighs "
            f"have already read the whole text{_beside_words(case)}."
        )
    gold = case.gold
    if case.own.log_probabilities.shape[1] > 1:
        raise NotSupported(f"{case.subject.id} makes several decisions per text; guide supports one.")
    counted = count_texts(case)
    odds = counted.odds(settings.smoothing)
    base = case.own.predicted == gold
    tokens = tokens_of(case.subject, case.tested)
    read = {name: guided(case, tokens, reading) for name, reading in odds.readings().items()}
    frozen = {kind: answers == gold for kind, answers in read["log-odds"].items()}
    best = best_readings(case, read)
    half = at_half_the_counts(case, settings, counted, tokens, best["unweighted"].name)
    refitted, not_run = _refitted(case, settings) if case.retrains("guide") else ({}, {})
    if case.fits is not None and not case.retrains("guide"):
        not_run = SPARED
    right: dict[str, np.ndarray] = {f"right:log_odds:{kind}": found for kind, found in frozen.items()}
    right |= {f"right:{kind}": reading.right for kind, reading in best.items()}
    right |= {f"right:refitted:{kind}": (_stacked(found) == gold).mean(0) for kind, found in refitted.items()}
    return CheckResult(
        check="guide",
        subject=case.subject.id,
        holds="retrained",
        measurements=(*of_log_odds(case, settings, frozen, base, best, half), *of_refitted(case, refitted, base)),
        examples=tuple(example.id for example in case.tested),
        per_example={name: found.astype(float) for name, found in {**right, "right:base": base}.items()},
        excluded={},
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"words": len(odds.place), "texts": int(odds.texts.sum())},
    )


def _beside_words(case: Case) -> str:
    """The share of weight on [CLS], [SEP] and the like, if it is large."""
    scores = case.scores("attention")
    share = 1 - float(np.where(scores.valid, scores.values, 0.0).sum(1).mean())
    return f", and {share:.0%} of its weight is on tokens that belong to no word" if share > MUCH else ""


class Counted(NamedTuple):
    """The training texts, with the model's tokens and label numbers."""

    tokens: Sequence[Sequence[str]]
    labels: Answers
    number: int  # of labels

    def odds(self, smoothing: float) -> WordOdds:
        return count_word_odds(self.tokens, self.labels, self.number, smoothing=smoothing)

    def part(self, places: Sequence[int]) -> "Counted":
        return self._replace(tokens=[self.tokens[place] for place in places], labels=self.labels[list(places)])


class Reading(NamedTuple):
    """A way to read bare words, and the texts it reads correctly."""

    name: str
    right: Right


def odds_of(case: Case, smoothing: float) -> WordOdds:
    """Log-odds counted in the training texts, with the model's tokens."""
    return count_texts(case).odds(smoothing)


def count_texts(case: Case) -> Counted:
    """The training texts; raises NotSupported if they are unknown or not labelled."""
    corpus = case.trained_on
    if corpus is None:
        raise NotSupported(
            f"guide counts words in the training texts of {case.subject.id}, which are unknown: name them with --train."
        )
    train = corpus["train"].examples
    foreign = [name for name in corpus.labels if name not in case.labels]
    if foreign:
        raise BadInput(
            f"{corpus.name} has the label {foreign[0]!r}, which {case.subject.id} does not know: name its training "
            "texts with --train."
        )
    number = [case.labels.index(name) for name in corpus.labels]
    labels = [number[example.label] for example in train if isinstance(example.label, int)]
    if len(labels) < len(train):
        raise NotSupported(
            f"{len(train) - len(labels)} texts of {corpus.name} do not have exactly one label; guide needs one each."
        )
    return Counted(tokens_of(case.subject, train), np.array(labels), len(case.labels))


def best_readings(case: Case, read: Mapping[str, Mapping[str, Answers]]) -> dict[str, Reading]:
    """The most accurate reading with the model's weights, and the most accurate one without weights.

    The majority class counts as a reading without weights.
    """
    right = {kind: [Reading(name, of[kind] == case.gold) for name, of in read.items()] for kind in ("own", "uniform")}
    right["uniform"].append(Reading(MAJORITY, case.gold == np.bincount(case.gold).argmax()))
    best = {kind: max(readings, key=lambda one: float(one.right.mean())) for kind, readings in right.items()}
    return {"weighted": best["own"], "unweighted": best["uniform"]}


class Halved(NamedTuple):
    """A reading without weights whose words were counted in half of the training texts."""

    right: Float[np.ndarray, " example"]  # how often it is right on each text, over several halves
    noise: float = 0.0  # standard error, from counting, of the accuracy that endless texts are taken to give


def at_half_the_counts(
    case: Case, settings: GuideSettings, counted: Counted, tokens: Sequence[Sequence[str]], reading: str
) -> Halved | None:
    """The accuracy of a reading without weights if words are counted in half of the texts; None for the majority class.

    Its gain from half to all texts estimates its further gain from unlimited texts: its error is the noise of counts,
    whose variance halves with every doubling. How far this estimate is off depends on which texts were counted. The two
    halves are different texts, so the same estimate from each half and its quarters shows it: its variance there is
    twice that of the whole.
    """
    if reading == MAJORITY:
        return None

    def right(places: Sequence[int]) -> Float[np.ndarray, " example"] | None:
        part = counted.part(places)
        if set(part.labels) != set(counted.labels):
            return None
        answers = guided(case, tokens, part.odds(settings.smoothing).readings()[reading])["uniform"]
        return np.asarray((answers == case.gold) * 1.0)

    halves, gaps = [], []
    for number in range(HALVINGS):
        order = stream(case.seed, "guide halves", str(number)).permutation(len(counted.labels)).tolist()
        guesses = []
        for places in (order[::2], order[1::2]):
            half, *quarters = (right(some) for some in (places, places[::2], places[1::2]))
            known = [quarter.mean() for quarter in quarters if quarter is not None]
            if half is not None:
                halves.append(half)
                guesses += [2 * half.mean() - np.mean(known)] if len(known) == 2 else []
        if len(guesses) == 2:
            gaps.append(guesses[0] - guesses[1])
    if not halves:
        return None
    noise = float(np.sqrt(np.mean(np.square(gaps)) / 4)) if gaps else np.inf
    return Halved(np.mean(halves, axis=0), noise)


def tokens_of(subject: Subject, examples: Sequence[Example]) -> list[list[str]]:
    """The tokens of each text that may have weight: from the model's vocabulary, or the words they belong to."""
    vocabulary = getattr(whole_model(subject), "vocabulary", None)
    found: dict[int, list[str]] = {}
    for indices in batches_by_length(examples, 512):
        # Labels and marks are not needed, and those of other data may not fit the model.
        bare = [replace(examples[index], label=None, options=None, marks={}) for index in indices]
        batch = subject.encode(bare)
        scored = (batch.scored & batch.valid).cpu().numpy()  # a word that is not read has no weight
        names = vocabulary.tokens if isinstance(vocabulary, Vocabulary) and "tokens" in batch.inputs else None
        numbers = (batch.word if names is None else batch.inputs["tokens"]).cpu().numpy()
        for row, index in enumerate(indices):
            pieces = examples[index].words if names is None else names
            found[index] = [pieces[number] for number in numbers[row, scored[row]]]
    return [found[index] for index in range(len(examples))]


def guided(case: Case, tokens: Sequence[Sequence[str]], odds: WordOdds) -> dict[str, Answers]:
    """The labels that the words of `case.tested` vote for, with the model's own weights and with uniform ones."""
    answers: dict[str, list[int]] = {"own": [], "uniform": []}
    rows = zip(case.tested, tokens, case.own.weights, case.own.allowed, strict=True)
    for example, of_text, weights, allowed in rows:
        answers["own"].append(odds.choose(of_text, weights[allowed], example.options))
        answers["uniform"].append(odds.choose(of_text, np.full(len(of_text), 1 / len(of_text)), example.options))
    return {kind: np.array(found) for kind, found in answers.items()}


def of_log_odds(
    case: Case,
    settings: GuideSettings,
    right: Mapping[str, Right],
    base: Right,
    best: Mapping[str, Reading] | None = None,
    half: Halved | None = None,
) -> Iterator[Measurement]:
    """Yield the accuracy of the counted words with each kind of weights, and the share of the gap the weights close.

    `best` has the best readings with and without weights, `half` the accuracy of the latter with half of the counts.
    """
    everyone = np.ones(len(base), bool)
    commonest = case.gold == np.bincount(case.gold).argmax()
    best = best or {
        name: Reading("log-odds", right[kind]) for name, kind in (("weighted", "own"), ("unweighted", "uniform"))
    }
    for name, values, baseline, by in (
        ("accuracy", right["own"], "accuracy under uniform weights", {**LOG_ODDS, "weights": "own"}),
        ("accuracy", right["uniform"], "prior", {**LOG_ODDS, "weights": "uniform"}),
        *(
            (kind, reading.right, baseline, {**LOG_ODDS, "reading": reading.name})
            for (kind, reading), baseline in zip(best.items(), ("unweighted", "prior"), strict=True)
        ),
        ("base_accuracy", base, "prior", {}),
        ("prior", commonest, "none: this is the floor", {}),
    ):
        yield from measured(case, name, values.astype(float), everyone, baseline, by, settings.draws)
    without = best["unweighted"].right.astype(float)
    # Unlimited counts: as much again as the second half of the texts gained, if it gained anything.
    at_the_limit = without if half is None else 2 * without - half.right
    noise = 0.0 if half is None else half.noise
    columns = np.stack([best["weighted"].right, without, base, at_the_limit], axis=1)

    def interval(statistic: Any) -> stats.Interval:
        # The same resamples for all: if the headroom's interval is above 0, only draws below its lower end leave the
        # share undefined, so both ends of the share's interval are defined.
        generator = stream(case.seed, "bootstrap", "guide")
        return stats.bootstrap_interval(columns, statistic, generator=generator, draws=settings.draws)

    headroom = interval(lambda mean: mean[:, 2] - mean[:, 1])
    luck = stream(case.seed, "bootstrap", "guide counts")  # of the texts that happened to be counted

    def left(mean: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
        # One row is the value itself, which has no luck in it; resamples come in many.
        shift = luck.normal(0.0, 1.0, len(mean)) * noise if len(mean) > 1 and noise > 0 else 0.0
        return np.asarray(mean[:, 2] - np.maximum(mean[:, 1], mean[:, 3] + shift))

    lasts = interval(left)
    carries = _carried(case, settings, right, commonest)
    yield Measurement("headroom", *headroom, "0: words without weights do as well as the model", LOG_ODDS)
    yield Measurement("lasts", *lasts, "0: with unlimited texts, words without weights would do as well", LOG_ODDS)
    yield Measurement("carries", *carries, "0: the words alone are no better than the majority class", LOG_ODDS)
    if headroom.low > 0:
        yield Measurement("G", *interval(_share), "0: as good as without weights; 1: as good as the model", LOG_ODDS)


def _carried(case: Case, settings: GuideSettings, right: Mapping[str, Right], commonest: Right) -> stats.Interval:
    """The accuracy of the words above the majority class, with the weights whose interval is highest.

    An error in a word's counts affects all texts in which that word is the heaviest. So with the model's own weights,
    such texts are resampled together. With uniform weights no word is the heaviest.
    """
    loudest = [
        tokens[int(weights[allowed].argmax())]
        for tokens, weights, allowed in zip(
            tokens_of(case.subject, case.tested), case.own.weights, case.own.allowed, strict=True
        )
    ]
    found = []
    for kind, together in (("own", np.array(loudest)), ("uniform", np.arange(len(loudest)))):
        group = np.unique(together, return_inverse=True)[1]
        columns = (right[kind].astype(float) - commonest, np.ones(len(group)))
        sums = np.stack([np.bincount(group, weights=column) for column in columns], axis=1)
        generator = stream(case.seed, "bootstrap", "carries", kind)
        above = stats.bootstrap_interval(
            sums, lambda mean: mean[:, 0] / mean[:, 1], generator=generator, draws=settings.draws
        )
        found.append(above._replace(n=len(group)))
    return max(found, key=lambda one: one.low)


def _share(mean: Float[np.ndarray, "draw column"]) -> Float[np.ndarray, " draw"]:
    """The share of the headroom gained; ±∞ if there is none."""
    gain, room = mean[:, 0] - mean[:, 1], mean[:, 2] - mean[:, 1]
    endless = np.where(gain > 0, np.inf, -np.inf)
    return np.asarray(np.divide(gain, room, out=endless, where=room > 0))


def _adversary(case: Case, settings: GuideSettings) -> Recipe:
    return adversary_recipe(case, settings.strength, epochs=settings.epochs)


def _refitted(case: Case, settings: GuideSettings) -> tuple[dict[str, dict[int, Answers]], dict[str, str]]:
    """The answers of each trained guide, by weights and seed, and the missing ones with the reason."""
    answers: dict[str, dict[int, Answers]] = {}
    not_run: dict[str, str] = {}
    for kind, recipes in guides(case, settings).items():
        for recipe in recipes:
            found = said(case, [recipe])
            not_run |= found.not_run
            for fit in found.fits:
                answers.setdefault(kind, {})[recipe.seed] = fit.predicted
    return answers, not_run


def of_refitted(case: Case, answers: Mapping[str, Mapping[int, Answers]], base: Right) -> Iterator[Measurement]:
    """Yield the accuracy of guides trained with each kind of weights."""
    for kind, by_seed in answers.items():
        each = _stacked(by_seed)
        by = {**REFITTED, "weights": kind}
        baseline = "prior" if kind == "uniform" else "accuracy under uniform weights"
        yield Measurement("accuracy", *stats.two_way_interval(each == case.gold), baseline, by)
        if len(case.labels) == 2:
            yield from _f1(case, each, by)
    # A seed counts if both of its guides were trained.
    with_base, with_uniform = (answers.get(kind, {}) for kind in ("base", "uniform"))
    seeds = [seed for seed in with_base if seed in with_uniform]
    if not seeds:
        return
    helped, uniform = ((np.stack([of[seed] for seed in seeds]) == case.gold) * 1.0 for of in (with_base, with_uniform))
    room = base - uniform
    headroom = stats.two_way_interval(room)
    yield Measurement("headroom", *headroom, "0: uniform weights are as good as the model", REFITTED)
    if headroom.low > 0:
        found = stats.two_way_ratio_interval(helped - uniform, room)
        yield Measurement("G", *found, "0: uniform weights; 1: as good as the model", REFITTED)


def _f1(case: Case, answers: Int[np.ndarray, "draw example"], by: Mapping[str, str]) -> Iterator[Measurement]:
    """Yield F1 of the second label, as published, over seeds; nothing if no text has it and no guide predicts it."""
    each = np.array([stats.f1(one, case.gold, 1) for one in answers])
    defined = np.isfinite(each)
    if defined.any():
        baseline = "none: as published" if by["weights"] == "uniform" else "f1 under uniform weights"
        yield Measurement("f1", *stats.t_interval(each, valid=defined), baseline, by)


def _stacked(by_seed: Mapping[int, Answers]) -> Int[np.ndarray, "draw example"]:
    return np.stack([*by_seed.values()])


guide = Check(
    name="guide",
    question="Do the weights help a reader who knows only the words?",
    paper="Wiegreffe & Pinter 2019, §3.3 and Table 3; the log-odds guide is heatcheck's own",
    holds="retrained",
    baseline="uniform weights",
    settings=GuideSettings,
    measure=measure,
    cost=lambda case, _: 0 if isinstance(case.subject, HasLayers) else len(case.tested),  # it is not for those
    plan=plan,
    of="weights",
)
