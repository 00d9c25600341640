"""One self-contained page: the card first, then the evidence, then the heatmaps themselves."""

from collections import Counter
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from heatcheck.auditing import Audit
from heatcheck.engine import write_whole
from heatcheck.errors import MissingPackage
from heatcheck.report.examples import browse, json_for_script
from heatcheck.report.figures import draw, script
from heatcheck.report.sections import card_line, sections
from heatcheck.report.wording import meaning, number, said, spaced

# Mail servers and chat tools let this much through.
BYTES = 4_900_000

_ELSEWHERE = {"papers", "questions", "settings"}  # said beside each check

_bundle = lru_cache(script)  # a second and a megabyte each time, and always the same


def write_report(audit: Audit, path: Path | str) -> Path:
    """Write the audit as one HTML file that loads nothing from anywhere; examples beyond 5 MB are left out."""
    path = Path(path)
    figures = draw(audit)
    lead, advice = meaning(audit.card.lines)
    facts = {
        "audit": audit,
        "facts": _facts(audit),
        "card": [card_line(line) for line in audit.card.lines],
        "lead": lead,
        "advice": advice,
        "sections": sections(audit, figures),
        "specs": json_for_script({figure.name: figure.spec for figure in figures}),
        "bundle": _bundle() if figures else "",
        "about": [(spaced(str(key)), said(value)) for key, value in audit.about.items() if key not in _ELSEWHERE],
        "style": _part("page.css"),
        "behaviour": _part("page.js"),
    }
    # The page without examples says how much room there is for them; the margin is for the list of explainers.
    bare = _render(facts | {"browser": browse(audit, 0)})
    page = _render(facts | {"browser": browse(audit, BYTES - len(bare) - 2_000)})
    write_whole(path, page)
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
        ("texts", f"{audit.n:,} of {audit.available:,}", f"split “{audit.split}”"),
        ("accuracy, these texts", number(audit.accuracy), commonest),
        ("seed", str(audit.seed), ""),
    ]


def _render(facts: dict[str, Any]) -> bytes:
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackage("jinja2") from error

    rooms = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    # Half an emoji, which a careless cut leaves, is no UTF-8: it becomes a question mark.
    return rooms.from_string(_part("page.html.jinja")).render(facts).encode("utf-8", "replace")


def _part(name: str) -> str:
    return files("heatcheck.report").joinpath(name).read_text(encoding="utf-8")
