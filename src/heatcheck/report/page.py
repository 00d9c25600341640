"""The report of an audit as one self-contained page: the answer, then the evidence, then the heatmaps."""

from pathlib import Path

from heatcheck.engine import expect, write_whole
from heatcheck.errors import BadInput
from heatcheck.report.advice import shown_instead, treat_next
from heatcheck.report.audit_figures import draw
from heatcheck.report.audited import about, at_the_head, in_short
from heatcheck.report.comparison_page import write_comparison
from heatcheck.report.examples import browse
from heatcheck.report.glossary import TERMS
from heatcheck.report.html import render
from heatcheck.report.opening import open_with
from heatcheck.report.sections import card_line, sections
from heatcheck.report.wording import explainer_name
from heatcheck.results import Audit, HeatmapAudits, headline_of

# Mail servers and chat tools let this much through.
BYTES = 4_900_000


def write_report(audit: Audit | HeatmapAudits, path: Path | str) -> Path:
    """Write the audit as one HTML file that loads nothing from anywhere; examples beyond 5 MB are left out.

    Audits of several heatmaps of one model are written side by side.
    """
    if not isinstance(audit, Audit | HeatmapAudits):
        raise BadInput(f"write_report takes what heatcheck.audit gave, not a {type(audit).__name__}.")
    expect("a path", path=path)
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path} is a folder: name the file to write, such as report.html.")
    if isinstance(audit, HeatmapAudits):
        return write_comparison(audit, path)
    figures = draw(audit)
    instead = shown_instead(audit.card)
    facts = {
        "audit": audit,
        "facts": at_the_head(audit),
        "in_short": in_short(audit),
        "card": [card_line(line, audit.n) for line in audit.card.in_reading_order],
        "apart": [card_line(line, audit.n) for line in audit.card.apart],
        "headline": headline_of(audit.card),
        "treat_next": treat_next(audit),
        "opening": open_with(audit, instead),
        "sections": sections(audit, figures),
        "about": about(audit),
        "explainer_name": explainer_name,
        "terms": TERMS,
    }
    # The page without examples says how much room there is for them; the margin is for the list of explainers.
    bare = render("page.html.jinja", facts | {"browser": browse(audit, 0)}, figures)
    browser = browse(audit, BYTES - len(bare) - 2_000)
    write_whole(path, render("page.html.jinja", facts | {"browser": browser}, figures))
    return path
