"""Serrano & Smith 2019, "Is Attention Interpretable?": removing weights until the decision flips, in flat and
hierarchical classifiers with a recurrent, a convolutional and no encoder.

Every model is a cell of its own (studies/cells.py) with one check, `flips`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.auditing import Plan
from heatcheck.engine import Facts, Outcome
from heatcheck.results import CheckResult, StudyResult
from heatcheck.studies import serrano2019_numbers as numbers
from heatcheck.studies.cells import Cell, measure_cell, measure_cells
from heatcheck.studies.corpora import shown_settings
from heatcheck.studies.study import Study, check_names

VERSION = 1  # raised by hand when a cell's results change
TASKS = tuple(numbers.TASKS)
ENCODERS = ("gru", "conv", "none")
SHAPES = ("flan", "han")  # flat: all words of the text; hierarchical: words of each sentence, then sentences
FLAT_ONLY = ("sst",)  # one sentence per text: a HAN has nothing to remove


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = TASKS
    encoders: tuple[str, ...] = ENCODERS
    shapes: tuple[str, ...] = SHAPES
    seeds: int = 5
    examples: int = 500  # of the test texts, the same for every model of a task
    preset: str = "serrano"
    vectors: str | None = None
    epochs: int | None = None  # None: the preset's, 15, and 60 without an encoder
    patience: int | None = None  # None: the preset's, 5
    texts: int | None = None  # of each split, for a quick run


QUICK = Settings(seeds=1, examples=30, epochs=1, texts=60)


def cells_of(settings: Settings) -> list[Cell]:
    """One cell per task, shape, encoder and seed."""
    return [
        _cell(settings, task, shape, encoder, seed)
        for task in settings.tasks
        for shape in settings.shapes
        if not (shape == "han" and task in FLAT_ONLY)
        for encoder in settings.encoders
        for seed in range(settings.seeds)
    ]


def _cell(settings: Settings, task: str, shape: str, encoder: str, seed: int) -> Cell:
    choices: dict[str, Any] = {
        "preset": settings.preset,
        "encoder": encoder,
        "attention": "tanh",
        "vectors": settings.vectors,
    }
    choices |= {"hierarchical": True} if shape == "han" else {}
    budget = {"epochs": settings.epochs, "patience": settings.patience}
    choices |= {key: value for key, value in budget.items() if value is not None}
    return Cell(
        f"{task}, {shape} {encoder}, seed {seed}",
        task,
        f"{shape} {encoder}",
        "tanh",
        choices,
        ("flips",),
        # Intervals are over seeds here; these draws only decide whether there is a gap to take a share of.
        {"flips.explainers": [], "flips.draws": 200},
        seed=seed,
        examples=settings.examples,
    )


def run(
    settings: Settings,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Train and measure what is missing under `folder`, then gather every number over the seeds."""
    check_names("task of serrano2019", settings.tasks, TASKS)
    check_names("encoder of serrano2019", settings.encoders, ENCODERS)
    check_names("shape of serrano2019", settings.shapes, SHAPES)
    check_names("preset of serrano2019", [settings.preset], ["serrano"])
    measured, failed = measure_cells(
        "serrano2019",
        VERSION,
        cells_of(settings),
        folder,
        texts=settings.texts,
        data_dir=data_dir,
        device=device,
        workers=workers,
        progress=progress,
        measure=measure_job,
    )
    here = [task for task in settings.tasks if task not in failed]
    return numbers.gather(measured, failed, shown_settings(settings, here), smoke=settings.texts is not None)


def measure_job(argument: Facts, folder: Path, store: Path) -> None:
    """As for any cell, and keep the accuracy of the majority-class baseline."""
    measure_cell(argument, folder, store, more=commonest)


def commonest(plan: Plan, _: Mapping[str, CheckResult]) -> Facts:
    """Accuracy of the majority-class baseline on test."""
    return {"commonest": float(np.bincount(plan.case.gold).max() / len(plan.case.gold))}


serrano2019 = Study(
    "serrano2019",
    numbers.PAPER,
    "weights removed until the decision flips: by attention, by gradients with and without their sign, at random",
    TASKS,
    run,
    Settings,
    QUICK,
)
