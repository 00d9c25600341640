"""Wiegreffe & Pinter 2019, "Attention is not not Explanation": is attention needed, stable, hard to imitate, a guide?

One base model per task, then every retrained model that its checks want (studies/cells.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck import stats
from heatcheck.auditing import Plan
from heatcheck.checks.retrained_answers import adversary_recipe, fits_of
from heatcheck.engine import Facts, Outcome
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult, StudyResult
from heatcheck.studies import wiegreffe2019_numbers as numbers
from heatcheck.studies.cells import Cell, measure_cell, measure_cells
from heatcheck.studies.corpora import as_released, shown_settings
from heatcheck.studies.study import Study, check_names

VERSION = 2  # raised by hand when a task's results change
STATES = ("wp", "jw-release")  # the kept epoch is the best on test, as in the paper, or on dev
CHECKED = ("necessity", "seed_variance", "adversarial_model", "guide", "gauge")
STORIES = "babi_1"  # more than two labels and a question: necessity only
TASKS = ("sst", "imdb_small", "20news_sports", "ag_news", STORIES)
SEEDS, MORE_SEEDS = 5, {"sst": 8}  # 8 as published
STARTS: tuple[str, ...] = ("fresh",)
MORE_STARTS: dict[str, tuple[str, ...]] = {"sst": ("fresh", "parent")}
STRENGTHS = (1e-4, 3e-4, 5e-4, 7e-4, 1e-3, 2e-3, 1e-2)  # on SST the weights move away between the second and the fifth
PUBLISHED_STRENGTHS = {"sst": (numbers.HALVED * 5.25e-4,), "imdb_small": (numbers.HALVED * 8e-4,)}  # of Table 4
GUIDE_STRENGTH = numbers.HALVED * 1e-3  # of Table 3


@dataclass(frozen=True)
class Settings:
    """What to run. Every field is part of the names of the result folders."""

    tasks: tuple[str, ...] = TASKS
    seeds: int | None = None  # None: 5, and 8 for sst
    strengths: tuple[float, ...] | None = None  # λ; None: seven, and twice the published one of the task
    adversary_epochs: int = 80  # at most; training stops after 10 without a better loss
    restarts: int = 1  # adversaries per λ
    starts: tuple[str, ...] | None = None  # None: fresh, and for sst also parent
    examples: int = 500  # of the test texts, for checks that use a sample
    preset: str = "wp"
    vectors: str | None = None
    epochs: int | None = None  # of every other training; None: the preset's
    patience: int | None = None  # None: the preset's, which never stops early
    texts: int | None = None  # of each split, for a quick run


QUICK = Settings(
    seeds=2, strengths=(1e-3, GUIDE_STRENGTH), adversary_epochs=1, starts=STARTS, examples=40, epochs=1, texts=60
)


def cells_of(settings: Settings, task: str) -> list[Cell]:
    """One cell per task, and two for stories: the decoder sees the question too, or only the weights do."""
    if task != STORIES:
        return [_cell(settings, task, task, {}, "")]
    merge, linear = ({"decoder": decoder} for decoder in ("merge", "linear"))
    return [
        _cell(settings, task, f"{task}, merge", merge, "the decoder sees the question and the weighted story"),
        _cell(settings, task, f"{task}, linear", linear, "only the weights depend on the question"),
    ]


def _cell(settings: Settings, task: str, name: str, changes: Facts, seen: str) -> Cell:
    vectors = None if task == STORIES else settings.vectors  # stories have no pretrained vectors, as published
    choices = {"preset": settings.preset, "encoder": "lstm", "attention": "tanh", "vectors": vectors, **changes}
    budget = {"epochs": settings.epochs, "patience": settings.patience}
    choices |= {key: value for key, value in budget.items() if value is not None}
    checks = ("necessity",) if task == STORIES else CHECKED
    chosen = check_settings(settings, task)
    return Cell(
        name,
        as_released(task),
        "lstm",
        "tanh",
        choices,
        checks,
        {key: value for key, value in chosen.items() if key.partition(".")[0] in checks},
        examples=settings.examples,
        seen=seen,
        refit=True,
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
    """Train and measure what is missing under `folder`, then gather every number beside the published one."""
    _check(settings)
    measured, failed = measure_cells(
        "wiegreffe2019",
        VERSION,
        [cell for task in settings.tasks for cell in cells_of(settings, task)],
        folder,
        texts=settings.texts,
        data_dir=data_dir,
        device=device,
        workers=workers,
        progress=progress,
        measure=measure_job,
    )
    here = [task for task in settings.tasks if any(one.cell.task == as_released(task) for one in measured)]
    shown = shown_settings(settings, here)
    return numbers.gather(measured, failed, shown, smoke=settings.texts is not None)


def check_settings(settings: Settings, task: str) -> dict[str, Any]:
    """The settings of every check, by `check.key`."""
    seeds = settings.seeds or MORE_SEEDS.get(task, SEEDS)
    starts = settings.starts or MORE_STARTS.get(task, STARTS)
    strengths = settings.strengths or (*STRENGTHS, *PUBLISHED_STRENGTHS.get(task, ()))
    return {
        "necessity.seeds": seeds,
        "seed_variance.seeds": seeds,
        "adversarial_model.seeds": seeds,
        "adversarial_model.strengths": sorted(strengths),
        "adversarial_model.epochs": settings.adversary_epochs,
        "adversarial_model.restarts": settings.restarts,
        "adversarial_model.starts": list(starts),
        "guide.seeds": seeds,
        "guide.strength": GUIDE_STRENGTH,
        "guide.epochs": settings.adversary_epochs,
    }


def measure_job(argument: Facts, folder: Path, store: Path) -> None:
    """As for any cell, and keep the F1 of the adversaries, which the paper reports."""
    measure_cell(argument, folder, store, more=f1_of_adversaries)


def f1_of_adversaries(plan: Plan, results: Mapping[str, CheckResult]) -> Facts:
    """F1 of the second of two labels for each adversary on the frontier; None where it is undefined."""
    found: list[dict[str, Any]] = []
    if "adversarial_model" in results:
        case, chosen = plan.case, plan.checks["adversarial_model"]
        for m in results["adversarial_model"].measurements:
            if m.name == "jsd" and m.by["model"] == "adversary":
                by = {key: m.by[key] for key in numbers.TRAINED}
                recipe = adversary_recipe(case, epochs=chosen.epochs, as_published=chosen.as_published, **by)
                f1 = stats.f1(fits_of(case).said(recipe, case.tested, "tested").predicted, case.gold, 1)
                found.append({**by, "f1": f1 if np.isfinite(f1) else None})
    return {"f1": found}


def _check(settings: Settings) -> None:
    check_names("task of wiegreffe2019", settings.tasks, TASKS)
    check_names("preset of wiegreffe2019", [settings.preset], STATES)
    if settings.seeds is not None and settings.seeds < 2:
        raise BadInput(f"wiegreffe2019 compares seeds: it needs at least 2 seeds, not {settings.seeds}.")
    for number in settings.strengths or ():
        if not 0 <= number < float("inf"):
            raise BadInput(f"--strengths of wiegreffe2019 must be numbers of at least 0, not {number}.")


wiegreffe2019 = Study(
    "wiegreffe2019",
    numbers.PAPER,
    "other seeds, uniform attention, adversarial models, and attention as a guide for another model",
    TASKS,
    run,
    Settings,
    QUICK,
)
