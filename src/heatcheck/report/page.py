"""One self-contained page: the card first, then the evidence, then the heatmaps themselves."""

from collections import Counter
from pathlib import Path

from heatcheck.engine import expect, write_whole
from heatcheck.errors import BadInput
from heatcheck.report.audited import which_texts
from heatcheck.report.examples import browse
from heatcheck.report.figures import draw
from heatcheck.report.glossary import TERMS
from heatcheck.report.html import render
from heatcheck.report.sections import card_line, sections
from heatcheck.report.wording import explainer_name, meaning, number, said, spaced
from heatcheck.results import Audit

# Mail servers and chat tools let this much through.
BYTES = 4_900_000

_ELSEWHERE = {"settings", "training rows"}  # said beside each check, and at the top


def write_report(audit: Audit, path: Path | str) -> Path:
    """Write the audit as one HTML file that loads nothing from anywhere; examples beyond 5 MB are left out."""
    if not isinstance(audit, Audit):
        raise BadInput(f"write_report takes what heatcheck.audit gave, not a {type(audit).__name__}.")
    expect("a path", path=path)
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder: name the file to write, such as report.html.")
    figures = draw(audit)
    lead, _ = meaning(audit.card)
    facts = {
        "audit": audit,
        "facts": _facts(audit),
        "card": [card_line(line, audit.n) for line in audit.card.lines],
        "apart": [card_line(line, audit.n) for line in audit.card.apart],
        "lead": lead,
        "sections": sections(audit, figures),
        "about": [(spaced(str(key)), said(value)) for key, value in audit.about.items() if key not in _ELSEWHERE],
        "explainer_name": explainer_name,
        "terms": TERMS,
    }
    # The page without examples says how much room there is for them; the margin is for the list of explainers.
    bare = render("page.html.jinja", facts | {"browser": browse(audit, 0)}, figures)
    browser = browse(audit, BYTES - len(bare) - 2_000)
    write_whole(path, render("page.html.jinja", facts | {"browser": browser}, figures))
    return path


def _facts(audit: Audit) -> list[tuple[str, str, str]]:
    """What was audited: name, value, and what makes the value readable."""
    golds = Counter(looked.gold for looked in audit.examples)
    commonest = ""
    if len(audit.examples) == audit.n and audit.n and None not in golds:
        label, count = golds.most_common(1)[0]
        commonest = f"always “{label}” gives {number(count / audit.n)}"
    task, _, fingerprint = audit.task.partition("@")
    return [
        ("model", audit.subject, ""),
        ("task", task, f"fingerprint {fingerprint}" if fingerprint else ""),
        ("texts", f"{audit.n:,} of {audit.available:,}", which_texts(audit)),
        ("accuracy on these texts", number(audit.accuracy), commonest),
    ]
