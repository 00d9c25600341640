"""Does the heatmap mark the words that people marked?

This is about people, not about why the model decided: a plausible explanation can be wrong. So it is kept apart from
all checks of faithfulness, and compared with two kinds of chance. *random* means random scores. *random spans* means
the explanation's own scores with its runs of marked words moved to random places, so that long runs, or ties, earn
nothing by themselves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from heatcheck import stats
from heatcheck.checks.case import Case
from heatcheck.checks.check import Check, at_least_one, measured
from heatcheck.checks.passes import to_explain
from heatcheck.data import Example
from heatcheck.engine import Facts, stream
from heatcheck.errors import BadInput, NotSupported
from heatcheck.explainers import Scores
from heatcheck.results import CheckResult, Measurement

RANDOM, SPANS = "random", "random spans"
TOP, WINDOW = "top k", "window"  # the k highest words; the k neighbouring words with the highest sum
AUDITED, TRAIN = "audited", "train"

Marks: TypeAlias = Bool[np.ndarray, "example word"]
Values: TypeAlias = Float[np.ndarray, " example"]


@dataclass(frozen=True)
class PlausibilitySettings:
    """The explainers to compare with people's marks, and how."""

    explainers: tuple[str, ...] = ("attention", "gradient_x_input", "leave_one_out")
    share: str = AUDITED  # words to choose: people's mean share in the `audited` or `train` texts; or a number
    repeats: int = 10  # of each kind of chance
    draws: int = 2000  # of the bootstrap over examples

    def __post_init__(self) -> None:
        at_least_one(self, "plausibility", "repeats", "draws")
        if self.share not in (AUDITED, TRAIN) and not 0 < _number(self.share) < 1:
            raise BadInput(
                f"plausibility.share must be {AUDITED}, {TRAIN} or a number between 0 and 1, not {self.share!r}."
            )


class Hard(NamedTuple):
    """How a choice of words agrees with people's, one number per text; for chance, the mean over repeats."""

    hits: Values  # words that both marked
    said: Values  # words chosen
    true: Values  # words that people marked
    token_f1: Values
    matched: Values  # runs of chosen words that overlap a run of people's by half of their union
    said_spans: Values
    true_spans: Values
    precision: Values  # of spans
    recall: Values
    iou_f1: Values


class Agreed(NamedTuple):
    """How one explanation agrees with people."""

    by: Facts
    auprc: Values
    average_precision: Values
    hard: Mapping[str, Hard]  # by kind of rationale


class Texts(NamedTuple):
    """The texts that can be compared, and what people marked in them."""

    examples: Sequence[Example]
    gold: Marks
    valid: Marks
    size: Int[np.ndarray, " example"]  # words in a hard rationale
    rows: list[int]  # their places in the case


def measure(case: Case, settings: PlausibilitySettings) -> CheckResult:
    """Measure areas under the precision-recall curve, and F1 of words and spans, beside two kinds of chance."""
    if not _has_rationales(case.examples):
        raise NotSupported("these texts have no human rationales: plausibility needs a column with marked words.")
    scores, not_run = case.available(name for name in settings.explainers if name != RANDOM)
    if not scores:
        why = "; ".join(f"{name}: {reason}" for name, reason in not_run.items())
        raise BadInput(f"plausibility needs at least one explainer, and none could be run: {why or 'none was named.'}")
    excluded = _exclusions(case, scores)
    rows = np.flatnonzero([example.id not in excluded for example in case.examples])
    if not len(rows):
        raise BadInput(
            f"plausibility can use none of the texts. The first one was left out: {next(iter(excluded.values()))}."
        )
    share = _share(case, settings)
    texts = _texts(case, scores, rows, share)

    chance = _random(case, settings, texts)
    agreed = {RANDOM: chance}
    measurements = list(_marked(case, settings, texts))
    for name, found in scores.items():
        own = _agreement(case, {"explainer": name}, found.sizes()[rows], texts)
        spans = _random_spans(case, settings, texts, name, found.sizes()[rows])
        agreed |= {name: own, f"{SPANS} ({name})": spans}
        measurements += _against_chance(case, settings, name, own, {RANDOM: chance, SPANS: spans})
    for one in agreed.values():
        measurements += _summaries(case, settings, one)
    per_example = {"marked": _shares(texts)}
    for name, one in agreed.items():
        per_example |= {f"auprc:{name}": one.auprc, f"average_precision:{name}": one.average_precision}
        for kind, hard in one.hard.items():
            per_example |= {f"token_f1:{name}:{kind}": hard.token_f1, f"iou_f1:{name}:{kind}": hard.iou_f1}
    return CheckResult(
        check="plausibility",
        subject=case.subject.id,
        holds="states",
        measurements=tuple(measurements),
        examples=tuple(example.id for example in texts.examples),
        per_example=per_example,
        excluded=excluded,
        settings=asdict(settings),
        seed=case.seed,
        not_run=not_run,
        facts={"explainers": list(scores), "share_of_words": share},
    )


