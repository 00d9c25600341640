"""Runs any study: trains and measures what is missing in its folder, and gathers every number beside the published one.

In each round, the models of all cells are trained first. Then come the retrained models that their checks plan, the
longest first, and those that a check asks for once it has seen these. Then come the checks, one job per cell. `results`
keeps one small folder per cell. If that folder exists, nothing is trained, so a page can be drawn on another machine.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from heatcheck import engine
from heatcheck.auditing import Plan
from heatcheck.data import Corpus
from heatcheck.engine import Job, Outcome
from heatcheck.engine.place import JobFunction
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.models import Recipe
from heatcheck.results import StudyResult
from heatcheck.studies.cells import (
    Cell,
    base_job,
    measure_cell,
    not_fitted,
    other_jobs,
    plan_cell,
    plan_job,
    read_cell,
)
from heatcheck.studies.corpora import load_all
from heatcheck.studies.study import Found, Place, Study, Work, check_names, shown_settings
from heatcheck.training import fit_job, pick_device, run_fits, work_of

Run = Callable[[JobFunction, Sequence[Job], Path], Sequence[Outcome]]


def run_study(
    study: Study,
    settings: Any,
    folder: Path,
    *,
    data_dir: Path | str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[Outcome, int, int], None] | None = None,
) -> StudyResult:
    """Run what is missing under `folder`; returns every number beside the published one.

    Args:
        settings: of the study: `study.settings()`, or `study.quick` for a smoke run.
        data_dir: folder of the corpora that do not come with heatcheck.
        workers: number of processes; 0 runs everything in this one.
        progress: called after each job with its outcome, how many are done, how many there are.
    """
    check_names(f"task of {study.name}", settings.tasks, study.tasks)
    study.refuse(settings)
    check_place(folder, device)
    corpora = load_all(study.corpora(settings), data_dir)
    found = Found(corpora.found, corpora.sources, study.published(), failed=dict(corpora.missing))
    place = Place(folder, data_dir, device)

    def run(function: JobFunction, jobs: Sequence[Job], store: Path) -> list[Outcome]:
        if function is fit_job:
            return list(run_fits(jobs, store, workers=workers, progress=progress))
        return list(engine.map(function, jobs, store, workers=workers, progress=progress))

    names: set[str] = set()
    for pieces in study.plan(settings, place, found):
        if len(names) + len(pieces) > len(names := names | {piece.name for piece in pieces}):
            raise BadInput(
                f"two models of {study.name} have the same name, so their results would be mixed up. "
                "Give each its own name."
            )
        run_cells(study, [piece for piece in pieces if isinstance(piece, Cell)], place, found, run)
        run_work([piece for piece in pieces if isinstance(piece, Work)], place, found, run)
    if not found.measured and not found.kept:
        nothing_to_read = found.failed.keys() and not found.corpora and study.corpora(settings)
        what = "the data of every task is missing" if nothing_to_read else "no model could be measured"
        raise BadInput(f"{what}. The first error: {next(iter(found.failed.values()), 'nothing was planned')}")
    return gather(study, settings, found)


def check_place(folder: Path, device: str) -> None:
    """Raise if a study cannot run here, before any model does."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file: name a folder for the study.")
    pick_device(device)


