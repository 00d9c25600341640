"""What was audited, in a few facts for the head of a report."""

from collections import Counter

from heatcheck.report.wording import number
from heatcheck.results import Audit


def audited(audit: Audit) -> list[tuple[str, str, str]]:
    """Name, value, and what makes the value readable."""
    task, _, fingerprint = audit.task.partition("@")
    prior = commonest(audit)
    facts = [
        ("model", audit.subject, ""),
        ("task", task, f"fingerprint {fingerprint}" if fingerprint else ""),
        ("texts", f"{audit.n:,} of {audit.available:,}", which_texts(audit)),
        (
            "accuracy on these texts",
            number(audit.accuracy),
            f"always “{prior[0]}” gives {number(prior[1])}" if prior else "",
        ),
        ("seed", str(audit.seed), ""),
    ]
    units = audit.about.get("units", "words")  # audits of an older heatcheck do not say
    return facts if units == "words" else [*facts, ("scores are of", units, "")]


def which_texts(audit: Audit) -> str:
    """The split, and what is to be said of rows that the model was trained on."""
    said = audit.about.get("training rows")
    return f"split “{audit.split}”" + (f". {said}" if said else "")


def commonest(audit: Audit) -> tuple[str, float] | None:
    """The commonest label of the audited texts and its share; None where not all of them are labelled or kept."""
    golds = Counter(looked.gold for looked in audit.examples)
    if not audit.n or len(audit.examples) != audit.n or None in golds:
        return None
    label, count = golds.most_common(1)[0]
    return str(label), count / audit.n
