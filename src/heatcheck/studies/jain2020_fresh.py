"""Jain et al. 2020, "Learning to Faithfully Rationalize by Construction": classifiers that read a rationale alone.

One model per way to extract words and share of them, beside the model of whole texts that chooses the words (the
support model). Controls have random words, everything but the rationale, and only the places of the rationale.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from heatcheck import stats
from heatcheck.auditing import Plan
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.models import Extraction
from heatcheck.models.contract.extraction import CHOSEN, HUMAN, MARK, PATTERN, REST, TOP, WINDOW
from heatcheck.results import CheckResult, Key, Model, Row, key, register_axes
from heatcheck.studies.cells import Cell, Measured
from heatcheck.studies.corpora import Source
from heatcheck.studies.rows import Where, row_from, spread_of
from heatcheck.studies.study import ALL, TEXTS, Found, Gathered, Place, Study, check_names, need_seeds, setting
from heatcheck.training import predict

TASKS = ("sst", "eraser_movies")
PREPARED = {"eraser_movies": "eraser_movies:marked"}  # one train review has no marked word
LONG = ("eraser_movies", "imdb_small")  # leave-one-out reads each text once a word: too dear there
ENCODER, ATTENTION = "lstm", "tanh"
FULL = "full"
OTHER_ENCODER = "a BiLSTM, not BERT"
for _name in ("macro_f1", "accuracy_read", "gain_kept", "token_f1"):
    register_axes(_name, ("read",), ("read", "share"))
register_axes("accuracy_gap", ("read", "beside", "share"))


class Kind(NamedTuple):
    """A way to extract words, as the treatment `fresh` has it."""

    by: str
    how: str = TOP
    reads: str = CHOSEN

    def treatment(self, share: float) -> dict[str, Any]:
        return {"name": "fresh", **self._asdict(), "share": share}


KINDS: dict[str, Kind] = {
    "attention": Kind("attention"),
    "attention_window": Kind("attention", WINDOW),
    "gradient": Kind("gradient_through"),
    "gradient_window": Kind("gradient_through", WINDOW),
    "leave_one_out": Kind("leave_one_out"),
    "random": Kind("random"),
    "random_window": Kind("random", WINDOW),
    "attention_rest": Kind("attention", reads=REST),
    "random_rest": Kind("random", reads=REST),
    "attention_places": Kind("attention", reads=PATTERN),
    "leave_one_out_places": Kind("leave_one_out", reads=PATTERN),
    "random_places": Kind("random", reads=PATTERN),
}
# Accuracy of the first minus that of the second, with the same share, seeds and examples.
PAIRS = (
    ("attention", "random"),
    ("attention", "gradient"),
    ("attention_window", "random_window"),
    ("attention", "attention_window"),
    ("attention_rest", "attention"),
    ("attention_rest", "random_rest"),
    ("attention_places", "random_places"),
    ("leave_one_out_places", "random_places"),
)


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks: sst, imdb_small or eraser_movies.")
    kinds: tuple[str, ...] = setting(tuple(KINDS), "Ways to extract words.")
    shares: tuple[float, ...] = setting((0.1, 0.2, 0.4), "Shares of the words that are extracted.")
    seeds: int = setting(5, "Models per kind.")
    preset: str = setting("default", "Training preset: default or jw-release.")
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(("sst",), ("attention", "random", "attention_rest"), (0.2,), seeds=2, epochs=1, texts=60)


def name_of(task: str, read: str, share: float | None, seed: int) -> str:
    return f"{task}, {read}{'' if share is None else f' {share:g}'}, seed {seed}"


def reads_of(settings: Settings, task: str) -> Iterator[tuple[str, float | None]]:
    """What models of a task read, and which share of it: whole texts first."""
    yield FULL, None
    for kind in settings.kinds:
        if KINDS[kind].by != "leave_one_out" or task not in LONG:
            yield from ((kind, share) for share in settings.shares)
    if task in PREPARED:
        yield HUMAN, None


def cells_of(settings: Settings, task: str) -> list[Cell]:
    choices: dict[str, Any] = {"preset": settings.preset, "encoder": ENCODER, "attention": ATTENTION}
    choices |= {} if settings.epochs is None else {"epochs": settings.epochs}
    cells = []
    for read, share in reads_of(settings, task):
        treatment: dict[str, Any] = {}
        if read == HUMAN:
            treatment = {"treatment": Kind(HUMAN).treatment(1.0)}
        elif share is not None:
            treatment = {"treatment": KINDS[read].treatment(share)}
        cells += [
            Cell(name_of(task, read, share, seed), task, ENCODER, ATTENTION, {**choices, **treatment}, (), {}, seed)
            for seed in range(settings.seeds)
        ]
    return cells


def refuse(settings: Settings) -> None:
    check_names("way to extract words in jain2020_fresh", settings.kinds, KINDS)
    check_names("preset of jain2020_fresh", [settings.preset], ["default", "jw-release"])
    need_seeds("jain2020_fresh", settings, 2)
    if not all(0 < share < 1 for share in settings.shares):
        raise BadInput(f"shares of jain2020_fresh must lie between 0 and 1, not {settings.shares}.")


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(PREPARED.get(task, task), settings.texts) for task in settings.tasks}


def plan(settings: Settings, _: Place, found: Found) -> Iterator[Sequence[Cell]]:
    """The support models, then all that read a rationale."""
    cells = [cell for task in found.corpora for cell in cells_of(settings, task)]
    yield [cell for cell in cells if "treatment" not in cell.choices]
    yield [cell for cell in cells if "treatment" in cell.choices]


def answers_of(plan: Plan, _: Mapping[str, CheckResult]) -> Facts:
    """The label given to each test text, and how well the words that were read match those that people marked."""
    subject, tested = plan.case.subject, plan.corpus["test"].examples
    said = predict(subject, tested)[:, 0].argmax(-1)
    facts: dict[str, Any] = {"answers": said.tolist(), "gold": [example.label for example in tested]}
    recipe = subject.recipe
    extract = None if recipe is None else recipe.extract
    if extract is None or Extraction(**extract).reads != CHOSEN or not all(MARK in one.marks for one in tested):
        return facts
    scores = []
    for start in range(0, len(tested), 64):
        some = tested[start : start + 64]
        batch = subject.encode(some)
        read = (batch.valid & batch.scored).cpu().numpy()
        for row, example in enumerate(some):
            words = set(batch.word[row].cpu().numpy()[read[row]].tolist())
            marked = set(np.flatnonzero(example.marks[MARK]).tolist())
            scores.append(2 * len(words & marked) / (len(words) + len(marked)))
    return {**facts, "token_f1": scores}


def macro_f1(said: Int[np.ndarray, " example"], gold: Int[np.ndarray, " example"], labels: int) -> float:
    """The mean of the F1 of each label, as the paper has it; 0 for a label that no answer and no text has.

    >>> round(macro_f1(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2), 3)
    0.733
    """
    return float(np.mean([np.nan_to_num(stats.f1(said, gold, label)) for label in range(labels)]))


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    published = {(one.task, one.key.text): one for one in found.published}
    rows: list[Row] = []
    models: list[Model] = []
    tasks: dict[str, Facts] = {}
    for task in found.corpora:
        there = {name: one for name, one in found.measured.items() if one.cell.task == task}
        if not there:
            continue
        about = next(iter(there.values())).about
        tasks[task] = about
        why = about["not_comparable"] or OTHER_ENCODER
        for quantity, value, spread in numbers_of(settings, task, there):
            where = Where(task, ENCODER, ATTENTION, quantity)
            rows.append(row_from(where, value, spread, published.get((task, quantity.text)), why))
        models.append(Model(task, ENCODER, ATTENTION, tuple(about["labels"]), settings.seeds, {}, ()))
    return Gathered(rows, models, tasks)


def numbers_of(
    settings: Settings, task: str, there: Mapping[str, Measured]
) -> Iterator[tuple[Key, stats.Interval, float]]:
    """Every number of a task with its spread over seeds; kinds of which a seed failed are left out."""
    right: dict[tuple[str, float | None], Bool[np.ndarray, "seed example"]] = {}
    chance = 0.0
    for read, share in reads_of(settings, task):
        seeds = [there.get(name_of(task, read, share, seed)) for seed in range(settings.seeds)]
        of_seeds = [one for one in seeds if one is not None]
        if len(of_seeds) < settings.seeds:
            continue
        gold = np.array(of_seeds[0].facts["gold"])
        chance = float(np.bincount(gold).max() / len(gold))
        said = np.array([one.facts["answers"] for one in of_seeds])
        right[read, share] = said == gold
        by: dict[str, Any] = {"read": read} if share is None else {"read": read, "share": share}
        f1 = [macro_f1(one, gold, len(of_seeds[0].about["labels"])) for one in said]
        yield key("macro_f1", **by), stats.t_interval(np.array(f1)), spread_of(f1)
        accuracy = stats.two_way_interval(right[read, share])
        yield key("accuracy_read", **by), accuracy, spread_of(right[read, share].mean(1).tolist())
        if (full := right.get((FULL, None))) is not None and read != FULL and (full - chance).mean() > LEAST_GAIN:
            yield (
                key("gain_kept", **by),
                stats.two_way_ratio_interval(right[read, share] - chance, full - chance),
                np.nan,
            )
        if "token_f1" in of_seeds[0].facts:
            match = np.array([one.facts["token_f1"] for one in of_seeds])
            yield key("token_f1", **by), stats.two_way_interval(match), spread_of(match.mean(1).tolist())
    if right:
        yield key("commonest"), stats.Interval(chance, chance, chance, 1), np.nan
    for one, other in PAIRS:
        for share in settings.shares:
            if (one, share) in right and (other, share) in right:
                gap = right[one, share].astype(float) - right[other, share]
                spread = spread_of(gap.mean(1).tolist())
                yield key("accuracy_gap", read=one, beside=other, share=share), stats.two_way_interval(gap), spread


LEAST_GAIN = 0.05  # accuracy of whole texts above the majority class; below it, no share of it is shown
SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."
NOTES = (
    "The paper's models are BERT; ours are BiLSTMs trained from scratch. So no published number is comparable, only "
    "the order of the rows. We read three published numbers in a third party's summary, not in the paper.",
    "Intervals of accuracies and of their differences cover both seeds and texts. The interval of macro-F1 covers "
    "seeds alone.",
    "The support model of a seed chooses the words for the models of that seed, in evaluation mode. In the published "
    "code dropout was on while gradients were taken.",
    "No text is lost: a text has at least one extracted word, and each model answers every test text.",
    "A model that reads only the places of a rationale sees which words were extracted, but no word. If it does better "
    "than with random places, the choice itself tells the label.",
)

jain2020_fresh = Study(
    name="jain2020_fresh",
    title="Rationales that are faithful by construction, reproduced",
    paper="Jain et al. 2020, Learning to Faithfully Rationalize by Construction (ACL)",
    about="classifiers that read an extracted rationale alone, beside random words, the rest, and only the places",
    tasks=(*TASKS, "imdb_small"),
    settings=Settings,
    quick=QUICK,
    version=1,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    more=answers_of,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)
