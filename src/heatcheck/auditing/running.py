"""Runs an audit: the checks on one model, then an answer to each question about its heatmaps (the card)."""

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heatcheck.auditing.audited_examples import audited_examples, commonest_label, pick_example, weight_on_text
from heatcheck.auditing.chosen_settings import plain_settings
from heatcheck.auditing.lines import make_card
from heatcheck.auditing.planning import Plan, plan_audit
from heatcheck.auditing.retraining import can_be_treated, cannot_refit, made_up
from heatcheck.auditing.shards import in_shards
from heatcheck.auditing.turns import Turns, ask
from heatcheck.engine import Outcome
from heatcheck.errors import NotSupported
from heatcheck.models import (
    Subject,
    asked_of,
    name_units,
    rows_of,
    whole_model,
)
from heatcheck.results import HEATMAP, INTERRUPTED, ON_TEXT, TREATED_BY, Audit, CheckResult, Line
from heatcheck.version import __version__


def audit(
    subject: Subject | Path | str,
    data: Any,
    *,
    workers: int = 0,
    cluster: str | None = None,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    fitted: Callable[[Outcome, int, int], None] | None = None,
    told: Callable[[Line], None] = lambda _: None,
    keep_interrupted: bool = False,
    **choices: Any,
) -> Audit:
    """Audit a model on a sample of the data; returns the card and every result.

    `data` is the name of a task, a file, a frame or `(texts, labels)`. `choices` are the arguments of `plan_audit`:
    `checks`, `examples`, `split`, `settings`, `seed`, `data_dir`, `name`, `refit`, `all_fits`, `train`, `vectors`,
    `store`, `device`, `labels`, `units`, `heatmap`. The others are those of `run_plan`.
    """
    plan = plan_audit(subject, data, **choices)
    how: dict[str, Any] = {"workers": workers, "cluster": cluster, "keep_interrupted": keep_interrupted}
    return run_plan(plan, watch=watch, fitted=fitted, told=told, **how)


def run_plan(
    plan: Plan,
    *,
    workers: int = 0,
    cluster: str | None = None,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    fitted: Callable[[Outcome, int, int], None] | None = None,
    told: Callable[[Line], None] = lambda _: None,
    keep_interrupted: bool = False,
) -> Audit:
    """Run the checks, each as soon as the retrained models that it needs are there; train the missing ones.

    Args:
        workers: number of processes, for training runs and for the examples of the checks; 0: all in this process. An
            audit that was stopped finds the examples that were done. Short audits stay in this process.
        cluster: `ray`, or `ray:ADDRESS`, for the same.
        watch: called before each check with its name, how many are done, how many there are. After each check it is
            called again, with an empty name.
        fitted: called after each training run with its outcome, how many are done, how many are planned so far.
        told: called with each line of the card as soon as no check that is still to come can change it.
        keep_interrupted: what Ctrl-C does. By default it raises KeyboardInterrupt, as in any function. With True, the
            first one ends the check or training run under way, and the audit of the checks that have ended is
            returned; `Audit.interrupted` says what is missing. If no check has ended, it raises KeyboardInterrupt.
    """
    turns = Turns(plan, watch, told)
    try:
        with in_shards(plan, workers=workers, cluster=cluster):
            turns.run(workers=workers, cluster=cluster, fitted=fitted)
    except KeyboardInterrupt:
        if not keep_interrupted or not turns.results:
            raise
    return _gather(plan, turns.results, turns.not_run, turns.not_fitted, turns.missing)


def run_checks(plan: Plan) -> tuple[dict[str, CheckResult], dict[str, str]]:
    """Run the checks of a plan whose retrained models are there; the results, and why others are missing."""
    results: dict[str, CheckResult] = {}
    not_run: dict[str, str] = {}
    for name in plan.checks:
        try:
            results[name] = ask(plan, name)
        except NotSupported as error:
            not_run[name] = plan.told(str(error))
    return results, not_run


def _gather(
    plan: Plan,
    results: Mapping[str, CheckResult],
    not_run: Mapping[str, str],
    not_fitted: Mapping[str, str],
    missing: Sequence[str],
) -> Audit:
    """All of it as an audit; `missing` are checks that an interruption kept from running."""
    case = plan.case
    gold = np.array([e.label if isinstance(e.label, int) else -1 for e in case.examples])
    about = {
        "model id": case.subject.id,
        **asked_of(case.subject),
        "heatcheck": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "settings": {name: plain_settings(chosen) for name, chosen in plan.checks.items()},
        "card": plain_settings(plan.card),
    }
    if rows := rows_of(case.subject):
        about["rows of the heatmap"] = rows
    if not case.heatmap.is_default:
        about[HEATMAP] = case.heatmap.facts
    elif can_be_treated(whole_model(case.subject)):
        about[TREATED_BY] = "heatcheck treat MODEL"
    if (remark := made_up(case.fits)) is not None:
        about["other fits"] = remark
    if plan.corpus.dropped:
        about["left out of the task"] = dict(plan.corpus.dropped)
    if missing:
        count, of = len(missing), len(plan.checks)
        about[INTERRUPTED] = f"Interrupted: {count} of {of} checks did not run. Run the same command again to resume."
    examples, rival = audited_examples(case, results, only_known=bool(missing))
    if asked_of(case.subject) and (share := weight_on_text(examples)) is not None:
        about[ON_TEXT] = f"{share:.2f} of the attention weight (a mean); the prompt and added tokens have the rest"
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
            cannot_refit=cannot_refit(whole_model(case.subject)),
            available=plan.available,
            missing=missing,
            refit=case.fits is not None,
            heatmap=case.heatmap,
        ),
        results=results,
        examples=examples,
        not_run={**not_run, **dict.fromkeys(missing, "heatcheck was interrupted before it ended.")},
        about=about,
        left_out=dict(plan.rows.left_out),
        not_fitted=not_fitted,
        units=name_units(case.examples, plan.units),
        training_rows=plan.rows.said or None,
        commonest=commonest_label(examples),
        rival=rival,
        shown_first=pick_example(examples, results),
    )
