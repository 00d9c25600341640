"""Audits several heatmaps of one model: which of these pictures can be read?

The model reads each changed text once, and methods that do not depend on the heatmap score the words once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heatcheck.auditing.chosen_settings import choose_settings
from heatcheck.auditing.planning import Plan, plan_audit
from heatcheck.auditing.running import run_plan
from heatcheck.checks.heatmap import find_heatmap
from heatcheck.engine import expect_names
from heatcheck.errors import BadInput
from heatcheck.explainers import check_ids
from heatcheck.models import KnowsItsTwins, Subject, whole_model
from heatcheck.results import HeatmapAudits

MOST = 30  # rows of a table that a reader can still look through


def audit_heatmaps(
    subject: Subject | Path | str,
    data: Any,
    heatmaps: Sequence[str] | str,
    *,
    workers: int = 0,
    cluster: str | None = None,
    watch: Callable[[str, int, int], None] = lambda *_: None,
    **choices: Any,
) -> HeatmapAudits:
    """Audit several heatmaps of one model on the same examples, to find out which of them can be read.

    Args:
        subject: the model, or its folder or name.
        data: as for `audit`.
        heatmaps: names, as a list or comma-separated: `last_layer`, `layer:7`, `head:7.3`, explainers, `file:PATH`.
        workers: as for `audit`, as are `cluster`, `watch` and all further arguments.

    Returns:
        The answer, and one audit per heatmap.
    """
    plans = plan_heatmaps(subject, data, heatmaps, **choices)
    how: dict[str, Any] = {"workers": workers, "cluster": cluster, "watch": watch}
    return HeatmapAudits({name: run_plan(plan, **how) for name, plan in named(plans).items()})


def plan_heatmaps(
    subject: Subject | Path | str, data: Any, heatmaps: Sequence[str] | str, **choices: Any
) -> list[Plan]:
    """One plan per heatmap; what does not depend on the heatmap is computed once for all."""
    expect_names(heatmaps=heatmaps)
    if "heatmap" in choices:
        raise BadInput("name the heatmaps together, in one list.")
    names = [name.strip() for name in (heatmaps.split(",") if isinstance(heatmaps, str) else heatmaps)]
    found = [find_heatmap(name) for name in names]
    if not 2 <= len(found) <= MOST:
        raise BadInput(f"a comparison takes 2 to {MOST} heatmaps, not {len(found)}.")
    for at, one in enumerate(found):
        if one.name in [other.name for other in found[:at]]:
            raise BadInput(f"the heatmap {one.name} is named twice: name each once.")
    first = plan_audit(subject, data, heatmap=names[0], **choices)
    return [first, *(_planned(first, name, choices) for name in names[1:])]


def named(plans: Sequence[Plan]) -> dict[str, Plan]:
    """Plans by the names of their heatmaps in words; in full where two files have one name."""
    shown = [plan.case.heatmap.shown for plan in plans]
    return {
        name if shown.count(name) == 1 else plan.case.heatmap.name: plan
        for name, plan in zip(shown, plans, strict=True)
    }


def _planned(first: Plan, name: str, choices: Mapping[str, Any]) -> Plan:
    """The same plan, about another heatmap."""
    heatmap, model = find_heatmap(name), whole_model(first.case.subject)
    checks = choices.get("checks")
    checks = [one.strip() for one in checks.split(",")] if isinstance(checks, str) else checks
    refit = bool(choices.get("refit")) or isinstance(model, KnowsItsTwins)
    chosen = choose_settings(checks, choices.get("settings") or {}, refit=refit, subject=model, heatmap=heatmap)
    if heatmap.file is not None:
        check_ids(heatmap.file, [e.id for split in first.corpus.splits.values() for e in split])
    card = chosen.pop("card")
    return replace(first, case=first.case.about(heatmap), checks=chosen, card=card)
