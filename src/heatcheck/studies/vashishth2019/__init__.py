"""Vashishth et al. 2019, "Attention Interpretability Across NLP Tasks": replaced weights, at test time and in training.

One model per task and seed, with other weights imposed at test time; and the same seeds trained with such weights from
the start. Tasks have one sequence or a pair. Pairs have two decoders, because the answer may reach the decoder by
another way than through the weights. `seq2seq` has the sequence-to-sequence tasks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from heatcheck import stats
from heatcheck.checks.other_weights import SWAPS
from heatcheck.engine import Facts
from heatcheck.results import CheckResult, Key, Model, Row, key
from heatcheck.studies.cells import Cell, Measured
from heatcheck.studies.corpora import Source, as_released
from heatcheck.studies.rows import Where, row_from, spread_of
from heatcheck.studies.seq2seq import score_work
from heatcheck.studies.study import (
    ALL,
    NO_VECTORS,
    PATIENCE,
    TEXTS,
    VECTORS,
    Found,
    Gathered,
    Piece,
    Place,
    Study,
    check_names,
    given_of,
    need_seeds,
    setting,
    shown_settings,
)
from heatcheck.studies.vashishth2019.seq2seq import PRESET, SEQUENCES, gather_scores, recipes_of, source_of

STATES = ("jw-release", "jw-paper")  # the kept epoch is the best on dev, or on test
SINGLE, PAIRS = ("sst", "imdb_small", "20news_sports", "ag_news"), ("snli", "babi_1", "babi_2", "planted_lookup")
TASKS = SINGLE + PAIRS + SEQUENCES
DECODERS = {
    "merge": "the decoder sees the second text and the weighted first text",
    "linear": "only the weights depend on the second text",
}
WITHOUT_VECTORS = ("babi_1", "babi_2", "planted_lookup")  # their words have meanings of their own
OF_TASK: Mapping[str, Facts] = {"planted_lookup": {"embedding": 50}}  # as the stories have; the rest is the preset's


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    seeds: int = setting(5, "Models per kind.")
    preset: str = setting("jw-release", "Training preset: jw-release chooses the epoch on dev, jw-paper on test.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's")
    patience: int | None = setting(None, PATIENCE, none="the preset's, which never stops early", least=0)
    hidden: int | None = setting(None, "Hidden size per direction.", none="the preset's")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(tasks=("sst", "planted_lookup", "bigram_flip"), seeds=2, epochs=1, hidden=8, texts=40)


class Kind(NamedTuple):
    """A kind of model: a task, and for a pair a decoder."""

    name: str
    task: str
    decoder: str  # "" for one sequence


def kinds_of(tasks: Sequence[str]) -> list[Kind]:
    """One kind per task, and two for a pair; single sequences before pairs.

    >>> [kind.name for kind in kinds_of(["babi_1", "sst"])]
    ['sst', 'babi_1, merge', 'babi_1, linear']
    """
    single = [Kind(task, task, "") for task in tasks if task in SINGLE]
    return single + [Kind(f"{task}, {how}", task, how) for task in tasks if task in PAIRS for how in DECODERS]


def cells_of(settings: Settings, kind: Kind) -> list[Cell]:
    """One cell per seed; the first also trains models with other weights."""
    vectors = None if kind.task in WITHOUT_VECTORS else settings.vectors
    choices: dict[str, Any] = {"preset": settings.preset, "encoder": "lstm", "attention": "tanh", "vectors": vectors}
    choices |= OF_TASK.get(kind.task, {})
    choices |= {"decoder": kind.decoder} if kind.decoder else {}
    choices |= given_of(settings, "epochs", "patience", "hidden")
    base = Cell(
        kind.name,
        kind.task,
        "lstm",
        "tanh",
        choices,
        ("necessity",),
        {"necessity.seeds": settings.seeds, "necessity.retrained": list(SWAPS)},
        seen=DECODERS.get(kind.decoder, ""),
        refit=True,
    )
    return [base] + [
        base._replace(name=f"{kind.name}, seed {seed}", settings={}, seed=seed, refit=False)
        for seed in range(1, settings.seeds)
    ]


def refuse(settings: Settings) -> None:
    check_names("preset of vashishth2019", [settings.preset], STATES)
    need_seeds("vashishth2019", settings, 2)


def corpora(settings: Settings) -> dict[str, Source]:
    labelled = [task for task in settings.tasks if task not in SEQUENCES]
    found = {task: Source(as_released(task), settings.texts) for task in labelled}
    return found | {task: source_of(task, settings.texts) for task in settings.tasks if task in SEQUENCES}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Piece]]:
    """Cells for single sequences and pairs; sequence-to-sequence models are trained and scored by jobs of their own."""
    yield [cell for kind in kinds_of(settings.tasks) for cell in cells_of(settings, kind)]
    written = {task: corpus for task, corpus in found.corpora.items() if task in SEQUENCES}
    changes = given_of(settings, "epochs", "patience", "hidden")
    yield score_work(recipes_of(written, seeds=settings.seeds, changes=changes), place)


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for kind in kinds_of(settings.tasks):
        of_kind = [found.measured[cell.name] for cell in cells_of(settings, kind) if cell.name in found.measured]
        if of_kind:
            about = of_kind[0].about
            # The reproduction's decoder sees both texts of a pair.
            beside = {one.key: one for one in found.published if one.task == about["published"]}
            beside = {} if kind.decoder == "linear" else beside
            reasons = (ONE_WAY, about["not_comparable"]) if beside else (UNPUBLISHED,)
            other = ", ".join(reason for reason in reasons if reason)
            tasks[kind.name] = {**about, "not_comparable": other}
            rows += [
                row_from(Where(kind.name, "lstm", "tanh", quantity), value, spread, beside.get(quantity), other)
                for quantity, value, spread in (*put_in(of_kind), *trained(found.measured.get(kind.name)))
            ]
            models.append(Model(kind.name, "lstm", "tanh", tuple(about["labels"]), len(of_kind), {}, ()))
    written = gather_scores(found, settings.seeds)
    measured = {one.cell.task for one in found.measured.values()}
    here = [task for task in settings.tasks if task in written.tasks or task in measured]
    shown = shown_settings(settings, here, **({"preset_of_writing": PRESET} if written.tasks else {}))
    return Gathered([*rows, *written.rows], [*models, *written.models], {**tasks, **written.tasks}, settings=shown)


def put_in(of_kind: Sequence[Measured]) -> Iterator[tuple[Key, stats.Interval, float]]:
    """The effect of imposing other weights on the trained models, over their seeds and all test texts."""
    results = [one.results["necessity"] for one in of_kind if "necessity" in one.results]
    if not results:
        return
    prior = results[0].find("prior")
    yield key("commonest"), stats.Interval(prior.value, prior.low, prior.high, 1), np.nan  # one, whatever the seeds
    own = _by_seed(results, "accuracy:swapped:own")
    values = {key("put_in", weights="own"): own}
    for weights in SWAPS:
        right = _by_seed(results, f"accuracy:swapped:{weights}")
        values[key("put_in", weights=weights)] = right
        values[key("lost_put_in", weights=weights)] = own - right
        values[key("change", weights=weights)] = _by_seed(results, f"change:{weights}")
    even = _by_seed(results, "evenness")
    several = np.isfinite(even).all(axis=0)  # a text of one token has no evenness, whatever the seed
    if several.any():
        values[key("evenness")] = even[:, several]
    for quantity, of_seeds in values.items():
        yield quantity, stats.two_way_interval(of_seeds), spread_of(of_seeds.mean(axis=1).tolist())


def trained(base: Measured | None) -> Iterator[tuple[Key, stats.Interval, float]]:
    """Accuracy of models trained with other weights, paired by seed."""
    if base is None or "necessity" not in base.results:
        return
    wanted: dict[Key, tuple[str, Facts]] = {}
    for weights in ("learned", *SWAPS):
        wanted[key("trained", weights=weights)] = ("accuracy", {"fit": "retrained", "weights": weights})
    for weights in SWAPS:
        wanted[key("lost_trained", weights=weights)] = ("difference", {"free": weights})
    for name in ("N", "headroom"):
        wanted[key(name, against="retrained")] = (name, {"against": "retrained"})
    wanted[key("index")] = ("index", {"against": "retrained"})
    measurements = base.results["necessity"].measurements
    for quantity, (name, by) in wanted.items():
        # The accuracy of each model is kept beside their mean, and of nothing else.
        single = "fit_accuracy" if name == "accuracy" else ""
        each = [m.value for m in measurements if m.name == single and by.items() <= m.by.items()]
        for m in measurements:
            if m.name == name and all(m.by.get(key) == value for key, value in by.items()):
                yield quantity, stats.Interval(m.value, m.low, m.high, m.n), spread_of(each)


def _by_seed(results: Sequence[CheckResult], name: str) -> Float[np.ndarray, "seed example"]:
    """The values of every text, one row per seed."""
    assert len({result.examples for result in results}) == 1, "all seeds must answer the same texts"
    return np.stack([np.asarray(result.per_example[name]) for result in results])


ONE_WAY = "an LSTM in one direction"
UNPUBLISHED = "no number was published for it"
SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."
NOTES = (
    "We could not re-read the paper's own numbers and found no code, so none of them stands here. The numbers beside "
    "ours are from Bouwman et al. 2021, who reproduced Mohankumar et al. 2020. They also trained with all weight on "
    "the last state and with uniform weights. They have one run each, an LSTM in one direction with 256 units, and "
    "other word vectors. So the numbers are not comparable one by one. The tasks that need attention can be compared.",
    "Imposing weights at test time shows whether this model uses its own weights. Training with other weights shows "
    "whether models of this kind need learned ones.",
    "Shuffling changes little if the weights are nearly uniform. So the table has the evenness: their entropy over "
    "that of uniform weights. Random weights are drawn uniformly from the simplex; other draws would be more or less "
    "even. At test time, ten draws per text are imposed. In training, weights are drawn again at every step. Tests "
    "then use one draw per text, the same for every seed.",
    "For one sequence without context, the weight of a word can be traded against its value (see the gauge check). So "
    "no decision needs learned weights. An encoder with context can trade still more. For a pair, only the part of the "
    "weights that depends on both texts cannot be traded.",
    "A decoder that sees the second text can do without attention if it is wide enough and trained for long enough. If "
    "it fails within this budget, that says nothing about the task. If only the weights depend on the second text, "
    "fixed weights cannot know the question: that is a theorem.",
    "N compares with the better of uniform weights and the last state, chosen on dev. The index is the share of all "
    "accuracy that is lost with uniform weights, including the part that the majority-class baseline has.",
    "For sequence-to-sequence tasks, accuracy counts freely generated words at their positions. The interval counts "
    "seeds only. Random and shuffled weights are drawn once per text, at every step. Those models were trained with "
    "learned weights, with uniform weights, and with all weight on the first state. The first state has read the whole "
    "text backwards. N compares with the better of the last two.",
)

vashishth2019 = Study(
    name="vashishth2019",
    title="Attention interpretability across tasks, reproduced",
    paper="Vashishth et al. 2019, Attention Interpretability Across NLP Tasks (arXiv 1909.11218)",
    about="other weights, imposed at test time and in training: single sequences, pairs, sequence to sequence",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=1,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_name("published.csv"),
)
