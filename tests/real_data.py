"""Where the real corpora are that some tests need, as `HEATCHECK_DATA` says."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest

VARIABLE = "HEATCHECK_DATA"
# Read before any test: while they run nothing sees the variable, so that none depends on it by accident.
AS_STARTED = dict(os.environ)


def corpora(environment: Mapping[str, str] = AS_STARTED) -> Path:
    """The folder of the real corpora; a test that needs one is skipped without them, but never in CI."""
    given = environment.get(VARIABLE)
    if not given:
        _lacking(f"needs the real corpora: {VARIABLE} does not name their folder", environment)
    folder = Path(given).resolve()
    if not (folder / "sst.jsonl.gz").is_file():
        _lacking(f"needs the real corpora: there is no sst.jsonl.gz in {VARIABLE}, {folder}", environment)
    return folder


def published_tables(environment: Mapping[str, str] = AS_STARTED) -> Path:
    """The folder `reference` beside that of the real corpora."""
    folder = corpora(environment).parent / "reference"
    if not folder.is_dir():
        _lacking(f"needs the published tables: there is no folder reference beside {VARIABLE}", environment)
    return folder


def corpora_are_expected(environment: Mapping[str, str] = AS_STARTED) -> bool:
    """Whether a test that could do with made-up corpora has to have the real ones."""
    return bool(environment.get(VARIABLE) or environment.get("CI"))


def _lacking(told: str, environment: Mapping[str, str]) -> NoReturn:
    if environment.get("CI"):
        pytest.fail(told)
    pytest.skip(told)
