"""What several rooms' tests share: where the real data is, and types that are checked without waiting for it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import hypothesis
import jaxtyping
import pytest
from beartype import BeartypeConf, beartype

from browser import chromium, lent

# How long one example takes is the machine's business, and it may have much else to do.
hypothesis.settings.register_profile("suite", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("suite")

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


def _names_axes(hint: object) -> bool:
    """Whether a type has anything to say about the axes of an array; one in quotes might."""
    if isinstance(hint, str) or (isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)):
        return True
    return any(map(_names_axes, hint if isinstance(hint, list) else get_args(hint)))


def _checked(made: Any = None, *, typechecker: Callable[..., Any]) -> Any:
    """A function whose types are checked at each call, or a dataclass whose fields are.

    jaxtyping compares the axes of all arguments and of what comes back, and looks at each argument twice for it. That
    takes longer than most functions do, a third of the time of all tests, and for a function without an array there is
    nothing to compare: the typechecker alone checks the same types.
    """
    if made is None:
        return partial(_checked, typechecker=typechecker)
    if isinstance(made, type):
        if is_dataclass(made) and "__init__" in vars(made):
            made.__init__ = _checked(made.__init__, typechecker=typechecker)
        return made
    if any(map(_names_axes, made.__annotations__.values())):
        return _jaxtyped(made, typechecker=typechecker)
    return _typed(made)


# A TypeError, as jaxtyping's own complaints are: code that answers bad input with a sentence catches those.
_typed = beartype(conf=BeartypeConf(violation_type=TypeError))
# Before anything imports heatcheck, whose modules the import hook of jaxtyping (pyproject.toml) decorates with this.
_jaxtyped, jaxtyping.jaxtyped = jaxtyping.jaxtyped, _checked
