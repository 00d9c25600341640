"""Serrano & Smith 2019, "Is Attention Interpretable?": how many weights can go before the decision flips?

The classifiers are flat and hierarchical, with a recurrent, a convolutional and no encoder.

Every model is a cell of its own (studies/cells.py) with one check, `flips`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck.auditing import Plan
from heatcheck.engine import Facts
from heatcheck.results import CheckResult
from heatcheck.studies.cells import Cell
from heatcheck.studies.corpora import Source
from heatcheck.studies.serrano2019 import numbers
from heatcheck.studies.study import (
    ALL,
    NO_VECTORS,
    PATIENCE,
    TEXTS,
    VECTORS,
    Found,
    Gathered,
    Place,
    Study,
    check_names,
    given_of,
    setting,
)

TASKS = tuple(numbers.TASKS)
ENCODERS = ("gru", "conv", "none")
SHAPES = ("flan", "han")  # flat: all words of the text; hierarchical: words of each sentence, then sentences
FLAT_ONLY = ("sst",)  # one sentence per text: a HAN has nothing to remove


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    encoders: tuple[str, ...] = setting(ENCODERS, "Encoders: gru, conv or none.")
    shapes: tuple[str, ...] = setting(SHAPES, "Model shapes: flan (flat) or han (hierarchical).")
    seeds: int = setting(5, "Models per kind.")
    examples: int = setting(500, "Test examples, the same for every model of a task.")
    preset: str = setting("serrano", "Training preset.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int | None = setting(None, "Epochs per training run.", none="15, and 60 without an encoder")
    patience: int | None = setting(None, PATIENCE, none="the preset's 5", least=0)
    texts: int | None = setting(None, TEXTS, none=ALL)


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
    choices |= given_of(settings, "epochs", "patience")
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


def refuse(settings: Settings) -> None:
    check_names("encoder of serrano2019", settings.encoders, ENCODERS)
    check_names("shape of serrano2019", settings.shapes, SHAPES)
    check_names("preset of serrano2019", [settings.preset], ["serrano"])


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(task, settings.texts) for task in settings.tasks}


def plan(settings: Settings, _: Place, __: Found) -> Iterator[Sequence[Cell]]:
    """All models at once."""
    yield cells_of(settings)


def gather(settings: Settings, found: Found) -> Gathered:
    """All models as one result."""
    return numbers.gather([*found.measured.values()], found.sources, smoke=settings.texts is not None)


def commonest(plan: Plan, _: Mapping[str, CheckResult]) -> Facts:
    """Accuracy of the majority-class baseline on test."""
    return {"commonest": float(np.bincount(plan.case.gold).max() / len(plan.case.gold))}


serrano2019 = Study(
    name="serrano2019",
    title="Is Attention Interpretable?, reproduced",
    paper="Serrano & Smith 2019, Is Attention Interpretable? (ACL)",
    about="weights removed until the decision flips: by attention, by gradients with and without their sign, at random",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=1,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    more=commonest,
    notes=numbers.NOTES,
    smoke=numbers.SMOKE,
    table=Path(__file__).with_name("published.csv"),
)
