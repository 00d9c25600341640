"""What axe-core finds wrong on a page: what a screen reader, a keyboard or weak eyes cannot use."""

from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def axe() -> str:
    """The script of axe-core, as a package brings it."""
    return Path(str(files("axe_playwright_python") / "axe.min.js")).read_text(encoding="utf-8")


def violations(page, within: str = "", only: str = "") -> list[str]:
    """One line per rule and element that breaks it, in the state and the theme the page is in; none is what is wanted.

    Args:
        within: a CSS selector, to look at a part of the page only.
        only: one rule, such as "color-contrast", which is all that another theme can break.
    """
    if page.evaluate("typeof window.axe") == "undefined":
        page.evaluate(axe())
    found = page.evaluate(
        """async ([within, only]) => (await axe.run(within || document,
          { resultTypes: ["violations"], ...(only ? { runOnly: [only] } : {}) })).violations
          .flatMap((one) => one.nodes.map((node) => `${one.id} (${one.impact}): ${node.target.join(" ")} `
            + node.any.concat(node.all, node.none).map((check) => check.message).join("; ")))""",
        [within, only],
    )
    return list(found)
