"""Debian's Chromium, driven by Playwright: one a process, started when a test first asks for it."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Nothing of a browser's own business (updates, sync, first-run pages) may stand between a test and its page.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator:
    """A Chromium to open contexts of; skipped without one, with a sentence that says so, but never in CI."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    program = shutil.which("chromium")
    missing = [
        *([] if sync_playwright else ["Playwright (pip install playwright)"]),
        *([] if program else ["Chromium (apt-get install chromium)"]),
    ]
    if missing:
        told = f"what a page does in a browser is not tested: needs {' and '.join(missing)}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=QUIET)
        asyncio._set_running_loop(None)
        yield started
        with lent(started):
            started.close()
        asyncio._set_running_loop(started._loop)  # as its own end expects it


@contextmanager
def lent(started) -> Iterator:
    """The browser, for a while: Playwright's event loop counts as running, and no test may start its own, until then.

    Playwright leaves it so for as long as it lives, and `asyncio.run` would fail in whatever test comes later.
    """
    asyncio._set_running_loop(started._loop)
    try:
        yield started
    finally:
        asyncio._set_running_loop(None)