# What people marked --------------------------------------------------------------------------------------------------


def _has_rationales(examples: Sequence[Example]) -> bool:
    return any("rationale" in example.marks for example in examples)


def _exclusions(case: Case, scores: Mapping[str, Scores]) -> dict[str, str]:
    """Texts without both marked and unmarked words: no ranking can be right or wrong there."""
    reasons = case.exclusions(scores)
    for row, example in enumerate(case.examples):
        if example.id in reasons:
            continue
        if "rationale" not in example.marks:
            reasons[example.id] = "it has no human rationale"
            continue
        valid = np.logical_and.reduce([found.valid[row, : len(example.words)] for found in scores.values()])
        marked = np.array(example.marks["rationale"])[valid]
        if not marked.any():
            reasons[example.id] = "none of its words is marked"
        elif marked.all():
            reasons[example.id] = "all of its words are marked"
    return reasons


def _share(case: Case, settings: PlausibilitySettings) -> float:
    """The share of a text's words to choose: ERASER's k_d."""
    if settings.share not in (AUDITED, TRAIN):
        return _number(settings.share)
    if settings.share == TRAIN and case.trained_on is None:
        raise BadInput("plausibility.share=train needs the training texts of the model: name them with --train.")
    texts = case.tested if settings.share == AUDITED or case.trained_on is None else case.trained_on["train"]
    shares = [float(np.mean(e.marks["rationale"])) for e in texts if "rationale" in e.marks]
    if not any(shares):
        raise BadInput(f"no word of the {settings.share} texts is marked: set plausibility.share to a number.")
    return float(np.mean(shares))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _texts(case: Case, scores: Mapping[str, Scores], rows: Int[np.ndarray, " text"], share: float) -> Texts:
    valid = np.logical_and.reduce([found.valid[rows] for found in scores.values()])
    gold = np.zeros(valid.shape, dtype=bool)
    for place, row in enumerate(rows):
        marked = case.examples[row].marks["rationale"]
        gold[place, : len(marked)] = marked
    words = valid.sum(axis=1)
    size = np.clip(np.floor(share * words + 0.5).astype(np.int64), 1, words)
    return Texts([case.examples[row] for row in rows], gold & valid, valid, size, rows.tolist())


def _shares(texts: Texts) -> Values:
    return np.asarray(texts.gold.sum(axis=1) / texts.valid.sum(axis=1))


def _marked(case: Case, settings: PlausibilitySettings, texts: Texts) -> Iterator[Measurement]:
    every = np.ones(len(texts.examples), dtype=bool)
    baseline = "none: about the AUPRC of random scores"
    yield from measured(case, "marked", _shares(texts), every, baseline, {}, settings.draws)


# How an explanation agrees with it -----------------------------------------------------------------------------------


def _agreement(case: Case, by: Facts, sizes: Float[np.ndarray, "example word"], texts: Texts) -> Agreed:
    """Compare scores, and the words chosen by them, with people's marks; a mean over orders of ties."""
    areas = _areas(sizes, texts)
    found = [
        Agreed(by, *areas, {kind: _hard(marks, texts) for kind, marks in chosen.items()})
        for chosen in _choices(case, sizes, texts)
    ]
    return _mean(found)


