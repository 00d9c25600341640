"""The local page over two small models, opened in Chromium."""

from collections.abc import Iterator

import pytest
from by_hand import TEXT
from serving import serving

import subjects
import tiny_transformers
from heatcheck.data import Example


@pytest.fixture(scope="session")
def models() -> dict:
    return {"lstm": subjects.classifier([Example("0", TEXT)], encoder="lstm"), "bert": tiny_transformers.tiny("bert")}


@pytest.fixture(scope="module")
def address(models) -> Iterator[str]:
    with serving(models) as found:
        yield found


@pytest.fixture
def opened(browser, address) -> Iterator:
    """Opens the page: `opened(width=390, height=800, has_touch=True)`; nothing may go wrong on its console."""
    contexts, troubles = [], []

    def open_page(width=1100, height=900, text=TEXT, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        if text:
            page.fill("#text", text)
            # Not of the text that the page opened with, which has more words.
            page.wait_for_function(
                "(words) => document.querySelectorAll('#bars .column').length === words", arg=len(text.split())
            )
        return page

    yield open_page
    for context in contexts:
        context.close()
    # A refused request (422) is told of on the console by the browser itself.
    assert [one for one in troubles if "422" not in one] == []


@pytest.fixture
def page(opened):
    """A page that was just opened, with the text typed."""
    return opened()
