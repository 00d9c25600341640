"""The models of a study and the checks on them: trained where they are missing, measured, kept in small folders.

All models of all cells are trained first, then every retrained model that their checks plan, then a job per cell runs
the checks. `results` keeps one small folder per cell. If that folder exists, nothing is trained, so a page can be drawn
on another machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from heatcheck import engine
from heatcheck.auditing import Plan, plan_audit
from heatcheck.checks import CHECKS
from heatcheck.checks.case import PUBLISHED
from heatcheck.checks.retrained_answers import fits_of
from heatcheck.data import Corpus, name_parts
from heatcheck.engine import Facts, Job, Outcome, content_id, read_json, write_json
from heatcheck.engine.place import JobFunction
from heatcheck.errors import BadInput, BrokenFolder, HeatcheckError, NotSupported
from heatcheck.models import Recipe, load_folder
from heatcheck.results import CheckResult, keep_results, read_results
from heatcheck.studies.corpora import about, load, load_all
from heatcheck.studies.study import check_place
from heatcheck.training import fit_job, fit_jobs, pick_device, plan_recipe, work_of

CELL = "cell.json"


class Cell(NamedTuple):
    """One model of a study, and the checks on it."""

    name: str  # unique within the study: "sst", "babi_1, linear", "imdb_small, HAN rnn, seed 3"
    task: str  # as load_task takes it: "sst:jw-release", "sst_wiki"
    encoder: str  # as a Row shows it
    attention: str
    choices: Mapping[str, Any]  # of plan_recipe: preset, encoder, attention, vectors, epochs, …
    checks: tuple[str, ...]
    settings: Mapping[str, Any]  # of the checks, by "check.key"
    seed: int = 0
    examples: int = 500  # of the test texts, for checks that use a sample
    seen: str = ""  # what else a reader must know about it
    refit: bool = False  # also retrain the models that its checks plan


class Measured(NamedTuple):
    """The results of a cell, read back from its small folder."""

    cell: Cell
    about: Facts  # labels, sizes, what was left out, checks that were not run
    accuracy: float  # on all of test
    predicted: Mapping[str, int]  # id of a test text -> the number of the label given to it
    results: Mapping[str, CheckResult]
    facts: Facts = MappingProxyType({})  # all that its folder says, with what the study's own job added
    folder: str = ""  # its name under `results`


def measure_cells(
    study: str,
    version: int,
    cells: Sequence[Cell],
    folder: Path,
    *,
    texts: int | None = None,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
    measure: JobFunction | None = None,
) -> tuple[list[Measured], dict[str, str]]:
    """Train and measure what is missing under `folder`; the results, and by name why others are missing.

    Args:
        version: raised by hand when the results of a cell change.
        texts: how many of each split, for a quick run.
        measure: the job that measures a cell, where a study keeps more than its checks measure; see `measure_cell`.
    """
    check_place(folder, device)
    if len({cell.name for cell in cells}) < len(cells):
        raise BadInput(
            f"two models of {study} have the same name, so their results would be mixed up. Give each its own name."
        )
    corpora, missing = load_all({cell.task: cell.task for cell in cells}, texts, data_dir)
    failed = {name_parts(task)[0]: reason for task, reason in missing.items()}
    where = {"texts": texts, "data_dir": None if data_dir is None else str(data_dir), "device": device}
    jobs = {
        cell.name: plan_job(study, version, cell, corpora[cell.task], where) for cell in cells if cell.task in corpora
    }
    results, store = folder / "results", folder / "fits"
    make = partial(engine.map, store=store, workers=workers, progress=progress)
    wanted = {name: job for name, job in jobs.items() if not (results / job.id).is_dir()}

    bases = {name: _base_job(job, corpora[job.argument["task"]], store) for name, job in wanted.items()}
    lost = {outcome.job.id: outcome.reason for outcome in make(fit_job, [*bases.values()]) if outcome.folder is None}
    failed |= {name: f"its base model: {lost[base.id]}" for name, base in bases.items() if base.id in lost}

    others: dict[str, list[tuple[float, Job]]] = {}
    for name, job in wanted.items():
        if name not in failed and job.argument["refit"]:
            try:
                others[name] = _other_jobs(plan_cell(job.argument, store, "cpu", corpora[job.argument["task"]]))
            except HeatcheckError as error:
                failed[name] = str(error)
    # The longest first, so that none is left running alone at the end.
    ordered = sorted((one for of_cell in others.values() for one in of_cell), key=lambda one: -one[0])
    lost = {o.job.id: o.reason for o in make(fit_job, [job for _, job in ordered]) if o.folder is None}
    for name, of_cell in others.items():
        # A worker that measures has not seen why a fit failed.
        reasons = {job.id: lost[job.id] for _, job in of_cell if job.id in lost}
        jobs[name] = jobs[name]._replace(argument={**jobs[name].argument, "failed": reasons})

    ready = {job.id: name for name, job in jobs.items() if name not in failed}
    found: dict[str, Path] = {}
    for outcome in engine.map(
        measure or measure_job, [jobs[name] for name in ready.values()], results, workers=workers, progress=progress
    ):
        name = ready[outcome.job.id]
        if outcome.folder is None:
            failed[name] = outcome.reason
        else:
            found[name] = outcome.folder
    if not found:
        raise BadInput(f"no model could be measured. The first error: {next(iter(failed.values()))}")
    measured = [read_cell(cell, corpora[cell.task], found[cell.name]) for cell in cells if cell.name in found]
    return measured, failed


def plan_job(study: str, version: int, cell: Cell, corpus: Corpus, where: Facts) -> Job:
    """The job that measures one cell, named by all that decides its numbers."""
    recipe = plan_recipe(corpus, seed=cell.seed, **cell.choices)
    decides = [version, cell.name, recipe.id, list(cell.checks), dict(cell.settings), cell.examples]
    if not cell.refit:
        decides.append("no other fits")
    readable = cell.name.replace(", ", "-").replace(" ", "-")
    argument = {**cell._asdict(), "choices": dict(cell.choices), "settings": dict(cell.settings)}
    return Job(
        f"{readable}-{content_id({study: decides})}",
        f"{cell.name}: checks",
        (),
        {**argument, "checks": list(cell.checks), "recipe": asdict(recipe), "base": recipe.id, "failed": {}, **where},
    )


def plan_cell(argument: Facts, store: Path, device: str, corpus: Corpus) -> Plan:
    """The audit of a trained model: planned on the CPU, measured on the device of the training runs."""
    return plan_audit(
        load_folder(store / argument["base"], device=device),
        corpus,
        name=argument["name"],
        checks=argument["checks"],
        settings={**as_published(argument["checks"]), **argument["settings"]},
        examples=argument["examples"],
        refit=argument["refit"],
        vectors=argument["choices"].get("vectors"),
        store=store,
        device=argument["device"],
    )


def as_published(checks: Sequence[str]) -> dict[str, str]:
    """Settings that measure a model's own probabilities, as papers do; an audit standardises them first.

    >>> as_published(["agreement", "necessity"])
    {'agreement.logits': 'published'}
    """
    return {f"{check}.logits": PUBLISHED for check in checks if hasattr(CHECKS[check].settings(), "logits")}


def measure_job(argument: Facts, folder: Path, store: Path) -> None:
    """Run the checks on one model and its retrained models, and keep all that a page needs."""
    measure_cell(argument, folder, store)


def measure_cell(
    argument: Facts,
    folder: Path,
    store: Path,
    more: Callable[[Plan, Mapping[str, CheckResult]], Facts] = lambda *_: {},
) -> None:
    """As `measure_job`, and keep what `more` returns too; `Measured.facts` has it again."""
    corpus = load(argument["task"], argument["texts"], argument["data_dir"])
    plan = plan_cell(argument, store.parent / "fits", str(pick_device(argument["device"])), corpus)
    case = plan.case
    if case.fits is not None:
        fits_of(case).failed.update(argument["failed"])
    results: dict[str, CheckResult] = {}
    not_run: dict[str, str] = {}
    for name, chosen in plan.checks.items():
        try:
            results[name] = CHECKS[name].ask(case, chosen)
        except NotSupported as error:
            not_run[name] = str(error)
    keep_results(results, folder)
    facts = about(argument["task"], corpus, smoke=argument["texts"] is not None)
    facts["differs"] = "; ".join(part for part in (facts["differs"], argument["seen"]) if part)
    write_json(
        folder / CELL,
        {
            "name": argument["name"],
            "about": {**facts, "not_run": not_run},
            "predicted": dict(zip(case.own.ids, case.own.predicted.tolist(), strict=True)),
            **more(plan, results),
        },
    )


def read_cell(cell: Cell, corpus: Corpus, folder: Path) -> Measured:
    """The kept results of a cell."""
    facts = read_json(folder / CELL)
    try:
        predicted = facts["predicted"]
        right = [predicted[example.id] == example.label for example in corpus["test"]]
        accuracy = sum(right) / len(right)
        return Measured(cell, facts["about"], accuracy, predicted, read_results(folder), facts, folder.name)
    except (KeyError, TypeError):
        raise BrokenFolder(f"{folder} is damaged: delete it and run the same command again") from None


def not_fitted(measured: Sequence[Measured]) -> dict[str, str]:
    """The retrained models that failed, each by the name of its cell and its own, with the reason."""
    return {
        f"{one.cell.name}: {fit}": f"{reason} (delete results/{one.folder} to try again)"
        for one in measured
        for result in one.results.values()
        for fit, reason in result.not_run.items()
    }


def _base_job(job: Job, corpus: Corpus, store: Path) -> Job:
    """The training run that a cell is about."""
    cell = job.argument
    recipe, vectors = Recipe(**cell["recipe"]), cell["choices"].get("vectors")
    (base,) = fit_jobs([recipe], corpus, store, vectors=vectors, device=cell["device"])
    return _named(base, cell["name"], corpus)


def _other_jobs(plan: Plan) -> list[tuple[float, Job]]:
    """Every retrained model that the checks of a cell want, with an estimate of the work."""
    fits = fits_of(plan.case)
    fits.make(())  # puts the base where its adversaries look for it
    words = sum(len(example.words) for example in fits.corpus["train"])
    recipes = [recipe for recipe in plan.recipes if recipe != fits.recipe]
    jobs = fit_jobs(recipes, fits.corpus, fits.store, vectors=fits.vectors, device=fits.device)
    work = (work_of(recipe, words) for recipe in recipes)
    return list(zip(work, (_named(job, plan.name, fits.corpus) for job in jobs), strict=True))


def _named(job: Job, cell: str, corpus: Corpus) -> Job:
    """Two models of one task are told apart by name too."""
    return job._replace(name=cell + job.name.removeprefix(corpus.name))