def _choices(case: Case, sizes: Float[np.ndarray, "example word"], texts: Texts) -> list[dict[str, Marks]]:
    """The chosen words by kind of choice, once for each order of ties."""
    return [
        {
            TOP: stats.highest(sizes, texts.size, texts.valid, keys),
            WINDOW: stats.best_window(sizes, texts.size, texts.valid, keys),
        }
        for keys in case.tie_orders(sizes, texts.valid, texts.rows)
    ]


def _areas(sizes: Float[np.ndarray, "example word"], texts: Texts) -> tuple[Values, Values]:
    return (
        stats.precision_recall_area_each(sizes, texts.gold, texts.valid),
        stats.average_precision_each(sizes, texts.gold, texts.valid),
    )


def _hard(chosen: Marks, texts: Texts) -> Hard:
    hits, said, true = (marks.sum(axis=1).astype(float) for marks in (chosen & texts.gold, chosen, texts.gold))
    spans = stats.match_spans(chosen, texts.gold, texts.valid)
    matched, said_spans, true_spans = (counts.astype(float) for counts in spans)
    return Hard(
        hits,
        said,
        true,
        2 * hits / (said + true),
        matched,
        said_spans,
        true_spans,
        matched / said_spans,
        matched / true_spans,
        2 * matched / (said_spans + true_spans),
    )


def _random(case: Case, settings: PlausibilitySettings, texts: Texts) -> Agreed:
    """The agreement of random scores, mean over the repeats."""
    generators = _generators(case, RANDOM, texts)
    found = []
    for _ in range(settings.repeats):
        sizes = np.zeros(texts.valid.shape)
        for row, (generator, valid) in enumerate(zip(generators, texts.valid, strict=True)):
            sizes[row, valid] = generator.random(int(valid.sum()))
        found.append(_agreement(case, {"explainer": RANDOM}, sizes, texts))
    return _mean(found)


def _random_spans(
    case: Case, settings: PlausibilitySettings, texts: Texts, name: str, sizes: Float[np.ndarray, "example word"]
) -> Agreed:
    """The agreement of the same scores with the marked runs at random places, mean over the repeats."""
    by = {"explainer": SPANS, "matched": name}
    choices = _choices(case, sizes, texts)
    generators = _generators(case, SPANS, texts)
    found = []
    for repeat in range(settings.repeats):
        chosen = choices[repeat % len(choices)]
        orders = {kind: stats.scatter_runs(marks, generators, texts.valid) for kind, marks in chosen.items()}
        placed = {kind: np.take_along_axis(chosen[kind], order, axis=1) for kind, order in orders.items()}
        moved = np.take_along_axis(sizes, orders[TOP], axis=1)
        found.append(Agreed(by, *_areas(moved, texts), {kind: _hard(marks, texts) for kind, marks in placed.items()}))
    return _mean(found)


def _generators(case: Case, purpose: str, texts: Texts) -> list[np.random.Generator]:
    """One generator per example, so that the batch does not matter."""
    return [stream(case.seed, "plausibility", purpose, example.id) for example in texts.examples]


def _mean(found: Sequence[Agreed]) -> Agreed:
    """The mean over several repeats, per text."""

    def mean(values: Sequence[Values]) -> Values:
        return np.asarray(np.mean(values, axis=0))

    hard = {
        kind: Hard(*(mean(each) for each in zip(*(one.hard[kind] for one in found), strict=True)))
        for kind in found[0].hard
    }
    areas = (mean([one.auprc for one in found]), mean([one.average_precision for one in found]))
    return Agreed(found[0].by, *areas, hard)


# Numbers -------------------------------------------------------------------------------------------------------------


