"""Wiegreffe & Pinter 2019, "Attention is not not Explanation": is attention needed, stable, hard to imitate, useful?

One base model per task, then every retrained model that its checks want (studies/cells.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatcheck import stats
from heatcheck.auditing import Plan
from heatcheck.checks.retrained_answers import adversary_recipe, fits_of
from heatcheck.engine import Facts
from heatcheck.errors import BadInput
from heatcheck.results import CheckResult
from heatcheck.studies.cells import Cell
from heatcheck.studies.corpora import Source, as_released
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
    need_seeds,
    setting,
    shown_settings,
)
from heatcheck.studies.wiegreffe2019 import numbers

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

    tasks: tuple[str, ...] = setting(TASKS, "Tasks.")
    seeds: int | None = setting(None, "Seeds per task.", none="5, and 8 for sst")
    strengths: tuple[float, ...] | None = setting(
        None, "Values of λ for the adversaries.", none="seven, and twice the published one of the task"
    )
    adversary_epochs: int = setting(80, "Most epochs per adversary; training stops after 10 without a better loss.")
    restarts: int = setting(1, "Adversaries per λ.")
    starts: tuple[str, ...] | None = setting(
        None,
        "Starts of the adversaries: fresh (from scratch) or parent (from the base model).",
        none="fresh, and for sst also parent",
    )
    examples: int = setting(500, "Test examples, for checks that use a sample.")
    preset: str = setting("wp", "Training preset: wp chooses the epoch on test, as in the paper, jw-release on dev.")
    vectors: str | None = setting(None, VECTORS, none=NO_VECTORS, file=True)
    epochs: int | None = setting(None, "Epochs per training run, except for adversaries.", none="the preset's")
    patience: int | None = setting(None, PATIENCE, none="the preset's, which never stops early", least=0)
    texts: int | None = setting(None, TEXTS, none=ALL)


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
    choices |= given_of(settings, "epochs", "patience")
    checks = ("necessity",) if task == STORIES else CHECKED
    chosen = check_settings(settings, task)
    return Cell(
        name,
        task,
        "lstm",
        "tanh",
        choices,
        checks,
        {key: value for key, value in chosen.items() if key.partition(".")[0] in checks},
        examples=settings.examples,
        seen=seen,
        refit=True,
    )


def refuse(settings: Settings) -> None:
    check_names("preset of wiegreffe2019", [settings.preset], STATES)
    check_names("start of wiegreffe2019", settings.starts or (), ("fresh", "parent"))
    need_seeds("wiegreffe2019", settings, 2)
    for number in settings.strengths or ():
        if not 0 <= number < float("inf"):
            raise BadInput(f"strengths of wiegreffe2019 must be numbers of at least 0, not {number}.")


def corpora(settings: Settings) -> dict[str, Source]:
    return {task: Source(as_released(task), settings.texts) for task in settings.tasks}


def plan(settings: Settings, _: Place, __: Found) -> Iterator[Sequence[Cell]]:
    """One base model per task; its checks plan the others."""
    yield [cell for task in settings.tasks for cell in cells_of(settings, task)]


def gather(settings: Settings, found: Found) -> Gathered:
    """All tasks as one result."""
    measured = {one.cell.task for one in found.measured.values()}
    here = [task for task in settings.tasks if task in measured]
    gathered = numbers.gather([*found.measured.values()], found.published)
    return gathered._replace(settings=shown_settings(settings, here))


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


wiegreffe2019 = Study(
    name="wiegreffe2019",
    title="Attention is not not Explanation, reproduced",
    paper="Wiegreffe & Pinter 2019, Attention is not not Explanation (EMNLP)",
    about="other seeds, uniform attention, adversarial models, and attention as a guide for another model",
    tasks=TASKS,
    settings=Settings,
    quick=QUICK,
    version=2,
    corpora=corpora,
    refuse=refuse,
    plan=plan,
    gather=gather,
    more=f1_of_adversaries,
    notes=numbers.NOTES,
    smoke=numbers.SMOKE,
    table=Path(__file__).with_name("published.csv"),
)
