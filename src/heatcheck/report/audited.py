"""The model, the data and the accuracy, in a few facts for the head and the foot of a report."""

import math
import re

from heatcheck.report.wording import said, spaced
from heatcheck.results import Audit
from heatcheck.results.written import number

_ELSEWHERE = {"baselines", "papers", "questions", "settings"}  # said beside each check
_LAST = ("other fits", "left out of the task")


def audited(audit: Audit) -> list[tuple[str, str, str]]:
    """Name, value, and what makes the value readable."""
    facts = [*at_the_head(audit), ("seed", str(audit.seed), "")]
    if "prompt" in audit.about:
        facts.append(("prompt", str(audit.about["prompt"]), f"words for labels: {audit.about['words for labels']}"))
    if rows := audit.about.get("rows of the heatmap"):
        facts.append(("heatmap", str(rows), ""))
    return facts if audit.units == "words" else [*facts, ("scores are of", audit.units, "")]


def at_the_head(audit: Audit) -> list[tuple[str, str, str]]:
    """The first of these: the model, what it was audited on, and how often it is right."""
    task, _, fingerprint = audit.task.partition("@")
    facts = [
        ("model", audit.subject, ""),
        *([("heatmap", audit.heatmap, "")] if audit.heatmap else []),
        ("task", task, f"fingerprint {fingerprint}" if fingerprint else ""),
        ("examples", f"{audit.n:,} of {audit.available:,}", which_texts(audit)),
    ]
    if audit.accuracy is not None:
        facts.append(("accuracy on these examples", number(audit.accuracy), by_the_commonest(audit)))
    return facts


def in_short(audit: Audit) -> str:
    """The same in one row."""
    task, name = audit.task.partition("@")[0], re.sub(r" \([0-9a-f]{12}\)$", "", audit.subject)
    where = audit.split if task in name else f"{task} {audit.split}"
    parts = [name, *filter(None, [audit.heatmap]), where, f"{audit.n:,} of {audit.available:,} examples"]
    if audit.accuracy is not None and math.isfinite(audit.accuracy):
        beside = f" (majority class {audit.commonest[1]:.2f})" if audit.commonest else ""
        parts.append(f"accuracy {audit.accuracy:.2f}{beside}")
    return " · ".join(parts)


def which_texts(audit: Audit) -> str:
    """The split, and what is to be said of rows that the model was trained on."""
    return f"split “{audit.split}”" + (f". {audit.training_rows}" if audit.training_rows else "")


def by_the_commonest(audit: Audit) -> str:
    """The majority-class baseline; nothing where not all examples are labelled."""
    if not audit.commonest:
        return ""
    return f"majority class “{audit.commonest[0]}”: {number(audit.commonest[1])}"


def about(audit: Audit) -> list[tuple[str, str]]:
    """Versions and settings, in words."""
    last = {key: audit.about[key] for key in _LAST if key in audit.about}
    first = {key: value for key, value in audit.about.items() if key not in _ELSEWHERE and key not in last}
    return [(spaced(str(key)), said(value)) for key, value in {**first, "units": audit.units, **last}.items()]