def run_cells(study: Study, cells: Sequence[Cell], place: Place, found: Found, run: Run) -> None:
    """Train and measure the cells whose corpus is there; `found` then has their results, or why they have none."""
    results, store = place.folder / "results", place.folder / "fits"
    data_dir = None if place.data_dir is None else str(place.data_dir)
    jobs = {}
    for cell in cells:
        if cell.task in found.corpora:
            where = {"source": list(found.sources[cell.task]), "data_dir": data_dir, "device": place.device}
            jobs[cell.name] = plan_job(study.name, study.version, cell, found.corpora[cell.task], where)
    wanted = {name: job for name, job in jobs.items() if not (results / job.id).is_dir()}

    corpus_of = {name: found.corpora[job.argument["task"]] for name, job in wanted.items()}
    bases = {name: base_job(job, corpus_of[name], store) for name, job in wanted.items()}
    # The longest first, so that none is left running alone at the end.
    longest = sorted(bases, key=lambda name: -_work(bases[name], corpus_of[name]))
    trained = run(fit_job, [bases[name] for name in longest], store)
    lost = {o.job.id: o.reason for o in trained if o.folder is None}
    found.failed |= {name: f"its base model: {lost[base.id]}" for name, base in bases.items() if base.id in lost}

    plans: dict[str, Plan] = {}
    others: dict[str, list[tuple[float, Job]]] = {}
    for name, job in wanted.items():
        if name not in found.failed and job.argument["refit"]:
            try:
                plans[name] = plan_cell(job.argument, store, "cpu", found.corpora[job.argument["task"]])
                others[name] = other_jobs(plans[name])
            except HeatcheckError as error:
                found.failed[name] = str(error)
    lost = run_others(plans, others, run, store)
    for name, of_cell in others.items():
        # A worker that measures has not seen why a fit failed.
        reasons = {job.id: lost[job.id] for _, job in of_cell if job.id in lost}
        jobs[name] = jobs[name]._replace(argument={**jobs[name].argument, "failed": reasons})

    ready = {name: job for name, job in jobs.items() if name not in found.failed}
    ended = {o.job.id: o for o in run(partial(measure_cell, more=study.more), [*ready.values()], results)}
    by_name = {cell.name: cell for cell in cells}
    for name, job in ready.items():
        outcome = ended[job.id]
        if outcome.folder is None:
            found.failed[name] = outcome.reason
        else:
            cell = by_name[name]
            found.measured[name] = read_cell(cell, found.corpora[cell.task], outcome.folder)


def _work(base: Job, corpus: Corpus) -> float:
    """An estimate of the work of a training run."""
    return work_of(Recipe(**base.argument["recipe"]), sum(len(example.words) for example in corpus["train"]))


def run_others(
    plans: Mapping[str, Plan], others: Mapping[str, list[tuple[float, Job]]], run: Run, store: Path
) -> dict[str, str]:
    """Train the other models of all cells; those that depend on earlier ones follow, and join `others`.

    Returns why some could not be trained, by their ids.
    """
    lost: dict[str, str] = {}
    wanted = [one for of_cell in others.values() for one in of_cell]
    while wanted:
        # The longest first, so that none is left running alone at the end.
        ordered = [job for _, job in sorted(wanted, key=lambda one: -one[0])]
        lost |= {o.job.id: o.reason for o in run(fit_job, ordered, store) if o.folder is None}
        wanted = []
        for name, of_cell in others.items():
            asked = {job.id for _, job in of_cell}
            further = [one for one in other_jobs(plans[name], lost) if one[1].id not in asked]
            of_cell += further
            wanted += further
    return lost


def run_work(works: Sequence[Work], place: Place, found: Found, run: Run) -> None:
    """Do a study's own work; `found` then has what it left, or why there is nothing."""
    for function in dict.fromkeys(work.function for work in works):
        of_function = [work for work in works if work.function is function]
        jobs = [Job(work.id, work.name, (), work.argument) for work in of_function]
        ended = {outcome.job.id: outcome for outcome in run(function, jobs, place.folder / "results")}
        for work in of_function:
            outcome = ended[work.id]
            if outcome.folder is None:
                found.failed[work.name] = outcome.reason
            else:
                found.kept[work.name] = work.read(outcome.folder)


def gather(study: Study, settings: Any, found: Found) -> StudyResult:
    """All that was found as one result."""
    gathered = study.gather(settings, found)
    smoke = any(getattr(settings, name) is not None for name in study.smoke_if)
    return StudyResult(
        name=study.name,
        title=study.title,
        paper=study.paper,
        rows=tuple(gathered.rows),
        models=tuple(gathered.models),
        tasks=gathered.tasks,
        notes=(*([study.smoke] if smoke else []), *study.notes, *gathered.notes),
        failed={**found.failed, **gathered.failed, **not_fitted(found.measured.values())},
        settings=shown_settings(settings, gathered.tasks) if gathered.settings is None else gathered.settings,
        published=tuple(found.published),
    )
