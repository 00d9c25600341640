"""Self-contained pages: a template filled, with its style, its script and its figures inside."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from heatcheck.errors import MissingPackage
from heatcheck.report.examples import json_for_script
from heatcheck.report.figures.figure import Figure
from heatcheck.report.figures.files import script
from heatcheck.report.glossary import glossed

_bundle = lru_cache(script)  # a second and a megabyte each time, and always the same


def render(template: str, facts: Mapping[str, Any], figures: Sequence[Figure]) -> bytes:
    """A page that loads nothing from anywhere; what draws figures is in it only where there are some."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackage("jinja2") from error

    rooms = jinja2.Environment(
        loader=jinja2.FunctionLoader(_part),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    rooms.filters["glossed"] = glossed
    rooms.filters["capitalised"] = lambda text: text[:1].upper() + text[1:]
    inside = {
        "specs": json_for_script({figure.name: figure.spec for figure in figures}),
        "bundle": _bundle() if figures else "",
        "style": _part("page.css"),
        "behaviour": _part("page.js"),
        "drawing": _part("figures.js") if figures else "",
        "browsing": _part("examples.js"),
    }
    # Half an emoji, which a careless cut leaves, is no UTF-8: it becomes a question mark.
    return rooms.get_template(template).render(**facts, **inside).encode("utf-8", "replace")


def _part(name: str) -> str:
    return files("heatcheck.report").joinpath(name).read_text(encoding="utf-8")
