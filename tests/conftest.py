"""What several rooms' tests share: where the real data is, and types that are checked without waiting for it."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import jaxtyping
import pytest

import real_data
import tiny_audit
import typed_calls
from browser import chromium, lent
from made_up_corpora import write_corpora

# How long one example takes is the machine's business, and it may have much else to do.
hypothesis.settings.register_profile("suite", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("suite")


# A suite that a shell started in its background ignores ctrl-C, and so would every process that its tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that runs tests for another tells it which functions were called."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["functions"] = (sorted(typed_calls.DEFINED), sorted(typed_calls.CALLED))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    defined, called = getattr(node, "workeroutput", {}).get("functions", ((), ()))
    typed_calls.DEFINED.update(defined)
    typed_calls.CALLED.update(called)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Coverage that costs nothing: of functions. `make coverage` counts lines, in almost twice the time."""
    defined, called = len(typed_calls.DEFINED), len(typed_calls.CALLED)
    if defined:
        told = f"{called / defined:.1%} of heatcheck's functions were called ({called:,} of {defined:,})"
        terminalreporter.write_line(f"coverage: {told}")


@pytest.fixture(scope="session", autouse=True)
def _no_data_folder_is_given() -> Iterator[None]:
    """Neither to a test nor to what is set up for several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(real_data.VARIABLE, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_audit_for_all(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kept where all processes of this run see it."""
    base = tmp_path_factory.getbasetemp()
    tiny_audit.share((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny-audit")


@pytest.fixture(scope="session")
def real_corpora() -> Path:
    """The folder of the real corpora, for what is told of them."""
    return real_data.corpora()


@pytest.fixture(scope="session")
def published_tables() -> Path:
    """The folder of the published tables, beside the real corpora."""
    return real_data.published_tables()


@pytest.fixture(scope="session")
def made_up_corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small corpora in the real ones' formats, for what a model or a study does with a corpus."""
    return write_corpora(tmp_path_factory.mktemp("made_up"))


@pytest.fixture(scope="session")
def some_corpora(request: pytest.FixtureRequest) -> Path:
    """The real corpora where they are, else made-up ones: for what holds of any rows, and is best seen on many."""
    found: Path = request.getfixturevalue("real_corpora" if real_data.corpora_are_expected() else "made_up_corpora")
    return found


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
    """What a test writes by default (heatcheck-out) lands in its own folder."""
    monkeypatch.chdir(tmp_path)


# Before anything imports heatcheck, whose modules the import hook of jaxtyping (pyproject.toml) decorates with this.
jaxtyping.jaxtyped = typed_calls.checked
