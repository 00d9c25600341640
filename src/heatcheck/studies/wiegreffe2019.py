"""Wiegreffe & Pinter 2019, "Attention is not not Explanation": is attention needed, stable, hard to imitate, a guide?

A base a task, then every other fit that the checks on it want: all tasks' bases in one go, all their other fits in a
second, then the checks. What the checks found is kept in a small folder a task under `results`; where that is there,
neither base nor fits are needed, so the page can be drawn on another machine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatcheck import engine, stats
from heatcheck.auditing import Plan, plan_audit
from heatcheck.checks import CHECKS, CheckResult
from heatcheck.checks.refitting import adversary_recipe, fits_of
from heatcheck.data import Corpus
from heatcheck.engine import Facts, Job, Outcome, content_id, write_json
from heatcheck.errors import BadInput, NotSupported, UnknownName
from heatcheck.models import Recipe, load_folder
from heatcheck.studies import wiegreffe2019_numbers as numbers
from heatcheck.studies.corpora import about, file_name, load, load_all
from heatcheck.studies.kept import keep_results
from heatcheck.studies.study import Study, StudyResult
from heatcheck.training import fit_job, fit_jobs, pick_device, plan_recipe, work_of

VERSION = 1  # raised by hand when a task's results change
STATES = ("wp", "jw-release")  # the kept epoch is the best on test, as published, or on dev
CHECKED = ("necessity", "seed_variance", "adversarial_model", "guide", "gauge")
STORIES = "babi_1"  # more than two labels and a question: necessity only
TASKS = ("sst", "imdb_small", "20news_sports", "ag_news", STORIES)
SEEDS, MORE_SEEDS = 5, {"sst": 8}  # 8 as published
STARTS: tuple[str, ...] = ("fresh",)
MORE_STARTS: dict[str, tuple[str, ...]] = {"sst": ("fresh", "parent")}
STRENGTHS = (1e-4, 3e-4, 5e-4, 7e-4, 1e-3, 2e-3, 1e-2)  # on SST the weights come loose between the second and the fifth
PUBLISHED_STRENGTHS = {"sst": (numbers.HALVED * 5.25e-4,), "imdb_small": (numbers.HALVED * 8e-4,)}  # of Table 4
GUIDE_STRENGTH = numbers.HALVED * 1e-3  # of Table 3


@dataclass(frozen=True)
class Settings:
    """What is run. Every choice decides the names of the folders with results, but for where they are made."""

    tasks: tuple[str, ...] = TASKS
    seeds: int | None = None  # None: 5, and 8 for sst
    strengths: tuple[float, ...] | None = None  # λ; None: seven, and twice the published one of the task
    adversary_epochs: int = 80  # at most; it stops after 10 without a better loss
    restarts: int = 1  # adversaries of each λ
    starts: tuple[str, ...] | None = None  # None: fresh, and for sst also parent
    examples: int = 500  # of the test texts, for what looks at a sample
    preset: str = "wp"
    vectors: str | None = None
    epochs: int | None = None  # of every other training; None: the preset's
    patience: int | None = None  # None: the preset's, which never stops early
    texts: int | None = None  # of each split, for a quick run


QUICK = Settings(
    seeds=2, strengths=(1e-3, GUIDE_STRENGTH), adversary_epochs=1, starts=STARTS, examples=40, epochs=1, texts=60
)


class Cell(NamedTuple):
    """One audited model of a task."""

    name: str
    task: str
    changes: Mapping[str, Any]  # of the preset
    seen: str  # what else is to be known of it


def cells_of(task: str) -> list[Cell]:
    """One a task, and two for stories: their question is seen by the decoder too, or by the weights alone."""
    if task != STORIES:
        return [Cell(task, task, {}, "")]
    return [
        Cell(f"{task}, merge", task, {"decoder": "merge"}, "the decoder sees the question beside the weighted story"),
        Cell(f"{task}, linear", task, {"decoder": "linear"}, "the question is in the weights only"),
    ]


def run(
    settings: Settings,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Fits and measures what is missing under `folder`, then gathers every number beside the published one."""
    _check(settings, folder)
    pick_device(device)  # a wrong name is said once, not once a model
    corpora, failed = load_all(settings.tasks, settings.texts, data_dir)
    if not corpora:
        raise BadInput(f"none of the tasks is here; the first: {next(iter(failed.values()))}")
    where = {"data_dir": None if data_dir is None else str(data_dir), "device": device}
    jobs = {
        job.id: job
        for task, corpus in corpora.items()
        for cell in cells_of(task)
        for job in [plan_job(settings, cell, corpus, where)]
    }
    results, store = folder / "results", folder / "fits"
    wanted = [job for job in jobs.values() if not (results / job.id).is_dir()]

    def make(planned: Sequence[Job]) -> Iterator[Outcome]:
        return engine.map(fit_job, planned, store, workers=workers, progress=progress)

    bases = _base_jobs(wanted, corpora, store)
    lost = {outcome.job.id: outcome.reason for outcome in make([*bases.values()]) if outcome.folder is None}
    failed |= {job.name: f"its base: {lost[bases[job.id].id]}" for job in wanted if bases[job.id].id in lost}
    plans = {job.id: plan_cell(job.argument, store, "cpu") for job in wanted if job.name not in failed}
    lost = {
        outcome.job.id: outcome.reason for outcome in make(_other_jobs([*plans.values()])) if outcome.folder is None
    }
    for name, plan in plans.items():
        # A worker that measures has not seen why a fit failed.
        reasons = {recipe.id: lost[recipe.id] for recipe in plan.recipes if recipe.id in lost}
        jobs[name] = jobs[name]._replace(argument={**jobs[name].argument, "failed": reasons})
    ready = [job for job in jobs.values() if job.name not in failed]
    done: dict[str, Path] = {}
    for outcome in engine.map(measure_job, ready, results, workers=workers, progress=progress):
        if outcome.folder is None:
            failed[outcome.job.name] = outcome.reason
        else:
            done[outcome.job.id] = outcome.folder
    if not done:
        raise BadInput(f"no task could be done; the first: {next(iter(failed.values()))}")
    cells = [numbers.read_cell(done[name]) for name in jobs if name in done]
    shown = {**settings.__dict__, "tasks": [*corpora], "vectors": file_name(settings.vectors)}
    return numbers.gather(cells, failed, shown, smoke=settings.texts is not None)