def _summaries(case: Case, settings: PlausibilitySettings, one: Agreed) -> Iterator[Measurement]:
    """Yield areas, and F1 over all words or spans (micro) and per text (macro)."""
    chance = one.by["explainer"] in (RANDOM, SPANS)
    against = "none: this is chance" if chance else f"the same number for {RANDOM} and {SPANS}"
    every = np.ones(len(one.auprc), dtype=bool)
    for name, values in (("auprc", one.auprc), ("average_precision", one.average_precision)):
        yield from measured(case, name, values, every, against, one.by, settings.draws)
    for kind, hard in one.hard.items():
        by = {**one.by, "rationale": kind}
        counts = {
            "token_f1": (hard.hits, hard.said, hard.true),
            "iou_f1": (hard.matched, hard.said_spans, hard.true_spans),
        }
        for name, columns in counts.items():
            yield _ratio(case, settings, name, columns, _pooled_f1, against, {**by, "average": "micro"})
            values = hard.token_f1 if name == "token_f1" else hard.iou_f1
            yield from measured(case, name, values, every, against, {**by, "average": "macro"}, settings.draws)
        published = {**by, "average": "macro as published"}
        yield _ratio(case, settings, "iou_f1", (hard.precision, hard.recall), _f1_of_means, against, published)


def _against_chance(
    case: Case, settings: PlausibilitySettings, name: str, own: Agreed, chance: Mapping[str, Agreed]
) -> Iterator[Measurement]:
    """Yield the gain over each kind of chance, per text; P is the share of the gap to full agreement."""
    areas = (own.auprc, chance[RANDOM].auprc, chance[SPANS].auprc)
    by = {"explainer": name}
    baseline = "0: the better kind of chance; 1: full agreement with people"
    yield _ratio(case, settings, "P", areas, _share_of_the_way, baseline, by)
    yield _ratio(case, settings, "room", areas, _room, "0: chance already agrees fully with people", by)
    every = np.ones(len(own.auprc), dtype=bool)
    for against, other in chance.items():
        differences = {("auprc_gain", ""): own.auprc - other.auprc}
        for kind, hard in own.hard.items():
            differences["token_f1_gain", kind] = hard.token_f1 - other.hard[kind].token_f1
            differences["iou_f1_gain", kind] = hard.iou_f1 - other.hard[kind].iou_f1
        for (quantity, kind), values in differences.items():
            where = {**by, "against": against} | ({"rationale": kind, "average": "macro"} if kind else {})
            yield from measured(case, quantity, values, every, "0: no better than chance", where, settings.draws)


def _ratio(
    case: Case,
    settings: PlausibilitySettings,
    name: str,
    columns: Sequence[Values],
    statistic: Callable[[np.ndarray], np.ndarray],
    baseline: str,
    by: Facts,
) -> Measurement:
    """A function of the means of these columns, resampled together."""
    generator = stream(case.seed, "bootstrap", name, *(f"{key} {value}" for key, value in by.items()))
    found = stats.bootstrap_interval(np.stack(columns, axis=1), statistic, generator=generator, draws=settings.draws)
    return Measurement(name, *found, baseline=baseline, by=by)


def _pooled_f1(mean: Float[np.ndarray, "draw 3"]) -> Float[np.ndarray, " draw"]:
    return np.asarray(2 * mean[:, 0] / (mean[:, 1] + mean[:, 2]))


def _f1_of_means(mean: Float[np.ndarray, "draw 2"]) -> Float[np.ndarray, " draw"]:
    """The F1 of mean precision and mean recall, 0 if nothing matches: ERASER's macro IOU F1."""
    return np.asarray(2 * mean[:, 0] * mean[:, 1] / np.maximum(mean[:, 0] + mean[:, 1], 1e-300))


def _share_of_the_way(mean: Float[np.ndarray, "draw 3"]) -> Float[np.ndarray, " draw"]:
    chance = mean[:, 1:].max(axis=1)
    return np.asarray((mean[:, 0] - chance) / (1 - chance))


def _room(mean: Float[np.ndarray, "draw 3"]) -> Float[np.ndarray, " draw"]:
    return np.asarray(1 - mean[:, 1:].max(axis=1))


def _cost(case: Case, settings: PlausibilitySettings) -> int:
    """Forward passes: none without human rationales."""
    if not _has_rationales(case.examples):
        return 0
    return to_explain(case, settings.explainers)


plausibility = Check(
    name="plausibility",
    question="Does the heatmap mark the words that people marked?",
    paper="DeYoung et al. 2020 (ERASER); Jacovi & Goldberg 2020",
    holds="states",
    baseline="random scores, and the heatmap's own runs of words at random places",
    settings=PlausibilitySettings,
    measure=measure,
    cost=_cost,
)
