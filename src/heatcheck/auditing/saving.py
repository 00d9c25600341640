"""Saves an audit in a folder: its id, and how a new audit safely replaces an old one."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from heatcheck.auditing.planning import Plan
from heatcheck.engine import content_id, whole_folder
from heatcheck.errors import BadInput, HeatcheckError
from heatcheck.models import asked_of
from heatcheck.results import AUDIT, INTERRUPTED, Audit, keep_audit, read_audit
from heatcheck.training import STORE


def save_audit(
    audit: Audit,
    folder: Path | None = None,
    *,
    made_with: Mapping[str, Any] | None = None,
    beside: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Keeps all of an audit in a folder that appears whole, and only then removes the audit that was there.

    An interrupted audit goes beside that folder, under the same name with `-interrupted`, so that it never takes the
    place of a complete one. The complete audit removes it.

    Args:
        folder: where; if not given, one of the store that is named by what decides the audit.
        made_with: what decides it beside the facts it keeps, as `decided_by` says.
        beside: writes what else the folder shall hold, such as a report.
    """
    complete = folder or STORE / "audits" / audit_id(audit, made_with)
    partial = complete.parent / f"{complete.name}-{INTERRUPTED}"
    target = partial if audit.interrupted else complete
    # The same audit, made again; or one that the user said to replace. Nothing else gives way.
    replace = target.is_dir() and (folder is None or (target / AUDIT).is_file())
    if audit.interrupted and target.is_dir() and not is_interrupted(target):
        raise BadInput(f"{target} holds something else than an interrupted audit: delete it or choose another --out.")
    with whole_folder(target, resume=False, replace=replace) as scratch:
        keep_audit(audit, scratch)
        beside(scratch)
    if target == complete and is_interrupted(partial):
        shutil.rmtree(partial, ignore_errors=True)
    return target


def is_interrupted(folder: Path) -> bool:
    """Whether a folder holds an interrupted audit."""
    try:
        return bool(read_audit(folder).interrupted)
    except HeatcheckError:
        return False


def audit_id(audit: Audit, made_with: Mapping[str, Any] | None = None) -> str:
    """The name of an audit by what decides it."""
    about = audit.about
    settings = [about["settings"], about["card"]]
    decides = [about["model id"], audit.task, audit.split, audit.n, audit.seed, *settings, made_with or {}]
    if audit.left_out:
        decides.append(audit.left_out)
    return content_id({"audit": decides})


def decided_by(plan: Plan) -> dict[str, Any]:
    """What else decides an audit: the heatmap, whether it had retrained models, and the training data."""
    trained_on = plan.case.trained_on
    found: dict[str, Any] = {
        "refit": plan.case.fits is not None,
        "trained on": None if trained_on is None else trained_on.reference,
    }
    if plan.case.subject.id.startswith("hf:"):
        found["labels"] = plan.case.labels  # which the user may have named
        found |= asked_of(plan.case.subject)
    if plan.units != "words":
        found["units"] = plan.units
    if not plan.case.heatmap.is_default:
        found["heatmap"] = plan.case.heatmap.name
        if plan.case.heatmap.file is not None:
            found["scores"] = hashlib.sha256(plan.case.heatmap.file.read_bytes()).hexdigest()
    if plan.all_fits:
        found["all fits"] = True
    return found