def plan_job(settings: Settings, cell: Cell, corpus: Corpus, where: Facts) -> Job:
    """The job that measures one model, named by all that decides its numbers."""
    vectors = None if cell.task == STORIES else settings.vectors  # stories have no pretrained vectors, as published
    choices = {"preset": settings.preset, "encoder": "lstm", "attention": "tanh", "vectors": vectors, **cell.changes}
    changes = {"epochs": settings.epochs, "patience": settings.patience}
    choices |= {name: value for name, value in changes.items() if value is not None}
    checks = ["necessity"] if cell.task == STORIES else list(CHECKED)
    chosen = check_settings(settings, cell.task)
    chosen = {key: value for key, value in chosen.items() if key.partition(".")[0] in checks}
    recipe = plan_recipe(corpus, seed=0, **choices)
    decides = [VERSION, cell.name, recipe.id, checks, chosen, settings.examples]
    return Job(
        f"{cell.name.replace(', ', '-')}-{content_id({'wiegreffe2019': decides})}",
        f"{cell.name}: checks",
        (),
        {
            "name": cell.name,
            "task": cell.task,
            "seen": cell.seen,
            "texts": settings.texts,
            "choices": choices,
            "base": recipe.id,
            "checks": checks,
            "settings": chosen,
            "examples": settings.examples,
            "failed": {},
            **where,
        },
    )


def check_settings(settings: Settings, task: str) -> dict[str, Any]:
    """Of every check, by `check.key`."""
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


def plan_cell(argument: Facts, store: Path, device: str) -> Plan:
    """The audit of a base that has been fitted: planned on a processor, measured where the fits are."""
    corpus = load(argument["task"], argument["texts"], argument["data_dir"])
    return plan_audit(
        load_folder(store / argument["base"], device=device),
        corpus,
        name=argument["name"],
        checks=argument["checks"],
        settings=argument["settings"],
        examples=argument["examples"],
        refit=True,
        vectors=argument["choices"]["vectors"],
        store=store,
        device=argument["device"],
    )


