"""Runs an audit: the checks on one model, then an answer to each question about its heatmaps (the card)."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck.auditing.audited_examples import audited_examples, commonest_label, pick_example
from heatcheck.auditing.chosen_settings import plain_settings
from heatcheck.auditing.lines import make_card
from heatcheck.auditing.planning import Plan, plan_audit
from heatcheck.auditing.retraining import cannot_refit, made_up
from heatcheck.auditing.shards import in_shards
from heatcheck.checks import CHECKS
from heatcheck.engine import Outcome
from heatcheck.errors import NotSupported
from heatcheck.models import (
    Subject,
    name_units,
)
from heatcheck.results import Audit, CheckResult
from heatcheck.version import __version__


def audit(
    subject: Subject | Path | str,
    data: Any,
    *,
    workers: int = 0,
    cluster: str | None = None,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    fitted: Callable[[Outcome, int, int], None] | None = None,
    **choices: Any,
) -> Audit:
    """Audit a model on a sample of the data; returns the card and every result.

    `data` is the name of a task, a file, a frame or `(texts, labels)`. `choices` are the arguments of `plan_audit`:
    `checks`, `examples`, `split`, `settings`, `seed`, `data_dir`, `name`, `refit`, `train`, `vectors`, `store`,
    `device`, `labels`, `units`. The others are those of `run_plan`.
    """
    plan = plan_audit(subject, data, **choices)
    return run_plan(plan, workers=workers, cluster=cluster, watch=watch, fitted=fitted)


def run_plan(
    plan: Plan,
    *,
    workers: int = 0,
    cluster: str | None = None,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    fitted: Callable[[Outcome, int, int], None] | None = None,
) -> Audit:
    """Train the retrained models that are missing, then run the checks.

    Args:
        workers: number of processes, for training runs and for the examples of the checks; 0: all in this process. An
            audit that was stopped finds the examples that were done. Short audits stay in this process.
        cluster: `ray`, or `ray:ADDRESS`, for the same.
        watch: called before each check with its name, how many are done, how many there are.
        fitted: called after each training run with its outcome, how many are done, how many there are.
    """
    not_fitted: dict[str, str] = {}
    if plan.case.fits is not None:
        outcomes = plan.case.fits.make(plan.recipes, workers=workers, cluster=cluster, progress=fitted)
        not_fitted = {outcome.job.name: outcome.reason for outcome in outcomes if outcome.folder is None}
    with in_shards(plan, workers=workers, cluster=cluster):
        results, not_run = run_checks(plan, watch)
    return _gather(plan, results, not_run, not_fitted)


def run_checks(
    plan: Plan, watch: Callable[[str, int, int], None] = lambda *_: None
) -> tuple[dict[str, CheckResult], dict[str, str]]:
    """Run the checks of a plan whose retrained models are there; the results, and why others are missing."""
    results: dict[str, CheckResult] = {}
    not_run: dict[str, str] = {}
    for number, (name, chosen) in enumerate(plan.checks.items()):
        watch(name, number, len(plan.checks))
        try:
            found = CHECKS[name].ask(plan.case, chosen)
            results[name] = replace(found, not_run={part: plan.told(why) for part, why in found.not_run.items()})
        except NotSupported as error:
            not_run[name] = plan.told(str(error))
    watch("", len(plan.checks), len(plan.checks))
    return results, not_run


def _gather(
    plan: Plan, results: Mapping[str, CheckResult], not_run: Mapping[str, str], not_fitted: Mapping[str, str]
) -> Audit:
    case = plan.case
    gold = np.array([e.label if isinstance(e.label, int) else -1 for e in case.examples])
    about = {
        "model id": case.subject.id,
        "heatcheck": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "settings": {name: plain_settings(chosen) for name, chosen in plan.checks.items()},
        "card": plain_settings(plan.card),
    }
    if (remark := made_up(case.fits)) is not None:
        about["other fits"] = remark
    if plan.corpus.dropped:
        about["left out of the task"] = dict(plan.corpus.dropped)
    examples, rival = audited_examples(case, results)
    return Audit(
        subject=plan.name,
        task=plan.corpus.reference,
        split=plan.split,
        labels=case.labels,
        accuracy=float(np.mean(case.predicted == gold)),
        n=len(case.examples),
        available=plan.available,
        seed=case.seed,
        card=make_card(
            results,
            case.logit_scale,
            plan.card,
            not_run,
            cannot_refit=cannot_refit(case.subject),
            available=plan.available,
        ),
        results=results,
        examples=examples,
        not_run=not_run,
        about=about,
        left_out=dict(plan.rows.left_out),
        not_fitted=not_fitted,
        units=name_units(case.examples, plan.units),
        training_rows=plan.rows.said or None,
        commonest=commonest_label(examples),
        rival=rival,
        shown_first=pick_example(examples, results),
    )
