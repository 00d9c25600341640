"""Writes the glossary of reports to docs/glossary.md, or with --check fails if the page is out of step."""

import sys
from pathlib import Path

from heatcheck.report.glossary import TERMS

PAGE = Path(__file__).parent / "glossary.md"
HEAD = """# Glossary

One sentence per term. Reports have the same glossary at their end and link to it.
"""


def page() -> str:
    """The page as it should be."""
    return "\n".join([HEAD, *(f"- **{term.name}**: {term.meaning}" for term in TERMS)]) + "\n"


def main() -> int:
    if "--check" in sys.argv:
        return int(PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
