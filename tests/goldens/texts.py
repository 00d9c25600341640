"""Texts without what changes from run to run: folders, dates, times, versions."""

import os
import platform
import re
from functools import cache
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

SILENT = ("script", "style")  # what a browser does not show; numbers that figures draw are recorded from their tables
SAID = ("alt", "aria-label", "title")
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")
LASTING = re.compile(r"(?<![\w.])[\d,.]+ (?:s|seconds?|min|minutes?)(?!\w)")


def normal(text: str) -> str:
    """The text as another run, on another day and elsewhere, would give it."""
    for found, name in _places():
        text = text.replace(found, name)
    return LASTING.sub("TIME", DATE.sub("DATE", text))


def text_of_html(page: str) -> str:
    """What a page says, a line each run of text."""
    reader = _Reader()
    reader.feed(page)
    return normal("\n".join(reader.lines))


@cache
def _places() -> tuple[tuple[str, str], ...]:
    """Longest first, for one may lie in another."""
    here = {str(Path.cwd()): "HERE", str(Path.cwd().resolve()): "HERE"}
    if data := os.environ.get("HEATCHECK_DATA"):
        here[data] = "DATA"
    versions = {version(package): f"VERSION-{package}" for package in ("heatcheck", "torch")} | {
        platform.python_version(): "PYTHON"
    }
    return tuple(sorted((here | versions).items(), key=lambda pair: -len(pair[0])))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in SILENT
        self.lines += [f"{name}: {value}" for name, value in attrs if name in SAID and value]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in SILENT

    def handle_data(self, data: str) -> None:
        if not self._silent and (words := " ".join(data.split())):
            self.lines.append(words)
