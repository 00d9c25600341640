"""What several rooms' tests share: where the real data is, and types that are checked without waiting for it."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jaxtyping
import pytest

import typed_calls
from browser import chromium, lent

# How long one example takes is the machine's business, and it may have much else to do.
hypothesis.settings.register_profile("suite", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("suite")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Garbage is not looked for among what is imported, of which there is much: neither meanwhile nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()


def pytest_unconfigure() -> None:
    """Or packages complain at the end of what was never given back."""
    gc.unfreeze()


SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real corpora beside the project; a test that needs one is skipped without them, but never in CI."""
    if not (SHARED / "sst.jsonl.gz").is_file():
        if os.environ.get("CI"):
            pytest.fail("../shared/data is not beside the checkout")
        pytest.skip("needs the real corpora in ../shared/data")
    return SHARED


@pytest.fixture(scope="session")
def _chromium() -> Iterator:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def browser(_chromium) -> Iterator:
    """Chromium, one for all tests of a process: each opens what it needs, as `browser.new_context(offline=True)`."""
    with lent(_chromium):
        yield _chromium


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test writes by default (heatcheck-out) lands in its own folder, and no data folder is given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEATCHECK_DATA", raising=False)


# Before anything imports heatcheck, whose modules the import hook of jaxtyping (pyproject.toml) decorates with this.
jaxtyping.jaxtyped = typed_calls.checked
