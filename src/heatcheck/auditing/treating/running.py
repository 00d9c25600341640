"""Runs a comparison of treatments: trains what is missing, audits each model as it is made, and judges.

Models and numbers are kept by what decides them. Run the same call again to resume.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing

from heatcheck import engine
from heatcheck.auditing.lines import LINES, CardSettings
from heatcheck.auditing.treating.advice import advise
from heatcheck.auditing.treating.jobs import audit_numbers, read_numbers, train_or_audit
from heatcheck.auditing.treating.judging import Judged, Trio, judge
from heatcheck.auditing.treating.numbers import ModelNumbers
from heatcheck.auditing.treating.plan import TreatmentPlan
from heatcheck.engine import Crew, Job, Outcome
from heatcheck.models import Recipe
from heatcheck.results.treatments import Treatments
from heatcheck.training import TREATMENTS, describe_model, run_fits
from heatcheck.training.stack import is_stacked

Progress = Callable[[Outcome, int, int], None]


def run_treatments(
    plan: TreatmentPlan,
    *,
    workers: int = 0,
    cluster: str | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
    card: CardSettings | None = None,
) -> Treatments:
    """Train and audit what is missing, and judge every treatment.

    Args:
        workers: number of processes; 0 runs everything in this one.
        cluster: `ray`, or `ray:ADDRESS`, for the same.
        progress: called after each job with its outcome, how many are done, how many there are.
        seconds: stop then, and judge what is there.
    """
    end = None if seconds is None else time.monotonic() + seconds
    fits, audits = plan.fits(), plan.audits()
    if cluster is None and fits and all(is_stacked(job.argument) for job in fits):
        failed = _on_a_gpu(plan, fits, audits, max(1, workers), progress, end)
    else:
        failed = {}
        jobs = engine.map(
            train_or_audit, [*fits, *audits], plan.store, workers=workers, cluster=cluster, progress=progress
        )
        with closing(jobs) as outcomes:  # type: ignore[type-var]  # a generator, which has close
            for outcome in outcomes:
                if outcome.folder is None:
                    failed[outcome.job.name] = outcome.reason
                if end is not None and time.monotonic() > end:
                    break
    return gather(plan, failed, card)


def _on_a_gpu(
    plan: TreatmentPlan,
    fits: Sequence[Job],
    audits: Sequence[Job],
    workers: int,
    progress: Progress | None,
    end: float | None,
) -> dict[str, str]:
    """Train side by side in this process, while others audit what is trained; returns what failed, and why."""
    failed: dict[str, str] = {}
    total = len(fits) + len(audits)
    trained: set[str] = set()
    waiting = {job.id: job for job in audits}
    crew = Crew(audit_numbers, plan.store, workers=workers)
    done = 0

    def ended(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if outcome.folder is None:
            failed[outcome.job.name] = outcome.reason
        if progress:
            progress(outcome, done, total)

    try:
        with closing(run_fits(fits, plan.store)) as outcomes:  # type: ignore[type-var]  # a generator, which has close
            for outcome in outcomes:
                ended(outcome)
                if outcome.folder is not None:
                    trained.add(outcome.job.id)
                ready = [job for job in waiting.values() if trained.issuperset(job.needs)]
                crew.give([waiting.pop(job.id) for job in ready])
                if end is not None and time.monotonic() > end:
                    break
        given = [job for job in audits if job.id not in waiting]
        for job in given:
            if end is not None and time.monotonic() > end:
                break
            ended(crew.wait([job.id])[0])
    finally:
        crew.stop()
    return failed


def gather(plan: TreatmentPlan, failed: dict[str, str], card: CardSettings | None = None) -> Treatments:
    """Judge the models whose numbers are there."""
    judged = []
    for name, recipes in plan.treated.items():
        trios = []
        for recipe, beside in zip(recipes, plan.untreated, strict=True):
            before, after, twin = (_numbers(plan, *of) for of in ((beside, None), (recipe, None), (beside, recipe)))
            if before is not None and after is not None:
                trios.append(Trio(before, after, twin))
        treatment = TREATMENTS[name]
        trained_for = frozenset(LINES[line].short for line in treatment.not_judged_by if line in LINES)
        judged.append(Judged(name, treatment.about, trios, trained_for, treatment.note))
    rows = judge(judged, card)
    return Treatments(
        task=plan.corpus.reference,
        model=plan.model or describe_model(plan.untreated[0]),
        rows=tuple(rows),
        seeds=len(plan.untreated),
        examples=plan.examples,
        advice=advise(rows),
        not_applied=dict(plan.not_applied),
        left_out=dict(plan.left_out),
        failed=failed,
        settings=plan.facts(),
    )


def _numbers(plan: TreatmentPlan, recipe: Recipe, sharp_as: Recipe | None) -> ModelNumbers | None:
    """The numbers of a model or a twin; None where they are not there."""
    folder = plan.store / plan.audit(recipe, sharp_as=sharp_as).id
    return read_numbers(folder) if folder.is_dir() else None
