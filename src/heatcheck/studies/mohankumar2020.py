"""Mohankumar et al. 2020, "Towards Transparent and Explainable Attention Models": states that differ, and attention.

An LSTM in one direction, the same with states at right angles to the mean before them (Orthogonal LSTM), and with a
penalty on conicity (Diversity LSTM). Beside each stands a temperature twin of the first: sharper weights alone also
flip decisions earlier, and make shuffles change more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heatcheck.engine import Facts
from heatcheck.studies.cells import Cell
from heatcheck.studies.corpora import Source, as_released
from heatcheck.studies.of_treatments import Kind, cell_of, entropy_of, twin_work
from heatcheck.studies.of_treatments import gather as gather_kinds
from heatcheck.studies.study import (
    ALL,
    NO_VECTORS,
    TEXTS,
    VECTORS,
    Found,
    Gathered,
    Piece,
    Place,
    Study,
    given_of,
    setting,
)

TASKS = ("sst", "imdb_small")
VERSION = 1
CHECKS: dict[str, Facts] = {
    "flips": {"explainers": [], "emptied": "uniform weights", "random_orders": 1, "draws": 200},
    "permutation": {"draws": 200},
    "states": {"draws": 200},
}


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(("sst",), "Tasks.")
    seeds: int = setting(5, "Models per kind.")
    strength: float = setting(0.5, "Weight of conicity in the loss of the Diversity LSTM.")
    hidden: int = setting(256, "Numbers in a state.")
    examples: int = setting(500, "Test examples, the same for every model of a task.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int | None = setting(None, "Epochs per training run.", none="the preset's 8")
    texts: int | None = setting(None, TEXTS, none=ALL)


QUICK = Settings(seeds=2, hidden=8, examples=30, epochs=1, texts=60)


def kinds_of(settings: Settings) -> list[Kind]:
    """The untreated model, then the two of the paper."""
    base = {
        "preset": "jw-release",
        "encoder": "lstm_ahead",
        "attention": "tanh",
        "vectors": settings.vectors,
        "hidden": settings.hidden,
        **given_of(settings, "epochs"),
    }
    diversity = {"name": "diversity", "strength": settings.strength}
    return [
        Kind("vanilla", base, treated=False),
        Kind("diversity", {**base, "treatment": diversity}),
        Kind("orthogonal", {**base, "treatment": "orthogonal"}),
    ]


def cells_of(settings: Settings, kind: Kind) -> list[Cell]:
    """One cell per task and seed."""
    return [
        cell_of(kind, task, seed, CHECKS, settings.examples)
        for task in settings.tasks
        for seed in range(settings.seeds)
    ]


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(as_released(task), settings.texts) for task in settings.tasks}


def plan(settings: Settings, place: Place, found: Found) -> Iterator[Sequence[Piece]]:
    """All models, then the temperature twins, which need two models each."""
    kinds = kinds_of(settings)
    yield [cell for kind in kinds for cell in cells_of(settings, kind)]
    untreated, *others = (cells_of(settings, kind) for kind in kinds)
    yield [
        twin_work(VERSION, base, cell, found.corpora[cell.task], found, place)
        for of_kind in others
        for base, cell in zip(untreated, of_kind, strict=True)
        if {base.name, cell.name} <= found.measured.keys()
    ]


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    return gather_kinds(
        settings.tasks, kinds_of(settings), found, smoke=settings.texts is not None, not_comparable=OTHERWISE
    )


OTHERWISE = "other word vectors"
SMOKE = "This is a smoke run: a few texts, one epoch, two seeds. Ignore its numbers."
NOTES = (
    "The published numbers are the paper's own and those of its reproduction (Bouwman et al. 2021), one run each. They "
    "start from word vectors with 300 numbers (FastText), and ours from the vectors named in the settings. So they are "
    "not comparable one by one.",
    "Every text starts from a state of zeros. In the published code it starts from a random state, whose size depends "
    "on the batch. We also evaluate without dropout and with the same sample of test texts for every model.",
    "A temperature twin is the vanilla model with its attention scores times a constant. On dev, its weights have the "
    "mean entropy of the treated model's. So it differs from the vanilla model only in how sharp its weights are.",
    "The share of weights to remove until the decision flips is a median over texts, and a text that never flips "
    "counts as 1. Once all weights are gone, the weights are uniform, as in the published code.",
    "The effect of a shuffle is the median change of the probability over 100 shuffles of a text's weights. The table "
    "has its mean over texts. The paper shows it in figures only.",
)

mohankumar2020 = Study(
    name="mohankumar2020",
    title="Transparent and explainable attention models, reproduced",
    paper="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models (ACL)",
    about="LSTMs whose states differ: conicity, weights removed until the decision flips, shuffled weights",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=VERSION,
    corpora=corpora,
    plan=plan,
    gather=gather,
    more=entropy_of,
    notes=NOTES,
    smoke=SMOKE,
    table=Path(__file__).with_suffix(".csv"),
)