def measure_job(argument: Facts, folder: Path, store: Path) -> None:
    """Runs the checks on one base and what was fitted beside it, and keeps all that a page needs."""
    fits = store.parent / "fits"
    plan = plan_cell(argument, fits, str(pick_device(argument["device"])))
    case = plan.case
    fits_of(case).failed.update(argument["failed"])
    results: dict[str, CheckResult] = {}
    not_run: dict[str, str] = {}
    for name, chosen in plan.checks.items():
        try:
            results[name] = CHECKS[name].measure(case, chosen)
        except NotSupported as error:
            not_run[name] = str(error)
    keep_results(results, folder)
    facts = about(argument["task"], plan.corpus, smoke=argument["texts"] is not None)
    facts["differs"] = "; ".join(part for part in (facts["differs"], argument["seen"]) if part)
    write_json(
        folder / numbers.CELL,
        {
            "name": argument["name"],
            "about": {**facts, "not_run": not_run},
            "encoder": argument["choices"]["encoder"],
            "attention": argument["choices"]["attention"],
            "predicted": dict(zip(case.own.ids, case.own.predicted.tolist(), strict=True)),
            "f1": f1_of_adversaries(plan, results["adversarial_model"]) if "adversarial_model" in results else [],
        },
    )


def f1_of_adversaries(plan: Plan, result: CheckResult) -> list[dict[str, Any]]:
    """F1 of the second of two labels, for each adversary on the frontier; None where no text has it or is given it."""
    case, chosen = plan.case, plan.checks["adversarial_model"]
    found = []
    for m in result.measurements:
        if m.name == "jsd" and m.by["model"] == "adversary":
            by = {key: m.by[key] for key in ("strength", "start", "trains", "restart")}
            recipe = adversary_recipe(case, epochs=chosen.epochs, as_published=chosen.as_published, **by)
            f1 = stats.f1(fits_of(case).said(recipe, case.tested, "tested").predicted, case.gold, 1)
            found.append({**by, "f1": f1 if np.isfinite(f1) else None})
    return found


def _base_jobs(wanted: Sequence[Job], corpora: Mapping[str, Corpus], store: Path) -> dict[str, Job]:
    """The fit that each of these jobs starts from."""
    found = {}
    for job in wanted:
        argument, choices = job.argument, job.argument["choices"]
        corpus = corpora[argument["task"]]
        recipe = plan_recipe(corpus, seed=0, **choices)
        vectors, device = choices["vectors"], argument["device"]
        (base,) = fit_jobs([recipe], corpus, store, vectors=vectors, device=device)
        found[job.id] = _named(base, argument["name"], corpus)
    return found


def _other_jobs(plans: Sequence[Plan]) -> list[Job]:
    """Every other fit that these audits want, the longest first, so that none is left running alone at the end."""
    found: list[tuple[float, Job]] = []
    for plan in plans:
        fits = fits_of(plan.case)
        fits.make(())  # puts the base where its adversaries look for it
        words = sum(len(example.words) for example in fits.corpus["train"])
        recipes: list[Recipe] = [recipe for recipe in plan.recipes if recipe != fits.recipe]
        jobs = fit_jobs(recipes, fits.corpus, fits.store, vectors=fits.vectors, device=fits.device)
        jobs = [_named(job, plan.name, fits.corpus) for job in jobs]
        found += zip((-work_of(recipe, words) for recipe in recipes), jobs, strict=True)
    return [job for _, job in sorted(found, key=lambda one: one[0])]


def _named(job: Job, cell: str, corpus: Corpus) -> Job:
    """Two models of one task are told apart by name too."""
    return job._replace(name=cell + job.name.removeprefix(corpus.name))


def _check(settings: Settings, folder: Path) -> None:
    for task in settings.tasks:
        if task not in TASKS:
            raise UnknownName("task of wiegreffe2019", task, TASKS)
    if settings.preset not in STATES:
        raise UnknownName("preset of wiegreffe2019", settings.preset, STATES)
    if settings.seeds is not None and settings.seeds < 2:
        raise BadInput(f"wiegreffe2019 compares seeds, so it needs at least 2 of them, not {settings.seeds}.")
    for number in settings.strengths or ():
        if not 0 <= number < float("inf"):
            raise BadInput(f"the strength of an adversary is a number of at least 0, not {number}.")
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file, not a folder for the study.")


wiegreffe2019 = Study(
    "wiegreffe2019",
    numbers.PAPER,
    "other seeds, uniform attention, adversarial models, and attention as a guide",
    TASKS,
    run,
    Settings,
    QUICK,
)
